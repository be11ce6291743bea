"""`tare load`: the load generator by itself."""

import os

import click


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Load a URL: closed or open loop, true latencies; `tare load --help` lists all options.

    \b
    tare load http://127.0.0.1:8080/ -c 20 -d 10
    """
    from tare.cli.output import say
    from tare.lab.project import build, requirements

    requirements.meet(requirements.of_components(["load"]), say)
    program = build.component("load", say) / "bin" / "tare-load"
    os.execv(program, ["tare load", *(arguments or ("--help",))])
