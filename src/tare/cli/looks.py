"""`--why` and `--tail`: observe the processes of duels, to find where a difference is from."""

import click

why_option = click.option(
    "--why",
    is_flag=True,
    help="Profile the processes of each duel in a second window, and say where a difference "
    "comes from; as root.",
)
tail_option = click.option(
    "--tail",
    is_flag=True,
    help="Observe the slowest 1 % of each server's requests in two more windows of each duel, "
    "and say why one server's take longer; as root.",
)
