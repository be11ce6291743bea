"""What an experiment, variant, plan, trial and result are: validated data, no I/O."""
