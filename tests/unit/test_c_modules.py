"""No circle of includes in C: a source and the header of its name are one module."""

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePath

import pytest
from test_style import files

from tare.lab.paths import ROOT

_INCLUDED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def modules(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module includes, by the files' texts: only those whose header
    is among them, beside the file that includes it or elsewhere.
    """
    by_name: dict[str, set[str]] = {}
    for path in sources:
        if path.endswith(".h"):
            by_name.setdefault(PurePath(path).name, set()).add(path)
    graph: dict[str, set[str]] = {}
    for path, text in sources.items():
        own = str(PurePath(path).with_suffix(""))
        included = graph.setdefault(own, set())
        for name in _INCLUDED.findall(text):
            beside = str(PurePath(path).parent / name)
            found = {beside} if beside in sources else by_name.get(PurePath(name).name, set())
            included |= {str(PurePath(each).with_suffix("")) for each in found}
        included.discard(own)
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return one circle of modules, its first module again at its end; none is empty."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_there_is_no_circle_of_includes() -> None:
    sources = {path: (ROOT / path).read_text() for path in files("*.c", "*.h")}
    graph = modules(sources)
    assert any(graph.values())
    assert circle(graph) == []


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"a.h": '#include "b.h"', "b.h": '# include "a.h"'}, {"a", "b"}),
        ({"a.h": "", "a.c": '#include "a.h"\n#include "b.h"', "b.h": '#include "a.h"'}, {"a", "b"}),
        ({"x/a.c": '#include "b.h"', "y/b.h": '#include "../x/a.h"', "x/a.h": ""}, {"x/a", "y/b"}),
        ({"a.h": "", "a.c": '#include "a.h"', "b.c": '#include "a.h"\n#include <a.h>'}, set()),
    ],
)
def test_a_circle_is_found(sources: dict[str, str], expected: set[str]) -> None:
    assert set(circle(modules(sources))) == expected
