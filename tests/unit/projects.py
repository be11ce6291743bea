"""Small projects of manifests, written where a test wants them."""

from pathlib import Path
from typing import Any

from tare.lab.project.catalog import Loaded
from tare.lab.run import planning
from tare.model.trial import Plan

EXPERIMENT = """
schema = 1
title = "T"
question = "Q?"
baseline = "none"
studies = ["main"]

[parameters]
duration_s = 1.5
connections = 4
name = "a"
on = false
sizes = [1, 2]

[variants]
schema = 1
version = { argv = ["true"], pattern = '(\\S+)' }
instrument = { argv = ["true"], spec = {} }

[variants.roles.first]
cpus = "support"

[variants.roles.sut]
argv = ["server", "--fast"]
ready = { tcp = ["1"] }
env = { A = "1" }

[outcomes.cpu]
title = "CPU"
unit = "s"
better = "lower"
value = "role.sut.cpu_us"
"""
STUDY = """
schema = 1
title = "S"
question = "How much?"
judged = ["cpu"]

[factors.loop.levels]
closed = {}
open = { connections = 8 }

[factors.size.levels]
small = {}
large = {}

[quick]
variants = ["other"]
blocks = 3
parameters = { duration_s = 0.5 }
scenarios = [{ loop = "open" }]
"""
VARIANT = 'schema = 1\ntitle = "V"\n'


def write(
    root: Path,
    *,
    experiment: str = EXPERIMENT,
    study: str = STUDY,
    variants: dict[str, str] | None = None,
    more: dict[str, str] | None = None,
) -> Path:
    """A project with the experiment `exp` and its study `main`; the variants' texts stand below
    `VARIANT`, `more` studies by themselves."""
    folder = root / "experiments" / "exp"
    for name, text in (variants or {"none": "", "other": ""}).items():
        (folder / "variants" / name).mkdir(parents=True)
        (folder / "variants" / name / "variant.toml").write_text(VARIANT + text)
    (folder / "experiment.toml").write_text(experiment)
    (folder / "studies").mkdir()
    for name, text in ({"main": study} | (more or {})).items():
        (folder / "studies" / f"{name}.toml").write_text(text)
    return root


def plan(loaded: Loaded, **changes: Any) -> Plan:
    """Return the plan of a loaded study as it is asked for without options, but for `changes`."""
    asked: dict[str, Any] = {
        "quick": False, "variants": None, "scenarios": [], "blocks": None, "seed": 3,
        "overrides": {},
    }  # fmt: skip
    return planning.make(loaded, **asked | changes)
