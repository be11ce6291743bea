"""Paths of outcomes into roles: held against the roles and the probes that there are."""

from collections.abc import Iterable, Iterator, Mapping

from tare.model.fields import close_match
from tare.model.instrument import ORDINARY_CPU
from tare.model.manifest import Variant
from tare.model.outcome import Outcome
from tare.model.role import INSTRUMENT_ROLE
from tare.probes import registry

_KNOWN = (*registry.NAMES, ORDINARY_CPU)


def faults(outcomes: Mapping[str, Outcome], variants: Iterable[Variant]) -> Iterator[str]:
    """Yield every path to a role that not all variants declare, or to no probe:
    `FIELD: found …, expected …`.
    """
    declared = [each.roles for each in variants]
    shared = [role for role in declared[0] if all(role in each for each in declared)]
    roles = [*shared, INSTRUMENT_ROLE]
    for name, outcome in outcomes.items():
        for field, paths in (("value", outcome.paths), ("per", outcome.divisors)):
            for path in paths:
                if path.source != "role":
                    continue
                where = f"outcomes.{name}.{field}: found '{path}', expected"
                if path.of not in roles:
                    yield f"{where} a role of: {', '.join(roles)}{close_match(path.of, roles)}"
                if path.name not in _KNOWN:
                    known = ", ".join(_KNOWN)
                    yield f"{where} a probe of: {known}{close_match(path.name, _KNOWN)}"
