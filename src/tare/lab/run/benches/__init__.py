"""Blocks of a run on several machines: one deals them, each of the others makes them whole."""
