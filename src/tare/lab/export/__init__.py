"""Exports beside results: container images."""
