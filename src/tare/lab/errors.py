"""Errors in sentences that a user can act on."""

from collections.abc import Iterable
from difflib import get_close_matches


def no_such(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the closest one and all that there are."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    return f"there is no {kind} {name!r}{hint} there are: {', '.join(names) or 'none'}"


class TareError(Exception):
    """A failure with a message for the user: what, where, expected, remedy."""


class ManifestError(TareError):
    """A manifest with an error."""


class UnknownName(ManifestError):
    """A name on the command line that no manifest has, or a value it does not allow."""


class BuildError(TareError):
    """A build or an installation that failed."""


class RoleError(TareError):
    """A role that did not start, crashed, or did not stop."""


class MachineFault(TareError):
    """A lack of the machine: no room, memory, process or port was left. No variant is to blame."""


class HostLost(MachineFault):
    """Another host that no longer answers."""


class Disturbed(TareError):
    """The end of a run that the machine spoils. `reason`: why its last trial did not count."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


class Unavailable(TareError):
    """A requirement of a variant that this machine does not meet."""


class Interrupted(BaseException):
    """The user's wish to stop. Code that handles failures must let it pass."""
