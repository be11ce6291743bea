"""A run's results as OpenMetrics text (OpenMetrics 1.0, "Text format")."""

from collections.abc import Iterator

from tare.model.results import Results

_HELP = {
    "tare_outcome_median": "Median over a variant's trials.",
    "tare_outcome_median_low": "Lower end of the median's 95 % interval.",
    "tare_outcome_median_high": "Upper end of the median's 95 % interval.",
    "tare_effect_ratio": "Ratio to the baseline, paired within blocks.",
    "tare_effect_ratio_low": "Lower end of the ratio's 95 % interval.",
    "tare_effect_ratio_high": "Upper end of the ratio's 95 % interval.",
    "tare_noise_floor_ratio": "Farthest reach of the A/A control against the baseline, from 0.",
    "tare_trials": "Trials made, by what became of them.",
}


def text(results: Results) -> str:
    """Every figure as a gauge; what cannot be named is left out."""
    found: dict[str, list[str]] = {name: [] for name in _HELP}
    for name, labels, value in _samples(results):
        if value is not None:
            inner = ",".join(f'{key}="{_escaped(item)}"' for key, item in labels.items())
            found[name].append(f"{name}{{{inner}}} {value!r}")
    lines = []
    for name, samples in found.items():
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {_HELP[name]}", *samples]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _samples(results: Results) -> Iterator[tuple[str, dict[str, str], float | None]]:
    for scenario in results.scenarios:
        place = {
            "experiment": results.experiment,
            "run": results.run,
            "scenario": scenario.name,
        }
        for name, floor in scenario.noise_floor.items():
            reach = None if floor.reach_pct is None else floor.reach_pct / 100
            yield "tare_noise_floor_ratio", place | {"outcome": name}, reach
        for label, variant in scenario.variants.items():
            own = place | {"variant": label}
            for status in ("valid", "invalid", "failed"):
                count = float(getattr(variant, f"trials_{status}"))
                yield "tare_trials", own | {"status": status}, count
            for name, item in variant.outcomes.items():
                labels = own | {"outcome": name, "unit": item.unit}
                low, high = item.median_ci or (None, None)
                yield "tare_outcome_median", labels, item.median
                yield "tare_outcome_median_low", labels, low
                yield "tare_outcome_median_high", labels, high
                effect = (item.effect_pct, *(item.ci_pct or (None, None)))
                for end, percent in zip(("", "_low", "_high"), effect, strict=True):
                    ratio = None if percent is None else 1 + percent / 100
                    yield f"tare_effect_ratio{end}", labels, ratio


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
