"""Readings and errors in plain values, as they travel between the laboratory and an agent."""

from collections.abc import Mapping
from typing import Any

from tare.lab import errors
from tare.lab.errors import TareError
from tare.probes.probe import Seen
from tare.probes.reading import Counter, Gauge, Reading

_KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        errors.RoleError,
        errors.MachineFault,
        errors.Unavailable,
        errors.ManifestError,
        FileNotFoundError,
    )
}


def packed(seen: Seen) -> dict[str, Any]:
    """Return readings in plain values."""
    return {
        "roles": {role: _plain(readings) for role, readings in seen.roles.items()},
        "machine": _plain(seen.machine),
    }


def unpacked(found: Mapping[str, Any]) -> Seen:
    """Return the readings of plain values."""
    roles = {role: _readings(readings) for role, readings in found["roles"].items()}
    return Seen(roles, _readings(found["machine"]))


def fault(error: Exception) -> tuple[str, str]:
    """Return an error's kind and its message; what the host's system refuses is its fault."""
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        return errors.MachineFault.__name__, str(error)
    return type(error).__name__, str(error)


def raised(kind: str, text: str, host: str) -> Exception:
    """Return the error that an agent met, as it would have been raised here."""
    return _KINDS.get(kind, TareError)(f"host {host}: {text}")


def _plain(readings: Mapping[str, Reading]) -> dict[str, Any]:
    return {
        name: (each.value, each.of, each.least) if isinstance(each, Counter) else each.value
        for name, each in readings.items()
    }


def _readings(found: Mapping[str, Any]) -> dict[str, Reading]:
    return {
        name: Gauge(each) if isinstance(each, float | int) else Counter(*each)
        for name, each in found.items()
    }
