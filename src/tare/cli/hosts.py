"""`tare hosts`: the machines that make blocks of a run, or run roles of a trial."""

from pathlib import Path

import click

from tare.cli.groups import Group
from tare.cli.output import json_option, print_json, say
from tare.cli.ranges import Amount

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(cls=Group)
def command() -> None:
    """Let several machines make the blocks of one run (docs/BENCHES.md), or take the roles of each
    trial (docs/HOSTS.md).

    \b
    tare hosts keys FILE          # once: keys for all, to be copied to each
    tare hosts worker left FILE   # on each of them; it stays until it is stopped
    tare hosts check FILE         # are they alike? are all roles' hosts there?
    tare run proxies --benches FILE
    """


@command.command()
@click.argument("file", type=_FILE)
def keys(file: Path) -> None:
    """Make new keys for the coordinator and every bench of FILE; older keys then stop working.

    \b
    tare hosts keys FILE
    """
    from tare.lab.run.benches import file as benches_file
    from tare.lab.run.benches import keys as made

    benches = benches_file.read(file)
    for each in made.make(benches):
        click.echo(each)
    say(
        f"copy {made.CERTIFICATE} and its own file to each bench, over an encrypted connection; "
        f"the keys are valid for {made.VALID_DAYS} days"
    )


@command.command()
@click.argument("name")
@click.argument("file", type=_FILE)
def worker(name: str, file: Path) -> None:
    """Run as the bench NAME of FILE: make a coordinator's blocks, until it is stopped.

    Anyone with a key of FILE can run programs here as this user.

    \b
    tare hosts worker left FILE
    """
    from tare.lab.errors import UnknownName
    from tare.lab.run.benches import file as benches_file
    from tare.lab.run.benches.worker import serve

    benches = benches_file.read(file)
    if name not in benches.benches:
        known = ", ".join(benches.benches)
        raise UnknownName(f"{file}: no bench is called {name!r}; there are: {known}")
    serve(benches, name, say)


@command.command()
@click.argument("file", type=_FILE)
@click.option(
    "--wait",
    "wait_s",
    type=Amount(),
    default=10.0,
    show_default=True,
    metavar="S",
    help="Seconds in which all benches must join.",
)
@json_option
def check(file: Path, wait_s: float, as_json: bool) -> None:
    """Describe every bench or host of FILE, and say what keeps it from taking part in a run.

    --wait is for benches; hosts of roles (docs/HOSTS.md) are reached at once.

    \b
    tare hosts check FILE
    """
    from tare.lab.run.hosts import file as hosts_file

    if hosts_file.names_hosts(file):
        _check_hosts(file, as_json=as_json)
    else:
        _check_benches(file, wait_s, as_json=as_json)


def _check_hosts(file: Path, *, as_json: bool) -> None:
    from tare.lab.run.hosts import checking
    from tare.lab.run.hosts import file as hosts_file

    found = checking.check(hosts_file.read(file))
    if as_json:
        print_json([each.model_dump(mode="json") for each in found])
    else:
        for each in found:
            for line in checking.described(each):
                click.echo(line)
    raise SystemExit(1 if any(each.troubles for each in found) else 0)


def _check_benches(file: Path, wait_s: float, *, as_json: bool) -> None:
    from tare.lab.run.benches import file as benches_file
    from tare.lab.run.benches.alike import (
        OTHERS,
        described,
        differences,
        hosts_of,
        is_ours,
        look,
    )

    benches = benches_file.read(file)
    found = look(benches, wait_s)
    missing = [name for name in benches.benches if name not in found]
    strange = [name for name, what in found.items() if not is_ours(what)]
    if as_json:
        print_json(found | dict.fromkeys(missing))
    else:
        for name in benches.benches:
            click.echo(f"{name}: {described(found.get(name))}")
            if name in strange:
                click.echo(f"  trouble: {OTHERS}")
        for line in differences(found):
            click.echo(line)
    if missing:
        say(f"start it there with: tare hosts worker {missing[0]} {file}")
    troubled = any(host.troubles for what in found.values() for host in hosts_of(what))
    raise SystemExit(1 if missing or strange or troubled else 0)
