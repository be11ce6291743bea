from pathlib import Path
from typing import Any

import pytest

from tare.lab.errors import ManifestError
from tare.lab.project.hooks import HookError, Hooks, OracleError
from tare.probes.reading import Counter, Gauge

SITE: Any = object()
ANSWERED: Any = object()


def hooks(folder: Path, variant: str | None, experiment: str | None) -> Hooks:
    folders = []
    for name, text in (("variant", variant), ("experiment", experiment)):
        folders.append(folder / name)
        folders[-1].mkdir()
        if text is not None:
            (folders[-1] / "hooks.py").write_text(text)
    return Hooks(folders)


def test_only_the_oracle_must_be_there(tmp_path: Path) -> None:
    found = hooks(tmp_path, None, None)
    with pytest.raises(HookError, match="there is no oracle"):
        found.oracle(SITE)
    found.audit(SITE, {}, {}, ANSWERED)
    assert found.counters(SITE) == {}
    assert found.probe(SITE) == {}
    assert found.workload(SITE, {"size": 3}) == {}


def test_a_workload_follows_from_the_parameters(tmp_path: Path) -> None:
    made = "def workload(site, parameters):\n    return {'text': 'x' * parameters['size']}\n"
    found = hooks(tmp_path, None, made)
    assert found.workload(SITE, {"size": 3}) == {"text": "xxx"}


def test_a_variant_overrides_function_by_function(tmp_path: Path) -> None:
    both = "def counters(site):\n    return {'whose': 1}\n"
    refuses = "def oracle(site):\n    raise OracleError('no')\n"
    found = hooks(
        tmp_path,
        both,
        f"from tare.lab.project.hooks import OracleError\n{refuses}{both.replace('1', '2')}",
    )
    assert found.counters(SITE) == {"whose": 1}
    with pytest.raises(OracleError, match=r"^no$"):
        found.oracle(SITE)


def test_a_hook_that_fails_is_named(tmp_path: Path) -> None:
    found = hooks(tmp_path, None, "def counters(site):\n    return int('x')\n")
    with pytest.raises(HookError) as caught:
        found.counters(SITE)
    assert str(caught.value) == (
        f"{tmp_path}/experiment/hooks.py: counters: ValueError: "
        "invalid literal for int() with base 10: 'x'"
    )


def test_a_probe_reads_counters_and_gauges(tmp_path: Path) -> None:
    text = "from tare.probes.reading import Counter, Gauge\n\ndef probe(site):\n    return "
    made = text + "{'calls': Counter(3), 'median_us': Gauge(2)}\n"
    found = hooks(tmp_path, made, None)
    assert found.probe(SITE) == {"calls": Counter(3), "median_us": Gauge(2)}


def test_a_probe_that_reads_a_mere_number_is_refused(tmp_path: Path) -> None:
    found = hooks(tmp_path, "def probe(site):\n    return {'calls': 3}\n", None)
    with pytest.raises(HookError, match="probe: calls: found 3, expected a Counter or a Gauge"):
        found.probe(SITE)


def test_an_unknown_function_is_refused_but_helpers_are_not(tmp_path: Path) -> None:
    helpers = "class Wire: ...\ndef _ask(): ...\n"
    hooks(tmp_path, helpers, None)
    with pytest.raises(
        ManifestError, match="found public functions orakel; expected only workload"
    ):
        hooks(tmp_path / "variant", None, helpers + "def orakel(site): ...\n")


def test_hooks_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"variant/hooks\.py: SyntaxError"):
        hooks(tmp_path, "def oracle(:\n", None)
