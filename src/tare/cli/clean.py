"""`tare clean`: remove builds and copies from the cache, and stored runs."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from tare.cli.output import json_option, print_json, say

if TYPE_CHECKING:
    from tare.lab.run.cleaning import Item


@click.command()
@click.option("--runs", is_flag=True, help="Finished runs, too, but not records.")
@click.option("--apply", "applies", is_flag=True, help="Remove them.")
@json_option
def command(runs: bool, applies: bool, as_json: bool) -> None:
    """List the builds and copies in the cache with their sizes; --apply removes them.

    Copies are those that runs made of your own files (--library, --conf and the like). What is up,
    in use, not finished or not made by tare stays, and is listed with the reason.
    `tare setup` builds everything again.

    \b
    tare clean
    tare clean --apply
    tare clean --runs --apply
    """
    from tare.lab.run import cleaning

    def listed() -> "list[Item]":
        return [*cleaning.builds(), *cleaning.copies(), *(cleaning.runs() if runs else [])]

    if applies:
        with cleaning.building_ends(lambda: say("waiting for a build to end")):
            found = listed()
            chosen = [each for each in found if not each.stays and cleaning.remove(each)]
    else:
        found = listed()
        chosen = [each for each in found if not each.stays]
    if as_json:
        print_json([_row(each, chosen, applies) for each in found])
        return
    for each in found:
        if each not in chosen:
            click.echo(f"stays: {each.path}: {each.stays or 'came into use'}")
        elif not applies:
            click.echo(f"{_size(each.size):>9}  {each.path}")
    what = "builds, copies and runs" if runs else "builds and copies"
    summary = f"{len(chosen)} {what}, {_size(sum(each.size for each in chosen))}"
    if applies:
        click.echo(f"removed: {summary}")
    elif chosen:
        click.echo(f"{summary}; tare clean {'--runs ' if runs else ''}--apply removes them")
    else:
        click.echo("nothing to remove")


def _row(item: "Item", chosen: "Collection[Item]", applies: bool) -> dict[str, object]:
    return {
        "path": str(item.path),
        "bytes": item.size,
        "removed": applies and item in chosen,
        "stays": item.stays or None,
    }


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
