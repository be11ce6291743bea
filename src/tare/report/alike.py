"""The rule by which two variants without a verdict are called indistinguishable."""


def is_open(value: float, interval: tuple[float, float] | None, floor: float | None) -> bool:
    """Return true if a difference has no interval, or excludes 0 and exceeds the noise floor: what
    it lacks for a verdict is then more blocks, and to call the two indistinguishable would be
    wrong.
    """
    if interval is None:
        return True
    excludes_0 = interval[0] > 0 or interval[1] < 0
    return excludes_0 and (floor is None or abs(value) > floor)


def is_open_change(
    percent: float, interval: tuple[float, float] | None, floor: float | None
) -> bool:
    """Return true if a change in percent, beside a floor in percent, is open as `is_open` says. As
    in verdicts, a fall by a third is as far from 0 as a rise by a half.
    """
    ratio = 1 + percent / 100
    return is_open(100 * (max(ratio, 1 / ratio) - 1), interval, floor)
