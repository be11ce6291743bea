"""What a plan in words says of scenarios and of the variants that they lack."""

from pathlib import Path

import projects
import pytest

from tare.cli.planned import show_plan
from tare.lab.project.catalog import load
from tare.lab.run import subject

NEVER = "[[levels]]\nwhen = 'on == false'\nunsupported = 'it never does'"
FEW = "[[levels]]\nwhen = 'connections == 4'\nunsupported = 'too few'"


def test_what_all_scenarios_lack_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    variants = {"none": "", "a": NEVER, "b": FEW, "c": NEVER, "d": FEW}
    root = projects.write(tmp_path, variants=variants)
    loaded = load("exp", root=root)
    monkeypatch.setattr(subject, "planned", lambda _: loaded)
    plan = projects.plan(loaded, scenarios=["loop=closed|open,size=small|large"], blocks=1)
    show_plan([plan], as_json=False)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines.count("without    a, c: it never does") == 1
    assert sum("it never does" in line for line in lines) == 1
    scenarios = [place for place, line in enumerate(lines) if line.startswith("scenario ")]
    few = [line for line in lines if line == "without b, d: too few"]
    assert len(scenarios) == 4 and len(few) == 2
    assert lines.index("without    a, c: it never does") < scenarios[0]
