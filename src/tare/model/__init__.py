"""Experiments, variants, plans, trials and results: validated data, no I/O."""
