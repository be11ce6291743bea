"""The toy's oracle and audit hold for a search, too."""

import importlib.util
from pathlib import Path

_file = Path(__file__).parents[1] / "toy" / "hooks.py"
_spec = importlib.util.spec_from_file_location("toy_hooks", _file)
assert _spec is not None and _spec.loader is not None
_toy = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_toy)


def oracle(site: object) -> None:
    _toy.oracle(site)


def counters(site: object) -> dict[str, int]:
    return dict(_toy.counters(site))


def audit(site: object, before: dict[str, int], after: dict[str, int], answered: object) -> None:
    _toy.audit(site, before, after, answered)
