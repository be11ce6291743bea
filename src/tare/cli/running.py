"""The part that `tare run` and `tare resume` share: carry a plan out, then report."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tare.cli.builds import Builds
from tare.cli.output import console, print_json, say
from tare.cli.planned import outlook
from tare.cli.progress import Follower
from tare.lab import paths
from tare.lab.errors import Interrupted
from tare.lab.project.preparation import Prepared, prepare, with_observers
from tare.lab.run import calibrated, estimate, subject
from tare.lab.run.run import Run
from tare.lab.run.store import Store
from tare.model.results import Results
from tare.probes import bystanders
from tare.report import calibration, html, results, stored, table
from tare.report import folder as run_folder
from tare.stats.ending import shortage
from tare.stats.sign_flips import FEWEST

_PREFLIGHT_S = 0.5
"""For which other processes are watched before a run."""


def go_on(store: Store, *, as_json: bool, benches: Path | None = None) -> bool:
    """Carry out what the stored plan still lacks, here or on the benches of a file, and report.
    Return true if it is `sound`, and its page was written.
    """
    with resumable(store):
        try:
            if benches is None:
                execute(store)
            else:
                execute_on(benches, store)
        except Interrupted:
            report(store.folder, as_json=as_json)
            raise
    found, is_written = report(store.folder, as_json=as_json)
    if store.plan().why and not any(scenario.causes for scenario in found.scenarios):
        pairs = "duels" if found.pairing == "slices" else "blocks"
        say(f"--why: it takes {FEWEST} {pairs} whose processes were looked at; there were fewer")
    if store.plan().tail and not any(scenario.tails for scenario in found.scenarios):
        say(
            f"--tail: it takes {FEWEST} duels whose slowest requests were looked at without lost "
            "events, and there were fewer"
        )
    return sound(found) and is_written


@contextmanager
def resumable(store: Store) -> Iterator[None]:
    """Within, a run that the user stops says how to go on with it."""
    try:
        yield
    except Interrupted:
        say(f"nothing measured is lost; go on with: tare resume {store.folder.name}")
        raise


def sound(found: Results) -> bool:
    """Return true if all was measured and no A/A control raises an alarm; say so if one does."""
    for scenario, outcome in found.alarms():
        say(
            f"{scenario}: the A/A control differs from the baseline in {outcome}, so the verdicts "
            "are not to be believed; tare doctor says what disturbs this machine"
        )
    return not found.alarms() and not any(
        variant.status in ("failed", "invalid")
        for scenario in found.scenarios
        for variant in scenario.variants.values()
    )


def execute(store: Store) -> None:
    """Carry out what the stored plan still lacks. Raises Interrupted."""
    plan = store.plan()
    loaded = subject.of(store, plan)
    progress = Builds([(loaded, plan.variants)])
    prepared = prepare(loaded, plan.variants, progress.say, plan.scenarios)
    prepared = with_observers(prepared, say, why=plan.why, tail=plan.tail)
    expected = estimate.estimate(plan, loaded, paths.runs(), prepared).after(store.trials())
    say(f"run {plan.run}, seed {plan.seed}: {outlook(plan, expected)}")
    if lack := shortage(plan):
        say(lack)
    known = calibrated.kept()
    if found := known and calibration.expected(known, plan):
        say(found)
    if others := bystanders.busy(_PREFLIGHT_S):
        say(f"other processes use the CPUs: {bystanders.named(others)}; intervals will be wider")
    with Follower(plan, expected.per_block, store.trials()) as follower:
        Run(loaded, plan, store, prepared, follower).execute()


def execute_on(file: Path, store: Store) -> None:
    """Have benches carry out what the stored plan still lacks. Raises Interrupted."""
    from tare.lab.run.benches import file as benches_file
    from tare.lab.run.benches.coordinator import Coordinator

    plan, benches = store.plan(), benches_file.read(file)
    loaded = subject.of(store, plan)
    expected = estimate.estimate(plan, loaded, paths.runs(), Prepared()).after(store.trials())
    say(f"run {plan.run}, seed {plan.seed}: {outlook(plan, expected)} on one bench")
    if lack := shortage(plan):
        say(lack)
    say(f"waiting for benches at {benches.coordinator.address} port {benches.coordinator.port}")
    with Follower(plan, expected.per_block, store.trials()) as follower:
        Coordinator(loaded, plan, store, benches, follower).execute()


def written(folder: Path) -> Results:
    """Write results.json and report.html from the folder."""
    read = run_folder.read(folder)
    found = results.make(read)
    _write(read, found)
    return found


def report(folder: Path, *, as_json: bool, everything: bool = False) -> tuple[Results, bool]:
    """Print the answer with its rankings, or everything, and write results.json and report.html.

    Return the results, and true if both files were written.
    """
    read = run_folder.read(folder)
    found = results.make(read)
    if as_json:
        print_json(stored.data(found))
    else:
        click.echo()
        table.show(found, console(), everything=everything)
    try:
        _write(read, found)
    except OSError as error:
        reason = error.strerror or str(error)
        say(f"{folder / 'report.html'} was not written ({reason}); all that is printed holds")
        return found, False
    say(f"report: {folder / 'report.html'}")
    return found, True


def _write(read: run_folder.RunFolder, found: Results) -> None:
    files = {"results.json": stored.text(found), "report.html": html.render(read, found)}
    for name, text in files.items():
        _replace(read.path / name, text)


def _replace(file: Path, text: str) -> None:
    """Write a file whole, or leave the one that is there. Raises OSError."""
    fresh = file.with_name(f".{file.name}.new")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
