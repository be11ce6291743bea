"""Looks at the tails of a user's own servers, one after the other, each alone under its load."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from tare.lab.errors import TareError
from tare.lab.project.build import Say
from tare.lab.project.preparation import observer_beside, profiler
from tare.lab.run import planning
from tare.lab.run.own_bench import naming_ended, open_own, started
from tare.lab.trial.tail import look
from tare.model.instrument import Result
from tare.model.servers import Servers
from tare.model.tail import Tail


@dataclass(frozen=True)
class Looked:
    """One server's tail, and what the load generator measured meanwhile."""

    name: str
    tail: Tail
    result: Result


def tails(servers: Servers, slowest: float, say: Say) -> Iterator[Looked]:
    """Yield the tail of each server, whose answers are known; the slowest requests are this share
    of all.

    Raises TareError for a server that does not start, does not answer or fails under the load, and
    where the kernel does not let processes be looked at.
    """
    program = profiler(say)
    if isinstance(program, str):
        raise TareError(f"processes cannot be looked at: {program}")
    for server in servers.servers:
        with open_own(servers, say) as (bench, home), ExitStack() as stack:
            parameters = planning.scenario_at(bench.loaded, {}, {}).parameters
            site = started(bench, server.name, parameters, home, stack)
            stack.enter_context(naming_ended(servers, [site]))
            site.run_oracle()
            tail, result = look(site, observer_beside(program), slowest)
            yield Looked(server.name, tail, result)
