"""`tare doctor`: what this machine is, and what on it makes measurements noisy."""

import click

from tare.cli.output import console, json_option, print_json


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Say what this machine is, how it keeps trials apart, and what would disturb them."""
    from rich.table import Table
    from rich.text import Text

    from tare.lab import cgroup, host
    from tare.probes.audit import audit, findings

    hierarchy = cgroup.detect()
    cpus = host.assign(host.by_core(), server=1, client=1)
    facts = audit() | {
        "control_groups": hierarchy.kind,
        "remarks": [text for text in (hierarchy.remark, cpus.remark) if text],
    }
    if as_json:
        print_json(facts)
        return
    for key in ("distribution", "kernel", "cpu", "cpu_count", "control_groups"):
        click.echo(f"{key.replace('_', ' '):16} {facts[key]}")
    for remark in facts["remarks"]:
        click.echo(f"{'remark':16} {remark}")
    table = Table("setting", "value", "wanted", "status", "why", box=None, padding=(0, 2, 0, 0))
    for found in findings():
        # As text: square brackets in a value are no markup.
        table.add_row(found.name, Text(found.value), found.wanted, found.status, found.why)
    click.echo()
    console().print(table, highlight=False)
