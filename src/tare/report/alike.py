"""The rule by which two variants without a verdict are called indistinguishable."""


def seems_different(
    value: float, interval: tuple[float, float] | None, floor: float | None
) -> bool:
    """Return true if a difference excludes 0 and exceeds the noise floor: what it lacks for a
    verdict is then more blocks, and to call the two indistinguishable would be wrong.
    """
    if interval is None or interval[0] <= 0 <= interval[1]:
        return False
    return floor is None or abs(value) > floor
