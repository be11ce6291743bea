"""The builds that CONTRIBUTING.md calls the longest are those of the manifests."""

import re

from tare.lab.paths import ROOT
from tare.lab.project import catalog
from tare.lab.project.index import experiment_names

LONG_S = 60
ROW = re.compile(r"^\| `([\w-]+)` \| (\d+) min \|", re.MULTILINE)


def test_the_longest_builds_are_listed() -> None:
    found: dict[str, int] = {}
    for name in experiment_names():
        loaded = catalog.load(name)
        for variant, manifest in loaded.variants.items():
            if manifest.build is not None:
                found[f"{name}-{variant}"] = manifest.build.about_s
    for file in ROOT.glob("**/components/*/component.toml"):
        found[file.parent.name] = catalog.component(file.parent.name).build.about_s
    long = {name: seconds for name, seconds in found.items() if seconds >= LONG_S}
    listed = ROW.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert {name: int(minutes) for name, minutes in listed} == {
        name: round(seconds / 60) for name, seconds in long.items()
    }
    assert [int(minutes) for _, minutes in listed] == sorted(
        (int(minutes) for _, minutes in listed), reverse=True
    )
