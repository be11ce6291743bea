"""Probes of roles, one file each; `tare.probes.registry` lists them."""
