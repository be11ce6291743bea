"""Remedies for a program that is not there."""

from pathlib import Path

from tare.lab.paths import builds


def remedy(program: str, error: Exception) -> str:
    """Return what to do about a program that could not be started, to be appended to a message.

    Empty if it is there.
    """
    if not isinstance(error, FileNotFoundError):
        return ""
    built = builds()
    if Path(program).is_relative_to(built):
        folder = built / Path(program).relative_to(built).parts[0]
        return f"; remove {folder} and it is built again"
    return "; install it, and name it under requires so that its lack is told at once"
