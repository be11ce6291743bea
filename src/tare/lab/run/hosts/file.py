"""Read hosts.toml."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import ManifestError
from tare.model.hosts import HostsFile


def names_hosts(file: Path) -> bool:
    """Return true for a file of hosts, and not of benches. Raises ManifestError."""
    return "hosts" in _table(file)


def read(file: Path) -> HostsFile:
    """Return the hosts of a file. Raises ManifestError."""
    try:
        return HostsFile.model_validate(_table(file))
    except ValidationError as error:
        raise ManifestError("\n".join(f"{file}: {each}" for each in _faults(error))) from error


def _table(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise ManifestError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{file}: {error}") from error


def _faults(error: ValidationError) -> list[str]:
    found = []
    for each in error.errors():
        field = ".".join(map(str, each["loc"]))
        match each["type"]:
            case "missing":
                what = "missing, expected a value (docs/HOSTS.md)"
            case "extra_forbidden":
                what = "unknown field (docs/HOSTS.md lists all)"
            case "value_error":
                what = each["msg"].removeprefix("Value error, ")
            case _:
                what = f"found {each['input']!r}: {each['msg']}"
        found.append(f"{field}: {what}" if field else what)
    return found
