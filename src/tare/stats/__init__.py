"""Pure functions from samples to statements: effects, intervals, verdicts, stopping.

Import from the modules: this one stays empty so that a command that only lists things does not
pay for numpy.
"""
