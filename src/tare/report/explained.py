"""Windows in which processes were looked at, as pairs of a variant and its baseline."""

from collections.abc import Iterator

import zstandard
from pydantic import ValidationError

from tare.model.profile import PACKED, PROFILES, Explained, Sample
from tare.model.trial import Trial
from tare.report.errors import NotARun
from tare.report.folder import RunFolder

SIDES = ("baseline", "variant")


def explained(folder: RunFolder, scenario: str, label: str) -> Iterator[tuple[Trial, Explained]]:
    """Yield a label's trials, or its sides of duels, each with what was seen of both sides in the
    roles whose costs are judged.

    Raises NotARun for a damaged file.
    """
    roles, opponent = _judged_roles(folder), folder.plan.opponent_of(label)
    own = _of_label(folder, scenario, label)
    by_trials = folder.plan.pairing == "trials"
    base = _of_label(folder, scenario, opponent) if by_trials and label != opponent else {}
    for block, trial in own.items():
        read = _read(folder, trial)
        if by_trials and read:
            alone = _read(folder, base[block]) if block in base else None
            read = alone and _beside(read, alone)
        if read and all(read.requests.get(side) for side in SIDES):
            yield trial, of_roles(read, roles)


def _of_label(folder: RunFolder, scenario: str, label: str) -> dict[int, Trial]:
    """Return the valid trials by block."""
    return {
        trial.block: trial
        for trial in folder.trials
        if (trial.scenario, trial.label, trial.status) == (scenario, label, "valid")
    }


def _read(folder: RunFolder, trial: Trial) -> Explained | None:
    file = folder.path / PROFILES / f"{trial.id}{PACKED}"
    if not file.exists():
        return None
    try:
        return Explained.model_validate_json(zstandard.decompress(file.read_bytes()))
    except (ValidationError, zstandard.ZstdError) as error:
        raise NotARun(f"{file} is damaged: {error}; remove it to report without it") from error


def _beside(own: Explained, alone: Explained) -> Explained:
    """Return what was seen of two trials as if it were a duel, the second one its baseline."""
    baseline, variant = SIDES
    seen, first = own.profile, len(own.profile.frames)
    roles = {
        f"{baseline}/{name.split('/')[1]}": each.model_copy(
            update={
                "samples": [
                    Sample(stack=[first + at for at in sample.stack], count=sample.count)
                    for sample in each.samples
                ]
            }
        )
        for name, each in alone.profile.roles.items()
    }
    both = seen.model_copy(
        update={
            "frames": [*seen.frames, *alone.profile.frames],
            "roles": {**seen.roles, **roles},
            "lost": seen.lost + alone.profile.lost,
        }
    )
    requests = {
        variant: own.requests.get(variant, 0),
        baseline: alone.requests.get(variant, 0),
    }
    why_not = own.only_counted or alone.only_counted
    return Explained(requests=requests, profile=both, only_counted=why_not)


def _judged_roles(folder: RunFolder) -> set[str]:
    """Return the roles whose costs are judged; others, such as a neighbour's, explain nothing."""
    return {
        path.of
        for name in folder.plan.judged
        for path in folder.plan.outcomes[name].paths
        if path.source == "role"
    }


def of_roles(duel: Explained, roles: set[str]) -> Explained:
    """Return what was seen of these roles alone, or of all if there are none."""
    seen = {
        key: each
        for key, each in duel.profile.roles.items()
        if not roles or key.split("/")[1] in roles
    }
    return duel.model_copy(update={"profile": duel.profile.model_copy(update={"roles": seen})})
