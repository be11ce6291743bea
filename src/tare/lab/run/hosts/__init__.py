"""Runs whose roles are on hosts of their own (docs/HOSTS.md)."""
