"""A first look at a user's own servers, before anything is timed: do both give the same answer,
and at which rate can both be asked?
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from tare.lab.errors import ManifestError, TareError
from tare.lab.project.build import Say
from tare.lab.project.servers.answer import Answer, Answers, Difference, ask, differences
from tare.lab.run import planning, turn_length
from tare.lab.run.own_bench import naming_ended, open_own, started
from tare.lab.trial.instrument import assignment
from tare.lab.trial.measure import observe
from tare.lab.trial.site import Site, blame
from tare.lab.trial.turns import BASELINE, VARIANT, in_turns
from tare.model.hosts import HostsFile
from tare.model.instrument import Result
from tare.model.servers import Expected, Servers
from tare.model.study import Slices
from tare.stats.rounding import two_digits

_SHARE = 0.4
"""Of what the slower server can answer: the rate at which latencies are compared."""
_CROWDED, _TOO_MUCH = 0.8, 1.1
"""Of the same: a given rate that is remarked on, and one that is refused."""
_LOOKS_S = (0.8, 8.0)
_TURNS = Slices(gap_us=1e6)
"""Nothing is judged by them, so that a round with a gap will do."""
_FIRST = {"duration_s": _LOOKS_S[0], "warmup_s": 0.4}


@dataclass
class Faced:
    """The servers with what they are expected to answer, and what was noticed."""

    servers: Servers
    differences: list[tuple[str, Difference]] = field(default_factory=list)
    """Server → a difference between its answer and the first server's."""
    remarks: list[str] = field(default_factory=list)


def face(
    servers: Servers,
    say: Say,
    *,
    saturated: bool | None,
    any_body: bool,
    hosts: HostsFile | None = None,
) -> Faced:
    """Start all servers, ask each twice, and find the rate and the turns of duels, or see whether a
    given rate can be held; all on `hosts`, if there are any. Without duels, `saturated` is None.
    With `any_body` no body is expected from then on.

    Raises TareError for a server that does not start, does not answer or ends, with its last lines,
    and for a rate that is more than a server can answer.
    """
    asked = servers.model_copy(update={"load": servers.load.model_copy(update={"rate": None})})
    with open_own(asked, say, hosts) as (bench, home), ExitStack() as stack:
        parameters = planning.scenario_at(bench.loaded, {}, _FIRST).parameters
        sites = {
            each.name: started(bench, each.name, parameters, home, stack) for each in asked.servers
        }
        stack.enter_context(naming_ended(servers, sites.values()))
        answers = {name: (_answers(site), _answers(site)) for name, site in sites.items()}
        first = asked.servers[0].name
        _same_protocol({name: one.protocol for name, (one, _) in answers.items()})
        known = []
        for each in servers.servers:
            one, again = answers[each.name]
            expected = list(map(Answer.expected, one.each, again.each))
            if any_body:
                expected = [Expected(status=one.status) for one in expected]
            known.append(each.model_copy(update={"expected": expected}))
        faced = Faced(servers.model_copy(update={"servers": known}))
        requests = [each.request for each in answers[first][0].each]
        for number, request in enumerate(requests):
            of = {
                name: (one.each[number], again.each[number])
                for name, (one, again) in answers.items()
            }
            _compare(faced, first, of, f" of {request}" if len(requests) > 1 else "")
        if saturated is None:
            return faced
        status = {
            name: [answer.status for answer in one.each] for name, (one, _) in answers.items()
        }
        looks = [_look(sites[first], sites[name], status) for name in sites if name != first]
        if not saturated:
            _set_rate(faced, answers[first][0].log_rate, min(look.rate for look in looks))
        _set_turns(faced, max(look.answer_ms for look in looks), saturated=saturated)
    return faced


def _set_turns(faced: Faced, answer_ms: float, *, saturated: bool) -> None:
    """Choose turns that are longer than an answer takes, and duels that hold some of them."""
    load = faced.servers.load
    suited = turn_length.suited(load, answer_ms, saturated=saturated)
    if suited.duration_s > load.duration_s:
        faced.remarks.append(
            f"an answer takes {two_digits(answer_ms)} ms under load, so a turn lasts "
            f"{suited.slices.length_ms:.10g} ms and a duel {suited.duration_s:.10g} s"
        )
    faced.servers = faced.servers.model_copy(update={"load": suited})


def _set_rate(faced: Faced, log_rate: float | None, most: float) -> None:
    """Choose the rate, or hold the given one, or that of a log, against the most that the slower
    server can answer. Raises TareError for one that is too much.
    """
    load = faced.servers.load
    given = load.rate if log_rate is None else log_rate
    option = "--rate" if log_rate is None else "--replay"
    if given is not None and (remark := too_fast(given, most, option)):
        faced.remarks.append(remark)
    chosen = _round(_SHARE * most) if given is None else given
    load = load.model_copy(update={"rate": chosen})
    faced.servers = faced.servers.model_copy(update={"load": load})


def _same_protocol(spoken: Mapping[str, str]) -> None:
    """Raise TareError for servers that choose different protocols when they are asked to."""
    if len(set(spoken.values())) > 1:
        found = ", ".join(f"{name} {protocol}" for name, protocol in spoken.items())
        raise TareError(f"-p auto: the servers choose different protocols ({found}); write -p h1")


def _compare(
    faced: Faced, first: str, answers: Mapping[str, tuple[Answer, Answer]], where: str
) -> None:
    """Note how the answers to one request differ from the first server's; each server gave two."""
    changing = {name for name, (one, again) in answers.items() if one.sha256 != again.sha256}
    for name in sorted(changing):
        said = f"{name}: the body{where} changes from request to request, so it is not compared"
        faced.remarks.append(said)
    for name, (one, _) in answers.items():
        for found in differences(answers[first][0], one):
            if found.what != "body" or not {first, name} & changing:
                text = f"{where.removeprefix(' of ')}: {found.text}" if where else found.text
                faced.differences.append((name, Difference(found.what, text)))


def too_fast(rate: float, most: float, option: str = "--rate") -> str | None:
    """Return a remark on a rate that is near what the slower server can answer; None if it is not.
    Raises TareError for one that is beyond.
    """
    if rate <= _CROWDED * most:
        return None
    said = f"the slower server answers about {most:.0f} requests per second at most"
    if rate > _TOO_MUCH * most:
        if option == "--rate":
            raise TareError(f"--rate {rate:.10g}: {said}; expected less, or --saturated")
        raise TareError(
            f"--replay: {rate:.10g} requests per second on average, and {said}; expected a lower "
            "--speed, or --saturated"
        )
    return f"{said}, so at {rate:.10g} latency is mostly time spent in its queue"


def _answers(site: Site) -> Answers:
    try:
        return ask(site)
    except ManifestError:  # the server has no part in it
        raise
    except TareError as error:
        blame([site])
        words = "".join(process.last_words() for process in site.processes.values())
        raise TareError(f"{site.variant}: {error}{words}") from error


@dataclass(frozen=True)
class _Look:
    """The slower of two servers, as fast as they answer."""

    rate: float
    """Requests per second."""
    answer_ms: float
    """The median time of an answer."""


def _look(baseline: Site, variant: Site, status: Mapping[str, list[int]]) -> _Look:
    """Load two servers in turns as fast as they answer, longer if both give no answer in a short
    time. Raises TareError for one that gives no right answer.
    """
    for duration_s in _LOOKS_S:
        result = _loaded(baseline, variant, status, duration_s)
        sides = {baseline.variant: result.side(BASELINE), variant.variant: result.side(VARIANT)}
        found = {name: _seen(side, variant) for name, side in sides.items()}
        seen = [each for each in found.values() if each is not None]
        if len(seen) == len(found):
            return _Look(min(each.rate for each in seen), max(each.answer_ms for each in seen))
        if any(result.errors.values()):
            break
    blame([baseline, variant])
    told = []
    for name in (name for name, look in found.items() if look is None):
        counts = ", ".join(f"{kind} {count}" for kind, count in sides[name].errors.items() if count)
        none = f"none within {duration_s:g} s"
        told.append(f"{name}: no right answers under load ({counts or none})")
    raise TareError("\n".join(told))


def _loaded(
    baseline: Site, variant: Site, status: Mapping[str, list[int]], duration_s: float
) -> Result:
    sides = {VARIANT: variant, BASELINE: baseline}
    own = {"duration_s": duration_s}
    each = {side: assignment(site, own) for side, site in sides.items()}
    what = in_turns(each, _TURNS)
    for target in what.spec["targets"]:
        right = [{"status": [one]} for one in status[sides[target["name"]].variant]]
        if "mix" in target:
            pairs = zip(target["mix"], right, strict=True)
            target["mix"] = [each | {"expect": expect} for each, expect in pairs]
        else:
            all_of = {one for each in right for one in each["status"]}
            target["expect"] = {"status": sorted(all_of)}
    result, _ = observe(list(sides.values()), [what], lambda _: None)
    return result


def _seen(result: Result, site: Site) -> _Look | None:
    """Return one side's rate and time of an answer, or None if it gave none."""
    median_us, p90_us, max_us = (
        result.outcomes[f"latency_{name}_us"] for name in ("p50", "p90", "max")
    )
    if median_us is None or max_us is None:
        return None
    slow_us = max_us if p90_us is None else p90_us
    rate = result.outcomes["requests_per_second"] or 0.0
    if slow_us > 1e3 * _TURNS.length_ms:
        # Few answers come within their turn; by this time all that were sent when it began have.
        at_once = site.parameters["connections"] * site.parameters.get("depth", 1)
        rate = max(rate, 1e6 * at_once / slow_us)
    return _Look(rate, median_us / 1e3)


def _round(rate: float) -> float:
    return float(f"{rate:.2g}")
