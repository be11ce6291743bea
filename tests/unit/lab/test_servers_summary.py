"""What runs store of requests to a user's own servers, so that only like runs are compared."""

from pathlib import Path
from typing import Any

import pytest

from tare.lab.project import render, servers
from tare.lab.project.servers import commands, requests
from tare.lab.run import planning
from tare.model.servers import Servers


def two(**changes: Any) -> Servers:
    each = [{"name": name, "command": "./a {port}", "folder": "/"} for name in ("old", "new")]
    return Servers.model_validate({"servers": each} | changes)


def asked(**request: Any) -> str:
    return requests.summary(two(request=request))


def test_a_plain_request_is_told_in_full() -> None:
    assert asked(path="/a?b=1") == "GET /a?b=1"
    assert asked(method="POST", body={"size": 9}) == "POST /, 9 bytes"
    assert asked(scheme="tcp", protocol="echo", body={"size": 128}) == "messages, 128 bytes"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"headers": {"Accept": "a"}}, {"headers": {"Accept": "b"}}),
        ({"body": "a"}, {"body": "b"}),
        ({"body": {"base64": "AA=="}}, {"body": {"base64": "AQ=="}}),
    ],
)
def test_what_the_words_leave_out_is_in_the_digest(one: Any, other: Any) -> None:
    assert len({asked(), asked(**one), asked(**other)}) == 3


def test_a_file_is_known_by_what_it_holds(tmp_path: Path) -> None:
    found = []
    for name, text in (("a", "x"), ("b", "x"), ("a", "y")):
        (tmp_path / name).write_text(text)
        found.append(asked(body={"file": str(tmp_path / name)}))
    assert found[0] == found[1] != found[2]


def test_a_mix_and_a_log_have_digests() -> None:
    mixes = [[{"url": "/a"}, {"url": "/b", "weight": weight}] for weight in (1, 2)]
    mixed = {requests.summary(two(mix=mix, in_order=order)) for mix in mixes for order in (0, 1)}
    assert len(mixed) == 4 and all(each.startswith("2 requests (") for each in mixed)
    logs = {requests.summary(two(replay={"file": "/log", "speed": speed})) for speed in (1, 2)}
    assert len(logs) == 2 and all(each.startswith("log log (") for each in logs)


def test_how_servers_are_prepared_is_told_without_a_secret() -> None:
    assert commands.summary(two()) == "neither --setup nor --env"
    told = [commands.summary(two(setup="x", environment={"KEY": key})) for key in ("1", "2")]
    assert told[0] != told[1] and all(each.startswith("--setup and --env (") for each in told)
    assert "KEY" not in told[0]


def test_a_scenario_has_them() -> None:
    own = two(request={"path": "/{{x}}"}, setup="true")
    parameters = planning.scenario_at(servers.loaded(own), {}, {}).parameters
    assert parameters["request"] == "GET /%7B%7Bx%7D%7D"
    assert parameters["start"].startswith("--setup (")
    assert render.parameters(parameters) == parameters, "they are rendered again for each trial"
