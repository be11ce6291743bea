"""`tare new`: your own variant, begun as a copy of another."""

import shlex
from pathlib import Path

import click


@click.command()
@click.argument("target", metavar="EXPERIMENT/NAME")
@click.option("--from", "source", required=True, metavar="VARIANT", help="The variant to copy.")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default="~/tare-variants",
    metavar="DIR",
    help="The folder for your variants, by default ~/tare-variants.",
)
def command(target: str, source: str, into: Path) -> None:
    """Copy a variant to a folder outside the project, for you to change.

    \b
    tare new proxies/mine --from nginx
    tare new proxies/mine --from nginx --into DIR
    """
    from tare.lab.project import catalog, copying

    experiment, name = catalog.split_target(target)
    if name is None:
        raise click.BadParameter(
            f"found {target!r}, expected EXPERIMENT/NAME", param_hint="EXPERIMENT/NAME"
        )
    folder = into.expanduser().resolve()
    loaded = catalog.load(experiment, outside=folder if folder.is_dir() else None)
    made = copying.copy(loaded, source, name, folder)
    click.echo(f"{made} is a copy of {experiment}/{source}\n\nChange in it what you want to try:")
    for file in sorted(each for each in made.rglob("*") if each.is_file()):
        click.echo(f"  {file.relative_to(made)}")
    where = shlex.quote(str(folder))
    click.echo(
        f"\nThen:\n  tare check {target} --variants-dir {where}\n"
        f"  tare run {experiment} --variants {source},{name} --baseline {source} "
        f"--variants-dir {where}"
    )
