"""Analyses turn the windows of a trial into its outcomes: a module each, behind one protocol."""
