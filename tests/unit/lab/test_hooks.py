import signal
from pathlib import Path
from typing import Any

import pytest

from tare.lab.errors import ManifestError
from tare.lab.project.hooks import HookError, Hooks, OracleError
from tare.probes.reading import Counter, Gauge

SITE: Any = object()
ANSWERED: Any = object()


def hooks(
    folder: Path, variant: str | None, experiment: str | None, timeout_s: float = 60
) -> Hooks:
    folders = []
    for name, text in (("variant", variant), ("experiment", experiment)):
        folders.append(folder / name)
        folders[-1].mkdir(parents=True)
        if text is not None:
            (folders[-1] / "hooks.py").write_text(text)
    return Hooks(folders, timeout_s)


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


def test_a_hook_that_exits_is_an_error_and_no_end_of_the_laboratory(tmp_path: Path) -> None:
    found = hooks(tmp_path, None, "import sys\n\ndef oracle(site):\n    sys.exit(0)\n")
    with pytest.raises(HookError, match=r"hooks\.py: oracle: SystemExit: 0"):
        found.oracle(SITE)
    with pytest.raises(ManifestError, match=r"hooks\.py: SystemExit"):
        hooks(tmp_path / "at once", None, "raise SystemExit(0)\n")


@pytest.mark.parametrize("waits", ["time.sleep(600)", "while True: pass"])
def test_a_hook_that_does_not_return_is_ended(tmp_path: Path, waits: str) -> None:
    text = f"import time\n\ndef oracle(site):\n    try:\n        {waits}\n"
    text += "    except Exception:\n        pass\n"
    found = hooks(tmp_path, None, text, timeout_s=0.1)
    with pytest.raises(HookError, match=r"oracle: not done after 0\.1 s.*hook_timeout_s"):
        found.oracle(SITE)


def test_the_limit_of_a_hook_leaves_other_timers_as_they_were(tmp_path: Path) -> None:
    found = hooks(tmp_path, None, "def counters(site):\n    return {}\n")
    handler, (left, _) = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    found.counters(SITE)
    assert signal.getsignal(signal.SIGALRM) is handler
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == (left > 0)


@pytest.mark.parametrize("value", ["float('nan')", "float('inf')"])
def test_a_probe_that_reads_no_number_is_refused(tmp_path: Path, value: str) -> None:
    text = "from tare.probes.reading import Counter, Gauge\n\ndef probe(site):\n    return "
    found = hooks(
        tmp_path, f"{text}{{'a': Gauge({value})}}\n", f"{text}{{'a': Counter({value})}}\n"
    )
    with pytest.raises(HookError, match=r"probe: a: found (nan|inf), expected a finite number"):
        found.probe(SITE)


@pytest.mark.parametrize("value", ["float('nan')", "1.5", "'x'", "None"])
def test_a_counter_that_is_no_whole_number_is_refused(tmp_path: Path, value: str) -> None:
    found = hooks(tmp_path, None, f"def counters(site):\n    return {{'a': {value}}}\n")
    with pytest.raises(HookError, match=r"counters: a: found .*, expected a whole number"):
        found.counters(SITE)
