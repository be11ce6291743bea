"""Hosts, roles, processes, cgroups and the trial loop."""
