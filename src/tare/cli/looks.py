"""`--why` and `--tail`: observe processes, to find where a difference is from."""

import click

why_option = click.option(
    "--why",
    is_flag=True,
    help="Profile processes in a second window of each trial or duel, and say where a difference "
    "comes from; as root.",
)
tail_option = click.option(
    "--tail",
    is_flag=True,
    help="Observe the slowest 1 % of each server's requests in two more windows of each duel, "
    "and say why one server's take longer; as root.",
)
