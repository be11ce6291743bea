"""`tare doctor`: what this machine is, what disturbs measurements on it, and how to mend that."""

import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tare.cli.hanging import echo
from tare.cli.output import json_option, print_json, say

if TYPE_CHECKING:
    from tare.lab.machine.tuning import Change, Outcome


@click.command()
@click.option("--tune", is_flag=True, help="Say which settings would be changed, and to what.")
@click.option("--apply", "applies", is_flag=True, help="With --tune: change them, until --revert.")
@click.option("--revert", is_flag=True, help="Restore what --apply changed.")
@click.option("--only", multiple=True, metavar="SETTING", help="Only this setting; repeatable.")
@json_option
def command(tune: bool, applies: bool, revert: bool, only: tuple[str, ...], as_json: bool) -> None:
    """Say what this machine is, how it keeps trials apart, and what would disturb them.

    \b
    tare doctor
    tare doctor --tune                      # a dry run
    sudo tare doctor --tune --apply         # until the next start of the machine, or
    sudo tare doctor --revert
    sudo tare doctor --tune --apply --only swappiness --only 'disk scheduler'
    """
    from tare.lab import paths
    from tare.lab.machine import host, tuning
    from tare.probes.settings import settings

    if revert and (tune or applies or only):
        raise click.UsageError("--revert restores all that was changed: it takes no other option")
    if (applies or only) and not tune:
        raise click.UsageError("--apply and --only go with --tune")
    if (applies or revert) and os.geteuid() != 0:
        raise click.UsageError("changing kernel settings needs root: run it with sudo")
    cpus = host.assign(host.by_core(), server=1, client=1)
    if revert:
        outcomes = tuning.revert(paths.tuning())
        if not outcomes:
            say("the machine has restarted since, so its settings are the kernel's own again")
        _print_outcomes(outcomes, as_json)
    elif tune:
        known = settings(cpus.server)
        _ensure_known(only, [setting.name for setting in known])
        changes = tuning.plan(each for each in known if not only or each.name in only)
        if applies:
            if not changes:
                say("nothing to change")
            _print_outcomes(tuning.apply(changes, paths.tuning()), as_json)
        else:
            _show(changes, as_json)
    else:
        _diagnose(cpus.server, [cpus.remark], as_json)


def _ensure_known(only: Collection[str], known: Sequence[str]) -> None:
    for name in only:
        if name not in known:
            expected = ", ".join(dict.fromkeys(known))
            raise click.UsageError(f"--only: found {name!r}, expected one of: {expected}")


def _diagnose(servers: Collection[int], remarks: list[str | None], as_json: bool) -> None:
    from tare.lab.machine import cgroup
    from tare.probes.audit import audit

    hierarchy = cgroup.detect()
    facts = audit(servers) | {
        "control_groups": hierarchy.kind,
        "remarks": [text for text in (hierarchy.remark, *remarks) if text],
    }
    if as_json:
        print_json(facts)
        return
    for key in ("distribution", "kernel", "cpu", "cpu_count", "control_groups"):
        click.echo(f"{key.replace('_', ' '):16} {facts[key]}")
    for remark in facts["remarks"]:
        echo(f"{'remark':16} ", remark)
    click.echo()
    wide = max(len(found["name"]) for found in facts["audit"])
    for found in facts["audit"]:
        value = f"{found['value']}, " if found["value"] else ""
        echo(f"{found['name']:{wide}} ", f"{found['status']}: {value}wanted {found['wanted']}")
        echo(" " * (wide + 1), found["why"])


def _show(changes: Sequence["Change"], as_json: bool) -> None:
    """List the settings that would change."""
    if as_json:
        print_json([asdict(change) for change in changes])
        return
    for change in changes:
        click.echo(f"{change.setting}: {change.file}: {change.old} → {change.new}")
    if changes:
        say("nothing was changed: --apply does it, as root")
    else:
        say("nothing to change")


def _print_outcomes(outcomes: Sequence["Outcome"], as_json: bool) -> None:
    """List the settings that changed; exit code 1 when a setting would not take its value."""
    if as_json:
        print_json([asdict(outcome) for outcome in outcomes])
    else:
        for outcome in outcomes:
            why = f" ({outcome.why})" if outcome.why else ""
            click.echo(
                f"{outcome.change.setting}: {outcome.change.file}: {outcome.value}: "
                f"{outcome.status}{why}"
            )
        if outcomes:
            say(f"{sum(each.status == 'done' for each in outcomes)} of {len(outcomes)} done")
    sys.exit(0 if all(each.status == "done" for each in outcomes) else 1)
