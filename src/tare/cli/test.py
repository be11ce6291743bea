"""`tare test`: everything that must hold, in the order in which it fails fastest."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import click

from tare.cli import type_check
from tare.cli.output import say
from tare.lab import paths
from tare.lab.errors import Interrupted, TareError
from tare.lab.paths import ROOT

_PYTEST = [sys.executable, "-m", "pytest"]
# Many tests of the Rust programs wait for servers, kernels and time limits.
_RUST_THREADS_A_CPU = 3
# Tests of real servers wait more than they compute. A file stays in one process, and so do the
# servers that its tests share; those that take minutes come before the many quick ones.
_SPREAD = ["--dist", "loadfile", "--no-loadscope-reorder", "-m", "not alone or together"]
# Sandboxes keep what is mounted when they start: not beside tests of disks, which unmount them.
_BESIDE_SANDBOXES = [
    f"tests/contract/{name}" for name in ("sandbox", "servers", "tail", "foreign", "proxies")
]

_STEPS = {
    "lint": (
        [sys.executable, "-m", "ruff", "check", "."],
        [sys.executable, "-m", "ruff", "format", "--check", "."],
        [sys.executable, "-m", "mypy"],
        *type_check.commands(ROOT),
        [str(Path(sys.executable).with_name("lint-imports"))],
        ["cargo", "fmt", "--check"],
        ["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
    ),
    "rust": (["cargo", "test", "--workspace", "--locked", "--no-fail-fast"],),
    # Here and not within tests, which end after some minutes.
    "setup": ([sys.executable, "-m", "tare", "setup"],),
    "python": (
        [
            *(*_PYTEST, "-n", "3", *_SPREAD),
            *(f"--ignore={path}" for path in _BESIDE_SANDBOXES),
            "tests/contract",
        ],
        # In one process there are sandboxes, whose tests mostly wait.
        [*_PYTEST, "-n", "4", *_SPREAD, *_BESIDE_SANDBOXES, "tests/system", "tests/unit"],
        # No test of tests/unit is alone, and to look through them takes long.
        [*_PYTEST, "-m", "alone and not together", "tests/contract", "tests/system"],
    ),
}
_THOROUGH = "--thorough"
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SOME_FAILED = 1
"""pytest's exit code."""
_AGAIN = 3
"""So many failed tests are run once more; where more fail, it is not the machine's doing."""


@click.command()
@click.option("--only", type=click.Choice(list(_STEPS)), help="Run only this step.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Run thorough tests, too; installs a browser and emulators.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(only: str | None, everything: bool, arguments: tuple[str, ...]) -> None:
    """Run lint, the Rust tests, set-up, and the tests of the laboratory and of every variant.

    ARGUMENTS go to pytest, which then runs once, in one process, and shows what tests print
    with -s.

    \b
    tare test
    tare test --all
    tare test --only python -- -k gates
    """
    from tare.lab.project import catalog, requirements
    from tare.lab.project.index import experiment_names
    from tare.model.fields import Requirement

    if not paths.IS_CLONE:
        raise TareError(
            "tests come with a clone, not with an installed tare: run ./tare test there"
        )
    # What cargo needs to compile and link the whole workspace.
    loaded = [catalog.load(name) for name in experiment_names()]
    needed = [
        item for each in loaded for name in each.variants for item in requirements.of(each, name)
    ]
    requirements.meet([item for item in dict.fromkeys(needed) if item.debian], say)
    wanted = packages(ROOT, everything=everything)
    try:
        requirements.meet([Requirement(debian=name) for name in wanted], say)
    except TareError as error:
        say(f"tests of missing programs are skipped: {error}")
    # Tests start Python some hundred times, each of which would else compile all modules again.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    threads = _RUST_THREADS_A_CPU * len(os.sched_getaffinity(0))
    environment.setdefault("RUST_TEST_THREADS", str(threads))
    failed = []
    starved: list[str] = []
    for step, commands in steps(everything=everything, arguments=arguments).items():
        if only not in (None, step):
            continue
        for argv in commands:
            begun = time.monotonic()
            say(f"{step}: {' '.join(argv[-3:] if argv[0] == sys.executable else argv)}")
            if step == "python" and not arguments:
                code, names = _once_more(argv, environment)
                starved += names
            else:
                code = run(argv, environment)
            if code != 0:
                failed.append(" ".join(argv))
            say(f"{step}: {time.monotonic() - begun:.0f} s")
    for line in starved:
        say(f"failed among other tests, passed alone: {line}")
    for line in failed:
        say(f"FAILED: {line}")
    sys.exit(1 if failed else 0)


def run(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Return the exit code of a step. Raises Interrupted when the step has cleaned up after a
    request to stop.
    """
    stops: list[int] = []
    with subprocess.Popen(argv, cwd=ROOT, env=environment) as process:

        def stop(number: int, _: FrameType | None) -> None:
            stops.append(number)
            # The terminal sends Ctrl-C to the step itself, too.
            if number != signal.SIGINT:
                process.send_signal(signal.SIGINT)

        before = {number: signal.signal(number, stop) for number in _STOPS}
        try:
            code = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if stops:
        raise Interrupted(f"stopped by {signal.Signals(stops[0]).name}")
    return code


def _once_more(argv: Sequence[str], environment: Mapping[str, str]) -> tuple[int, list[str]]:
    """Run pytest, and the few tests that fail once more without others. Return the exit code, and
    the names of those that passed only then.
    """
    with TemporaryDirectory() as cache:
        code = run([*argv, "-o", f"cache_dir={cache}"], environment)
        failures = Path(cache) / "v/cache/lastfailed"
        names = list(json.loads(failures.read_text())) if failures.exists() else []
    if code != _SOME_FAILED or not 0 < len(names) <= _AGAIN:
        return code, []
    say(f"python: once more, alone: {' '.join(names)}")
    thorough = [_THOROUGH] if _THOROUGH in argv else []
    code = run([*_PYTEST, *thorough, *names], environment)
    return code, names if code == 0 else []


def packages(root: Path, *, everything: bool) -> list[str]:
    """Return the Debian packages that single tests are skipped without."""
    names = ["packages.txt", "packages-thorough.txt"] if everything else ["packages.txt"]
    lines = [line for name in names for line in (root / "tests" / name).read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def steps(*, everything: bool, arguments: Sequence[str] = ()) -> dict[str, tuple[list[str], ...]]:
    """Return the commands of each step; `arguments` are pytest's, which is then called once."""
    python = ([*_PYTEST, *arguments],) if arguments else _STEPS["python"]
    if everything:
        python = tuple([*argv, _THOROUGH] for argv in python)
    return {**_STEPS, "python": python}
