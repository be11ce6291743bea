"""The likeliest mistakes: each with the words and the exit code that answer it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from laboratory import PROJECT, Laboratory

from tare.cli import main

pytestmark = pytest.mark.system

_VARIANTS = (
    "there are: plain, crashes-midway, does-not-start, hoards, ignores-term, loud-instrument, "
    "never-ready, port-taken, silent-instrument, slow, slow-build, unavailable, wrong-answers"
)
_PARAMETERS = (
    "there are: connections, threads, duration_s, warmup_s, spin, sut_cpus, sut_memory_mb, netns, "
    "generators; and parts: server"
)
_COMMANDS = f"there are: {', '.join(main.tare.list_commands(click.Context(main.tare)))}"

# What is typed, the exit code and the errors' last line; {run} and {runs} are the stored run and
# the folder of runs.
MISTAKES: list[tuple[tuple[str, ...], int, str]] = [
    # Names.
    (("rnu",), 2, f"tare: there is no command 'rnu'; did you mean 'run'? {_COMMANDS}"),
    (
        ("run", "tyo"),
        2,
        "tare: there is no experiment 'tyo'; did you mean 'toy'? there are: search, toy",
    ),
    (
        ("run", "toy/cots"),
        2,
        "tare: there is no study of toy 'cots'; did you mean 'cost'? there are: cost, duel, spoilt",
    ),
    (
        ("run", "toy", "--variants", "slwo"),
        2,
        f"tare: there is no variant of toy 'slwo'; did you mean 'slow'? {_VARIANTS}",
    ),
    (
        ("run", "toy", "--baseline", "plane"),
        2,
        f"tare: there is no variant of toy 'plane'; did you mean 'plain'? {_VARIANTS}",
    ),
    (
        ("up", "toy/plian"),
        2,
        f"tare: there is no variant of toy 'plian'; did you mean 'plain'? {_VARIANTS}",
    ),
    (
        ("show", "toy/cots"),
        2,
        "tare: there is no study or variant of toy 'cots'; did you mean 'cost'? there are: cost, "
        f"duel, spoilt, {_VARIANTS.removeprefix('there are: ')}",
    ),
    (("check", "toy/x"), 2, f"tare: there is no variant of toy 'x'; {_VARIANTS}"),
    (
        ("up", "toy"),
        2,
        "Error: Invalid value for EXPERIMENT/VARIANT: found 'toy', expected EXPERIMENT/VARIANT",
    ),
    # Values.
    (
        ("run", "toy", "--blocks", "0"),
        2,
        "Error: Invalid value for '--blocks': found 0, expected a whole number, 1 or more",
    ),
    (
        ("run", "toy", "--blocks", "two"),
        2,
        "Error: Invalid value for '--blocks': found two, expected a whole number, 1 or more",
    ),
    (
        ("run", "toy", "--duration", "-1"),
        2,
        "Error: Invalid value for '--duration': found -1, expected a number above 0",
    ),
    (
        ("run", "toy", "--duration", "nan"),
        2,
        "Error: Invalid value for '--duration': found nan, expected a number above 0",
    ),
    (
        ("run", "toy", "--rate", "0"),
        2,
        "Error: Invalid value for '--rate': found 0, expected a number above 0",
    ),
    (
        ("tail", "./a {port}", "--rate", "1", "--slowest", "0.5"),
        2,
        "Error: Invalid value for '--slowest': found 0.5, "
        "expected a number above 0 and at most 0.25",
    ),
    (
        ("run", "toy", "--within", "0"),
        2,
        "Error: Invalid value for '--within': found '0', "
        "expected a time above 0 such as 90s, 5m or 1h",
    ),
    (
        ("run", "toy", "-p", "connections=0"),
        2,
        "tare: parameter connections: found 0, expected a number above 0",
    ),
    (
        ("run", "toy", "-p", "spin=fast"),
        2,
        "tare: parameter spin: found 'fast', expected a whole number",
    ),
    (
        ("run", "toy", "-p", "spin"),
        2,
        "Error: Invalid value for --param: 'spin': expected NAME=VALUE",
    ),
    (
        ("export", "last", "--format", "cvs"),
        2,
        "Error: Invalid value for '--format': 'cvs' is not one of 'csv', 'parquet', 'png', 'svg', "
        "'google-benchmark', 'openmetrics', 'record', 'slim-record', 'folded', 'speedscope', "
        "'pprof'.",
    ),
    # Options.
    (
        ("run", "toy", "--bloks", "3"),
        2,
        f"tare: toy/cost: no parameter 'bloks' (did you mean 'blocks'?); {_PARAMETERS}",
    ),
    (("run", "toy", "--rate", "5"), 2, f"tare: toy/cost: no parameter 'rate'; {_PARAMETERS}"),
    (("clean", "--aply"), 2, "Error: No such option '--aply'. Did you mean '--apply'?"),
    (
        ("run", "toy", "--within", "5m"),
        2,
        "Error: --within: expected --resolve or --until resolved beside it",
    ),
    (("run", "toy", "--variants"), 2, "Error: Option '--variants' requires an argument."),
    (("report", "last", "extra"), 2, "Error: Got unexpected extra argument (extra)"),
    (
        ("export", "last"),
        2,
        "Error: expected either --format, for a run, or --image, for an experiment",
    ),
    # Scenarios.
    (
        ("run", "toy", "--scenarios", "load"),
        2,
        "tare: scenario 'load': expected FACTOR=LEVEL[,FACTOR=LEVEL…]",
    ),
    (
        ("run", "toy", "--scenarios", "load=x"),
        2,
        "tare: toy/cost: no factor 'load'; there are: none",
    ),
    (
        ("run", "toy", "--scenarios", "load=x,load=y"),
        2,
        "tare: scenario 'load=x,load=y': load twice; join levels by |",
    ),
    # Files and runs.
    (
        ("run", "toy", "--server", "nosuch.py"),
        1,
        "tare: server nosuch.py: there is no such file; begin with a copy of server.py",
    ),
    (
        ("report", "lsat"),
        2,
        "tare: there is no run 'lsat' in {runs} (did you mean 'last'?); "
        "the newest is {run}, and tare history lists those with results",
    ),
    (
        ("report", str(PROJECT)),
        1,
        f"tare: {PROJECT} is not the folder of a run: it has no plan.json",
    ),
    (
        ("compare", "last"),
        2,
        "tare: there is no run of toy/cost before {run}",
    ),
    # Servers of one's own, and running variants.
    (
        ("duel", "./server {port}"),
        2,
        "Error: found one command, expected two or more, each in quotes",
    ),
    (
        ("duel", "./a {port}", "./b {port}", "--get", "index.html"),
        2,
        "Error: --get: found 'index.html', expected a path that begins with /",
    ),
    (
        ("duel", "./a", "./b {port}"),
        2,
        "Error: found './a', expected {port} in it: tare gives each server a free port",
    ),
    (
        ("gate", "--against", "main", "./a {port}"),
        2,
        "Error: --against and --build: expected both, or none of them",
    ),
    (
        ("down", "toy/plain"),
        1,
        "tare: toy/plain is not up; up is: nothing. Start it with: tare up toy/plain",
    ),
    (
        ("logs", "toyy"),
        2,
        "tare: there is no experiment 'toyy'; did you mean 'toy'? there are: search, toy",
    ),
    (
        ("stats",),
        1,
        "tare: nothing is up; start a variant with: tare up EXPERIMENT/VARIANT",
    ),
    (("new", "toy/mine"), 2, "Error: Missing option '--from'."),
    (
        ("new", "toy/plain", "--from", "slow"),
        2,
        "tare: toy has a variant 'plain'; choose another name",
    ),
]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """A laboratory with one finished run."""
    laboratory = Laboratory(tmp_path_factory.mktemp("mistakes"))
    laboratory.tare("run", "toy", "--variants", "plain", "--blocks", "1")
    return laboratory


def _environment(lab: Laboratory) -> dict[str, str]:
    return os.environ | {
        "TARE_ROOT": str(PROJECT),
        "TARE_RUNS": str(lab.runs),
        "TARE_CACHE": str(lab.home / "cache"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }


def _asked(
    lab: Laboratory, *arguments: str, changed: dict[str, str] | None = None
) -> tuple[int, str, str]:
    """Exit code, output and the last line of the errors."""
    done = subprocess.run(
        [sys.executable, "-m", "tare", *arguments],
        env=_environment(lab) | (changed or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, (done.stderr.splitlines() or [""])[-1]


# One process for all: most of a command's time is its imports.
_ALL = """
import contextlib, io, json, sys
from tare.cli import main
answers = []
for words in json.load(sys.stdin):
    sys.argv, code = ["tare", *words], 0
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main.main()
        except SystemExit as end:
            code = end.code
    answers.append((code, said.getvalue()))
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(once: Laboratory) -> dict[tuple[str, ...], tuple[int, str]]:
    """Each mistake's exit code and the last line of its errors."""
    typed = [each[0] for each in MISTAKES]
    done = subprocess.run(
        [sys.executable, "-c", _ALL],
        env=_environment(once),
        input=json.dumps(typed),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    return {
        words: (code, said.splitlines()[-1])
        for words, (code, said) in zip(typed, found, strict=True)
    }


@pytest.mark.parametrize(
    ("arguments", "code", "answer"), MISTAKES, ids=[" ".join(each[0]) for each in MISTAKES]
)
def test_a_mistake_is_answered_with_what_to_do(
    once: Laboratory,
    answers: dict[tuple[str, ...], tuple[int, str]],
    arguments: tuple[str, ...],
    code: int,
    answer: str,
) -> None:
    run = once.run_folder().name
    wanted = answer.replace("{runs}", str(once.runs)).replace("{run}", run)
    assert answers[arguments] == (code, wanted)


def test_without_any_run_it_is_said_how_one_is_made(tmp_path: Path) -> None:
    lab = Laboratory(tmp_path)
    answer = f"tare: there is no run 'last': {lab.runs} has none yet; "
    wanted = (2, answer + "make one with: tare run EXPERIMENT")
    assert _asked(lab, "report")[::2] == wanted


def test_a_finished_run_is_not_made_again(once: Laboratory) -> None:
    before = once.trials()
    said = once.start("resume", "last").communicate(timeout=100)[1]
    assert f"tare: {once.run_folder().name} is finished: nothing is left to measure\n" in said
    assert once.trials() == before


def test_a_page_that_cannot_be_written_takes_nothing_from_the_answer(tmp_path: Path) -> None:
    lab = Laboratory(tmp_path)
    lab.tare("run", "toy", "--variants", "plain", "--blocks", "1")
    page = lab.run_folder() / "report.html"
    page.unlink()
    page.mkdir()  # root may write into any folder, but not over one
    code, table, said = _asked(lab, "report", "last")
    assert code == 1
    assert "Server CPU per request" in table
    assert said == f"tare: {page} was not written (Is a directory); all that is printed holds"


def test_a_home_that_cannot_be_written_names_the_remedy(tmp_path: Path) -> None:
    lab = Laboratory(tmp_path)
    home = {"HOME": "/dev/null", "TARE_CACHE": "", "XDG_CACHE_HOME": ""}
    code, _, said = _asked(lab, "check", "toy/slow-build", changed=home)
    assert (code, said) == (
        1,
        "tare: cannot write /dev/null/.cache/tare/built (Not a directory); set TARE_CACHE to a "
        "folder that you may write (now it is /dev/null/.cache/tare)",
    )
    home["TARE_CACHE"], runs = str(tmp_path / "cache"), "/dev/null/runs"
    code, _, said = _asked(lab, "run", "toy", "--blocks", "1", changed=home | {"TARE_RUNS": runs})
    assert code == 1
    assert said.endswith(f"set TARE_RUNS to a folder that you may write (now it is {runs})")


def test_an_empty_home_is_not_the_root_s(tmp_path: Path) -> None:
    home = {"HOME": "", "TARE_CACHE": "", "XDG_CACHE_HOME": ""}
    code, _, said = _asked(Laboratory(tmp_path), "check", "toy/slow-build", changed=home)
    assert (code, said) == (
        1,
        "tare: HOME is not set: set it, or TARE_CACHE and TARE_RUNS, to folders that you may write",
    )
