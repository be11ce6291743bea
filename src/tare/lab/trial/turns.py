"""The spec of an instrument that loads two sites in turns, made of the specs for each."""

import hashlib
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tare.lab.errors import ManifestError
from tare.lab.trial.instrument import Assignment
from tare.model.study import Slices

BASELINE, VARIANT = "baseline", "variant"
"""The names of the two sides, as targets and as parts of control groups."""
_OWN = ("url", "expect", "keys", "mix")
"""Fields that each side may have of its own; of a mix only what is expected."""


def in_turns(
    sides: Mapping[str, Assignment],
    slices: Slices,
    accounts: Mapping[str, Mapping[str, Path]] | None = None,
) -> Assignment:
    """Return the variant's assignment with both sides as targets that take turns, in an order that
    its seed draws; `accounts` are the files with the CPU time of each side's roles.

    Raises ManifestError where the two differ in more than what a target may have of its own.
    """
    own = sides[VARIANT]
    specs = {side: _comparable(each.spec) for side, each in sides.items()}
    differing = sorted(
        key
        for key in {*specs[VARIANT], *specs[BASELINE]}
        if specs[VARIANT].get(key) != specs[BASELINE].get(key)
    )
    if differing or own.argv != sides[BASELINE].argv:
        what = ", ".join(differing) or "argv"
        raise ManifestError(
            f"{own.where}: {what} differs from {sides[BASELINE].where}, so one instrument cannot "
            "load both in turns; take pairing = 'trials' in the study"
        )
    if any(not isinstance(each.spec.get("url"), str) for each in sides.values()):
        raise ManifestError(
            f"{own.where}: found no url, expected one for slices; take pairing = 'trials'"
        )
    shared = {key: item for key, item in own.spec.items() if key not in _OWN}
    targets = [
        {
            "name": side,
            **{key: each.spec[key] for key in _OWN if each.spec.get(key) is not None},
            **_accounts((accounts or {}).get(side)),
        }
        for side, each in sides.items()
    ]
    # The generator may treat its first target a little better: that is noise, and no bias.
    random.Random(own.spec.get("seed")).shuffle(targets)
    spec = {**shared, "targets": targets, "slices": slices.model_dump()}
    return Assignment(own.where, own.argv, own.cpus, spec)


def _comparable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what two sides must have in common: seeds apart, and files by what is in them."""
    found = {
        key: _digest(item["file"]) if isinstance(item, Mapping) and "file" in item else item
        for key, item in spec.items()
        if key not in (*_OWN, "seed")
    }
    if "mix" in spec:
        found["mix"] = [
            {key: item for key, item in each.items() if key != "expect"} for each in spec["mix"]
        ]
    return found


def _accounts(files: Mapping[str, Path] | None) -> dict[str, Any]:
    """An instrument that knows nothing of accounts is not asked for them."""
    return {"accounts": {role: str(file) for role, file in files.items()}} if files else {}


def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
