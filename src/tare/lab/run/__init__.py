"""A run: its plan, its blocks, its folder; and variants that are started by hand."""
