"""The places of a plan's roles, and the reasons why some cannot be spread over hosts at all."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from tare.lab.errors import UnknownName
from tare.lab.project import index, levels, render
from tare.lab.project.catalog import Loaded
from tare.model.hosts import HostsFile
from tare.model.role import INSTRUMENT_ROLE
from tare.model.trial import Plan


def placed(file: HostsFile, plan: Plan, loaded: Loaded) -> dict[str, str]:
    """Return role → host, for each role of the plan's variants and the instrument's."""
    roles = [INSTRUMENT_ROLE]
    for variant in plan.variants:
        own = loaded.variants[variant].roles
        roles += [name for name, role in own.items() if role.argv or role.running]
    return {role: file.of(role) for role in dict.fromkeys(roles)}


def refuse(file: HostsFile, plan: Plan, loaded: Loaded, option: str = "--hosts") -> None:
    """Refuse a plan that the hosts of an option cannot carry out. Raises UnknownName."""
    own = (role for variant in loaded.variants.values() for role in variant.roles)
    for name, unknown in unknown_roles(file, own):
        raise UnknownName(f"{option}: host {name}: {unknown}")
    if why := next(_reasons(file, plan, loaded), None):
        raise UnknownName(f"{option}: {loaded.title} cannot be spread over hosts: {why}")


def unknown_roles(file: HostsFile, known: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield each host with a sentence about a role of it that is neither `known` nor of any
    experiment. Where there are no experiments, as beside an installed tare, only what is close to
    another role is unknown.
    """
    roles = {INSTRUMENT_ROLE, *known}
    others: set[str] = set()
    if any(role not in roles for host in file.hosts.values() for role in host.roles):
        others = index.role_names()
        roles |= {"sut", "backend", *others}
    for name, host in file.hosts.items():
        for role in host.roles:
            if role in roles:
                continue
            if close := get_close_matches(role, sorted(roles), n=1):
                yield name, f"no experiment has a role {role!r}; did you mean {close[0]!r}?"
            elif others:
                yield name, f"no experiment has a role {role!r}; remove it"


def _reasons(file: HostsFile, plan: Plan, loaded: Loaded) -> Iterator[str]:
    if plan.parts or plan.variants_dir:
        yield "your own files and variants are on this machine only"
    for option, looks in (("--why", plan.why), ("--tail", plan.tail)):
        if looks:
            yield f"{option} looks at processes of this machine only; leave it out"
    if len(file.loads) > 1 and plan.pairing == "slices":
        yield (
            f"a duel has one generator, and the hosts {', '.join(file.loads)} have the role "
            f"{INSTRUMENT_ROLE}; give it to one of them, or make trials (--pairing trials)"
        )
    if len({*placed(file, plan, loaded).values()}) == 1 and not _is_elsewhere(file):
        return
    for name in plan.variants:
        variant = loaded.variants[name]
        if any(role.running for role in variant.roles.values()):
            yield "a server that runs already is measured on this machine only; give its command"
        for scenario in plan.scenarios:
            if levels.unsupported(loaded, name, scenario):
                continue
            where = f"{loaded.name}/{name}: together"
            if why := render.text(variant.together, scenario.parameters, where).strip():
                yield why
            for each, role in variant.roles.items():
                where = f"{loaded.name}/{name}: role {each}: netns"
                if render.text(role.netns, scenario.parameters, where) == "trial":
                    yield f"{scenario.name}: its roles have a network namespace of their own"


def _is_elsewhere(file: HostsFile) -> bool:
    return any(host.ssh or host.namespace for host in file.hosts.values())
