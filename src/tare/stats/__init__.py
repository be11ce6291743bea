"""Pure functions from samples to statements: effects, intervals, verdicts, stopping."""
