"""`tare duel`: two of your own servers, side by side, and a verdict."""

import sys
from typing import Any

import click

from tare.cli.hosts_option import hosts_option
from tare.cli.output import json_option
from tare.cli.own_servers import prepare
from tare.cli.server_options import Asked, options, servers


@click.command()
@servers("COMMAND|URL...")
@options
@hosts_option
@json_option
def command(as_json: bool, **given: Any) -> None:
    """Compare the servers that the COMMANDs start; the first is the baseline.

    In a COMMAND, tare replaces {port} by a free port, {folder} by an empty folder, and {host} and
    {cpus} likewise; {file:PATH} is a copy of a file in which it replaces them, too. All servers
    run at once, and the load alternates between two of them every two milliseconds. Their
    answers must be alike. Duels end as soon as every verdict is there, or after --within.

    URLs instead of COMMANDs name servers that run already on this machine. tare finds their
    processes by the port, and neither starts nor stops any.

    \b
    tare duel './old --port {port}' './new --port {port}'
    tare duel 'python3 -m http.server {port}' 'python3 -m http.server {port}' --get /README.md
    tare duel './a {port}' './b {port}' --name a --name b --rate 5000 --within 2m
    tare duel './a {port}' './b {port}' --requests urls.txt
    tare duel './a {port}' './b {port}' -p grpc --get /pkg.Service/Method --body-file message.bin
    tare duel './a {port}' './b {port}' --url ws://127.0.0.1:{port}/chat -s 128
    tare duel './a {port}' './b {port}' --replay access.log
    tare duel 'nginx -c {file:old.conf}' 'nginx -c {file:new.conf}' --backend
    tare duel './a {port}' './b {port}' --setup 'cp seed.db {folder}/db' --env LEVEL=info
    tare duel http://127.0.0.1:8001/ http://127.0.0.1:8002/
    tare duel './old {port}' './new {port}' --why
    tare duel './old {port}' './new {port}' --tail
    tare duel --against main --build 'make' './server --port {port}'
    tare duel './old {host} {port}' './new {host} {port}' --hosts FILE
    """
    from tare.cli.running import go_on

    sys.exit(0 if go_on(prepare(Asked(**given)), as_json=as_json) else 1)
