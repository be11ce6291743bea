"""Hosts that take roles: this machine, and others that an agent works for."""
