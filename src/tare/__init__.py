"""tare: what does this layer cost on my request path, and is the difference real?"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.api import ReportError, Run, TareError, duel, load_run

__all__ = ["ReportError", "Run", "TareError", "duel", "load_run"]


def __getattr__(name: str) -> Any:
    """The Python interface, imported when it is used: commands start without it."""
    if name in __all__:
        from tare import api

        return getattr(api, name)
    raise AttributeError(f"module 'tare' has no attribute {name!r}")
