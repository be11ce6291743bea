"""A look at one server under load: what its slowest requests waited for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from tare.lab.errors import RoleError, Unavailable
from tare.lab.trial import instrument
from tare.lab.trial.explain import roles_of
from tare.lab.trial.instrument import assignment
from tare.lab.trial.observer import observing
from tare.lab.trial.site import Site
from tare.model.instrument import Result
from tare.model.tail import SLOWEST, SideTail, Tail, Tails

_ROLE = "observer"
_PORTS = {"http": 80, "https": 443}


def untold(protocol: str, scheme: str, depth: int) -> tuple[str, str] | None:
    """Return the setting that keeps requests from being told from each other in what a server
    reads, and what is expected of it; None if they can be.
    """
    if protocol not in ("h1", "h2"):
        return "protocol", "expected h1 or h2, whose requests are found in what a server reads"
    if protocol == "h2" and scheme != "http":
        return "url", (
            "expected http:// beside h2: in TLS a request cannot be found by its place in the "
            "connection's bytes"
        )
    if protocol == "h1" and depth > 1:
        return "depth", "expected 1 beside h1, so that a connection has a request at a time"
    return None


def look(site: Site, program: Path, slowest: float) -> tuple[Tail, Result]:
    """Load a site; return where the time of its slowest requests went, which are this share of all,
    and what the instrument measured meanwhile.

    Raises RoleError when a program fails, and Unavailable where the kernel does not let processes
    be looked at, or the load is not of a kind that can be.
    """
    plain = assignment(site, site.bench.loaded.study.analysis.window)
    spec = plain.spec
    times, url = site.folder / "times.csv", urlsplit(spec.get("url", ""))
    if spec.get("loop", {}).get("kind") != "open" and "replay" not in spec:
        raise Unavailable("loop: expected open: how slow the slowest are depends on the rate")
    if found := untold(spec.get("protocol", "h1"), url.scheme, spec.get("depth", 1)):
        raise Unavailable(": ".join(found))
    what = replace(plain, spec={**spec, "times_file": str(times)})
    port = url.port or _PORTS[url.scheme]
    argv = [str(program), f"--port={port}", f"--slowest={slowest}", *roles_of({"": site})]
    with observing(site, _ROLE, argv) as observer:
        result = instrument.run([site], [what], observer.follow)
        observer.hear("ended")
        observer.say(str(times))
        return observer.answer(Tail, "tail"), result


def look_at_both(sites: Mapping[str, Site], program: Path, order: Sequence[str]) -> Tails:
    """Load the sides of a duel one after the other, each alone, and look at their slowest requests.
    The other one is alive meanwhile and gets no load. What this finds does not count.

    Raises as `look`, and RoleError for errors under the load and answers whose times were dropped.
    """
    return Tails(sides={side: _alone(sites[side], program) for side in order})


def why_spoilt(tails: Tails) -> str | None:
    """Return why the windows of a duel are left out; None if no event was lost in them."""
    lost = sum(side.tail.lost for side in tails.sides.values())
    if not lost:
        return None
    return (
        f"{lost} events found no room, so these windows are left out; "
        "take less --duration, or a lower rate"
    )


def _alone(site: Site, program: Path) -> SideTail:
    tail, result = look(site, program, SLOWEST)
    if errors := sum(result.errors.values()):
        raise RoleError(f"{site.variant}: {errors} errors in the window of its slowest requests")
    if dropped := result.times_dropped:
        raise RoleError(
            f"{site.variant}: the times of {dropped} answers found no room; take less --duration, "
            "or a lower rate"
        )
    p99_us = result.outcomes["latency_p99_us"]
    return SideTail(p99_ns=None if p99_us is None else 1000 * p99_us, tail=tail)
