"""`tare resume`: go on with a run that was stopped."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.benches_option import benches_option, check
from tare.cli.completion import runs
from tare.cli.exit_codes import REGRESSION
from tare.cli.output import json_option, say
from tare.cli.run import folder_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tare.lab.run.store import Store


@click.command()
@click.argument("run", default="last", shell_complete=runs)
@benches_option
@json_option
def command(run: str, benches: Path | None, as_json: bool) -> None:
    """Finish RUN, a run's name or folder, with the same plan and seed; `last` is the newest. One of
    tare gate exits as that does.

    \b
    tare resume last
    tare resume last --benches FILE
    """
    from tare.cli import benchmark_out
    from tare.cli.running import go_on, report, sound
    from tare.lab.run.store import Store
    from tare.report import results
    from tare.report.folder import read

    out, store = benchmark_out.target(), Store(folder_of(run))
    if benches is not None:
        check(benches, store.plan())
        if store.hosts() is not None:
            raise click.UsageError("--benches: the roles of this run are on hosts of their own")
    elif store.hosts() is None and "hosts" in store.environment():
        raise click.UsageError(
            "the roles of this run's trials are on hosts of its benches; give --benches FILE"
        )
    if store.in_order and results.complete(read(store.folder)):
        say(f"{store.folder.name} is finished: nothing is left to measure")
        found, is_written = report(store.folder, as_json=as_json)
        done = sound(found) and is_written
    else:
        done = go_on(store, as_json=as_json, benches=benches)
    benchmark_out.write(out, [store.folder])
    if limits := store.plan().limits:
        sys.exit(_decided(store, limits, done=done))
    sys.exit(0 if done else 1)


def _decided(store: "Store", limits: "Mapping[str, float]", *, done: bool) -> int:
    """Say what the limits of a gate decide; return the exit code that `tare gate` would have."""
    from tare.report import results
    from tare.report.folder import read
    from tare.report.gate import alarm, rulings, unmeasured

    found = results.make(read(store.folder))
    if broken := unmeasured(found):
        for line in broken:
            say(line)
        return 1
    if doubt := alarm(found):
        say(doubt)
    ruled = rulings(found, limits)
    for each in ruled:
        say(f"{each.decision}: {each.variant}: {each.text}")
    if any(each.decision == "fail" for each in ruled):
        return REGRESSION
    # After an alarm of the A/A control a gate cannot tell, which fails nothing.
    return 0 if done or found.alarms() else 1
