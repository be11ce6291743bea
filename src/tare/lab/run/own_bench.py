"""A bench for a user's own servers that are looked at outside of a run."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tare.lab.errors import TareError
from tare.lab.machine import host
from tare.lab.project import servers as own
from tare.lab.project.build import Say
from tare.lab.project.preparation import fingerprint, prepare
from tare.lab.run import planning
from tare.lab.run.hosts import spread
from tare.lab.run.hosts.opening import Wanted, opened
from tare.lab.run.working_folder import working_folder
from tare.lab.trial.bench import Bench, open_bench
from tare.lab.trial.site import Site
from tare.model.hosts import HostsFile
from tare.model.servers import Servers


@contextmanager
def open_own(
    servers: Servers, say: Say, hosts: HostsFile | None = None
) -> Iterator[tuple[Bench, Path]]:
    """Yield a bench for a user's own servers, on hosts or here, and its folder; both end with the
    block.

    Raises TareError for what cannot be had.
    """
    loaded = own.loaded(servers)
    prepared = prepare(loaded, loaded.variants, say)
    for name in loaded.variants:
        if why := prepared.why_not(name):
            raise TareError(f"{name}: {why}")
    with working_folder() as home:
        backends = 1 if servers.backend else 0
        cpus = host.assign(host.by_core(), server=1, client=1, backend=backends)
        bench = open_bench(loaded, prepared.built, folder=home, name=home.name, cpus=cpus)
        try:
            if hosts is None:
                yield bench, home
            else:
                plan = planning.make(
                    loaded,
                    quick=False,
                    variants=None,
                    scenarios=[],
                    blocks=1,
                    seed=0,
                    overrides={},
                )
                spread.refuse(hosts, plan, loaded)
                wanted = Wanted(hosts, plan, servers, fingerprint(loaded, prepared), 1, 1, backends)
                with opened(bench, wanted, say) as found:
                    yield replace(bench, hosts=found.hosts), home
        finally:
            bench.close()


def started(
    bench: Bench, name: str, parameters: Mapping[str, Any], home: Path, stack: ExitStack
) -> Site:
    """Start one of the servers, which the stack stops. Raises TareError with its last lines."""
    site = Site(bench, name, parameters, seed=0, name=name, folder=home / name, side=name)
    stack.callback(site.stop)
    try:
        site.start()
    except TareError as error:
        raise TareError(f"{name} does not start: {error}") from error
    return site


@contextmanager
def naming_ended(servers: Servers, sites: Iterable[Site]) -> Iterator[None]:
    """Within, a failure while a server has ended names that server, its command, how it ended and
    its last lines. Raises TareError.
    """
    commands = {each.name: each.command for each in servers.servers}
    try:
        yield
    except TareError as failure:
        for site in sites:
            try:
                site.ensure_alive()
            except TareError as ended:
                raise TareError(f"{site.variant} ({commands[site.variant]}): {ended}") from failure
        raise
