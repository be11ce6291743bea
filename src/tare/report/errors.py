"""Errors of reports in sentences that a user can act on."""


class ReportError(Exception):
    """A report that cannot be made, with a message for the user."""


class NotARun(ReportError):
    """A folder that is not a run's, or a file of a run that is damaged."""
