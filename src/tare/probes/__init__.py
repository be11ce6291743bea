"""Readers of resource use, and the host audit."""
