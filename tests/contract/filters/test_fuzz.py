"""Ten thousand generated targets over two workers and a reload: every decision the reference's."""

import random

import pytest
import reference
from benches import answered
from harness import variants
from test_workers import reload

pytestmark = pytest.mark.contract
SEED, NUMBER = 20240611, 10_000
PREFIX = b"/aaaa"
PIECES = [b"aaaa", b"aaa", b"a", b"b", b"/", b"/", b"//", b".", b"..", b"/../", b"/./", b"?", b"#",
          b"%2e", b"%2F", b"%61", b"%3f", b"%23", b"%25", b"%ff", b"%0a", b"%00", b"%", b"%g1",
          b"+", b"\xff", b"\xc3\xbc", b"\\", b"A", b"%c0%af", b"x" * 300]  # fmt: skip


def targets() -> list[bytes]:
    """About half begin with the prefix in one of its spellings, so that both answers are common."""
    generator = random.Random(SEED)
    starts = [b"/", b"/", PREFIX, b"/%61aaa", b"//aaaa", b"/b/../aaaa", b"/aaa%61"]
    return [
        generator.choice(starts) + b"".join(generator.choices(PIECES, k=generator.randrange(8)))
        for _ in range(NUMBER)
    ]


CORPUS = targets()


@pytest.mark.parametrize("variant", variants)
def test_decisions_are_the_reference(site, hooks, variant):
    started = site(variant, prefix=PREFIX.decode(), workers=2).start()
    before = hooks.counters(started)
    wires = [hooks.Wire(started.host, started.port["http"]) for _ in range(8)]
    found = []
    for number, target in enumerate(CORPUS):
        if number == NUMBER // 2:
            reload(started)
        found.append(wires[number % len(wires)].request(b"GET " + target)[0])
    expected = [reference.status(target, PREFIX) for target in CORPUS]
    if not started.properties["filters"]:
        expected = [200 if status == 403 else status for status in expected]
    assert dict(zip(CORPUS, found, strict=True)) == dict(zip(CORPUS, expected, strict=True))
    statuses = {str(status): found.count(status) for status in set(found)}
    hooks.audit(started, before, hooks.counters(started), answered(total={"statuses": statuses}))


def test_the_corpus_tries_every_answer():
    answers = [reference.status(target, PREFIX) for target in CORPUS]
    assert min(answers.count(status) for status in (200, 403, reference.REFUSED)) > NUMBER / 10
