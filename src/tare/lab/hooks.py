"""What an experiment's hooks.py may use."""


class OracleError(Exception):
    """A started variant does not do its job right."""
