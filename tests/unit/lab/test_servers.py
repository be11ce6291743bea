"""A user's own servers as an experiment, and how two answers differ."""

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tare.lab.errors import TareError
from tare.lab.project import render, servers
from tare.lab.project.servers import requests
from tare.lab.project.servers.answer import Answer, differences
from tare.lab.run import planning
from tare.lab.run.store import Store
from tare.lab.run.subject import keep, of
from tare.model.role import Running
from tare.model.servers import Expected, Servers
from tare.model.trial import Plan

NAMES: dict[str, Any] = {
    "port": {"http": 8080},
    "host": "127.0.0.1",
    "address": {"http": "127.0.0.1", "backend": "127.0.0.1"},
    "folder": "/f",
    "cpus": {"server": [0, 2], "client": [1]},
    "component": {"load": "/load"},
    "seed": 5,
    "connections": 16,
    "warmup_s": 0.3,
    "duration_s": 1.0,
}


def two(**changes: Any) -> Servers:
    commands = ("./a --port {port}", "./b --port {port} --cpus {cpus}")
    fields: dict[str, Any] = {
        "servers": [
            {"name": name, "command": command, "folder": "/it's here"}
            for name, command in zip(("old", "new"), commands, strict=True)
        ]
    }
    return Servers.model_validate(fields | changes)


def command(own: Servers, name: str) -> list[str]:
    role = servers.loaded(own).variants[name].roles["sut"]
    return [render.text(part, NAMES, "x") for part in role.argv]


def test_commands_are_filled_in_and_run_where_the_user_was() -> None:
    shell, flag, text = command(two(), "new")
    assert (shell, flag) == ("/bin/sh", "-c")
    assert text == "cd '/it'\\''s here' && exec ./b --port 8080 --cpus 0,2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1 ./a | tee log", "A=1 ./a | tee log"),
        ("./a '{{x}} {% y %}' {port}", "exec ./a '{{x}} {% y %}' 8080"),
        ("./a {other} {port}", "exec ./a {other} 8080"),
        ("./a '{{port}}' '{% endraw %}'", "exec ./a '{8080}' '{% endraw %}'"),
        ("./a '{#é\\\\x7b{port}'\r\nb", "./a '{#é\\\\x7b8080'\r\nb"),
    ],
)
def test_the_rest_of_a_command_stays_as_it_is(text: str, expected: str) -> None:
    own = two()
    first = own.servers[0].model_copy(update={"command": text, "folder": "/"})
    changed = own.model_copy(update={"servers": [first, own.servers[1]]})
    assert command(changed, "old")[2] == f"cd '/' && {expected}"


@pytest.mark.parametrize(
    "text", ['{"a": 1}\n', "a\r\n\r\nb\r\n", "{% endraw %}", "{{ 1 }}", "'\\'\\n{é\U0001f600"]
)
def test_a_body_is_sent_as_it_was_given(text: str) -> None:
    own = two(request={"body": text, "headers": {"X": text.strip()}, "path": f"/{text.strip()}"})
    loaded = servers.loaded(own)
    names = NAMES | planning.scenario_at(loaded, {}, {}).parameters
    spec = render.value(loaded.variants["new"].instrument.spec, names, "x")
    assert (spec["body"], spec["headers"]) == (text, {"X": text.strip()})
    assert spec["url"] == f"http://127.0.0.1:8080/{text.strip()}"


def test_a_setup_command_runs_before_the_server_and_its_failure_is_told() -> None:
    ended = []
    for setup in ("echo {port} {folder} # why", "echo so; exit 4"):
        own = two(setup=setup)
        first = own.servers[0].model_copy(update={"command": "echo up", "folder": "/"})
        changed = own.model_copy(update={"servers": [first, own.servers[1]]})
        done = subprocess.run(command(changed, "old"), capture_output=True, text=True, check=False)
        ended.append((done.returncode, done.stdout))
    failed = "so\ntare: the setup command ended with exit code 4\n"
    assert ended == [(0, "8080 /f\nup\n"), (1, failed)]


def test_a_file_of_a_command_is_copied_and_filled_in(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "role").mkdir()
    (tmp_path / "sub" / "it's.conf").write_text(
        "{port} {host}:{port} ${host} {backend}\n{folder} {other} {{x}}\n"
    )
    names = NAMES | {"port": {"http": 8080, "backend": 9}, "folder": str(tmp_path / "role")}
    for backend, place in ((True, "127.0.0.1:9"), (False, "{backend}")):
        own = two(backend=backend)
        text = "cat {file:sub/it's.conf}; echo {backend}"
        first = own.servers[0].model_copy(update={"command": text, "folder": str(tmp_path)})
        changed = own.model_copy(update={"servers": [first, own.servers[1]]})
        argv = servers.loaded(changed).variants["old"].roles["sut"].argv
        done = subprocess.run(
            [render.text(part, names, "x") for part in argv],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == (
            f"8080 127.0.0.1:8080 ${{host}} {place}\n{tmp_path / 'role'} {{other}} {{{{x}}}}\n"
            f"{place}\n"
        )


def test_each_server_has_a_backend_of_its_own_before_it_starts() -> None:
    old = servers.loaded(two(backend=True)).variants["old"]
    assert list(old.roles) == ["backend", "sut"] and old.roles["backend"].cpus == "backend"
    assert old.ports == ["http", "backend"] and "origin" in old.components
    assert list(servers.loaded(two()).variants["old"].roles) == ["sut"]


def test_a_log_has_its_own_times_and_only_its_statuses_are_expected() -> None:
    own = two(replay={"file": "/log", "speed": 2.0})
    expected = [Expected(status=404), Expected(status=200, body_length=3), Expected(status=404)]
    timed = own.model_copy(update={"load": own.load.model_copy(update={"rate": 5.0})})
    for given, by_clock in ((own, False), (timed, True)):
        known = [each.model_copy(update={"expected": expected}) for each in given.servers]
        loaded = servers.loaded(given.model_copy(update={"servers": known}))
        names = NAMES | planning.scenario_at(loaded, {}, {}).parameters
        spec = render.value(loaded.variants["new"].instrument.spec, names, "x")
        assert spec["replay"] == {
            "file": "/log", "format": None, "speed": 2.0, "expect_logged": False, "timed": by_clock,
        }  # fmt: skip
        assert spec["loop"] == {"kind": "closed"} and spec["expect"] == {"status": [200, 404]}


def test_a_duel_by_the_clock_judges_latency_and_a_saturated_one_throughput() -> None:
    saturated = servers.loaded(two())
    by_clock = servers.loaded(two(load={"rate": 5000.0}))
    cpu = ["ordinary_cpu_us_per_request", "cpu_us_per_request"]
    assert saturated.study.judged == [*cpu, "requests_per_second"]
    latency = ["latency_p50_us", "ordinary_latency_p99_us", "latency_p99_us"]
    assert by_clock.study.judged == [*cpu, *latency]
    for loaded, kind in ((saturated, "closed"), (by_clock, "open")):
        assert loaded.study.pairing == "slices" and loaded.study.baseline == "old"
        names = NAMES | planning.scenario_at(loaded, {}, {}).parameters
        spec = render.value(loaded.variants["new"].instrument.spec, names, "x")
        assert spec["loop"]["kind"] == kind
        assert spec["url"] == "http://127.0.0.1:8080/"


def test_nothing_is_judged_that_no_duel_of_these_servers_can_have() -> None:
    def judged(made: Servers) -> list[str]:
        found = servers.loaded(made).study
        assert found.awaited == [name for name in found.judged if "p99" not in name]
        return found.judged

    cpu = ["ordinary_cpu_us_per_request", "cpu_us_per_request"]
    slow = judged(two(load={"rate": 2000.0}))
    assert slow == [*cpu, "latency_p50_us", "latency_p99_us"], "four answers a turn of 2 ms"
    turns = {"length_ms": 10.0}
    assert "ordinary_latency_p99_us" in judged(two(load={"rate": 2000.0, "slices": turns}))
    own = two(load={"rate": 5000.0})
    process = Running(host="127.0.0.1", port=1, process="1 1")
    ready = own.model_copy(
        update={"servers": [each.model_copy(update={"running": process}) for each in own.servers]}
    )
    assert judged(ready) == [
        "cpu_us_per_request", "latency_p50_us", "ordinary_latency_p99_us", "latency_p99_us",
    ]  # fmt: skip


def test_the_expected_answer_is_the_servers_own() -> None:
    own = two()
    expected = Expected(status=201, body_sha256="ab", body_length=7)
    new = own.servers[1].model_copy(update={"expected": [expected]})
    loaded = servers.loaded(own.model_copy(update={"servers": [own.servers[0], new]}))
    assert loaded.variants["new"].instrument.spec["expect"] == {"status": [201], "body_length": 7}
    assert '"body_sha256": "ab"' in str(loaded.variants["new"].properties["expected"])


def written(folder: Path, text: str) -> Path:
    file = folder / "requests"
    file.write_text(text)
    return file


def test_a_file_of_requests_is_read_as_the_generator_reads_it(tmp_path: Path) -> None:
    text = (
        '\ufeff# two\n/a\r\n\n POST\t/b \n{"url": "/c", "weight": 2.5, "headers": {"x-a": "1"}, '
        '"body": {"file": "b"}}\n'
    )
    found = requests.read(written(tmp_path, text))
    assert [each.url for each in found] == ["/a", "/b", "/c"]
    assert (found[1].method, found[2].weight) == ("POST", 2.5)
    assert found[2].body == {"file": str(tmp_path / "b")}
    common = {"method": "PUT", "headers": {"X-A": "0", "X-B": "2"}, "body": {"file": "/all"}}
    asked = requests.asked(two(mix=found, request=common))
    assert [each.method for each in asked] == ["PUT", "POST", "PUT"]
    assert asked[2].headers == {"X-B": "2", "x-a": "1"} and asked[0].body == {"file": "/all"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('/a\n{"url": 1}', ":2: found 1, expected a path that begins with /"),
        ('{"url": "/", "wieght": 1}', ":1: unknown field 'wieght'; did you mean 'weight'?"),
        ('{"url": "/", "take": 1}', ":1: unknown field 'take'; remove it, or use one of: url, "),
        ('{"url": "/", "expect": 404}', ":1: unknown field 'expect'; remove it: a duel asks each"),
        ('{"method": "PUT"}', ":1: it has no 'url'; expected a path that begins with /"),
        ('{"url": "/", "url": "/b"}', ":1: found the field 'url' twice, expected it once"),
        ('{"url": "/", "method": "A B"}', ":1: method: found 'A B', expected a method without"),
        ('{"url": "/", "weight": 1e999}', ":1: weight: found inf, expected a number above 0"),
        ('{"url": "/", "headers": {"a": 5}}', ":1: headers: found 5, expected a table of texts"),
        ("http://elsewhere/", ":1: found 'http://elsewhere/', expected a path that begins with /"),
        ('{"url": "/", "body": {"size": 3, "file": "x"}}', ":1: body: found {'size': 3, "),
        ("\n\nGET /a HTTP/1.1", ":3: found 3 words, expected a path, or a method and a path"),
        ("# nothing\n", ": found 0 requests, expected 1 to 1000"),
        ("{", ":1: no JSON: Expecting property name"),
    ],
)
def test_a_line_that_is_no_request_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(TareError) as caught:
        requests.read(written(tmp_path, text))
    assert words in str(caught.value)


def test_bodies_are_texts_bytes_files_or_sizes() -> None:
    for body in (None, "{{é}}", {"base64": "AAE="}, {"file": "/{{b}}"}, {"size": 3}):
        own = servers.loaded(two(request={"body": body}))
        spec = render.value(own.variants["new"].instrument.spec, NAMES, "x")
        assert spec.get("body") == body


def test_a_mix_expects_of_each_request_what_it_was_answered() -> None:
    mix = [{"url": "/{{a}}", "weight": 3, "body": "x"}, {"url": "/b"}]
    own = two(mix=mix)
    expected = [Expected(status=200, body_length=1), Expected(status=404)]
    servers_ = [each.model_copy(update={"expected": expected}) for each in own.servers]
    loaded = servers.loaded(own.model_copy(update={"servers": servers_}))
    spec = render.value(loaded.variants["new"].instrument.spec, NAMES, "x")
    assert [each["url"] for each in spec["mix"]] == ["/{{a}}", "/b"]
    assert [each["expect"]["status"] for each in spec["mix"]] == [[200], [404]]
    assert spec["mix"][0]["weight"] == 3 and spec["mix"][0]["body"] == "x"
    assert spec["mix_order"] == "random"


def test_servers_run_where_tare_is_whatever_pwd_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, link = tmp_path / "here", tmp_path / "link"
    here.mkdir()
    link.symlink_to(here)
    monkeypatch.chdir(here)
    for named, expected in ((link, link), (tmp_path, here), ("gone", here), ("", here)):
        monkeypatch.setenv("PWD", str(named))
        assert servers.working_folder() == str(expected)
    monkeypatch.delenv("PWD")
    assert servers.working_folder() == str(here)


def test_a_run_of_servers_is_found_again_for_a_resume(tmp_path: Path) -> None:
    own = two(load={"rate": 500.0})
    loaded = servers.loaded(own)
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=[], blocks=None, seed=1, overrides={},
        until="resolved", within_s=30.0,
    )  # fmt: skip
    store = Store.create(tmp_path, plan)
    keep(store, own)
    stored: Plan = store.plan()
    assert stored.within_s == 30.0 and stored.variants == ["old", "new"]
    found = of(store, stored)
    assert found.variants == loaded.variants and found.study == loaded.study


def answer(status: int = 200, body: bytes = b"a\nb\n", **headers: str) -> Answer:
    named = tuple({"date": body.hex(), **headers}.items())
    return Answer("GET /", status, named, body, len(body), hashlib.sha256(body).hexdigest())


def test_equal_answers_do_not_differ_whatever_their_dates() -> None:
    assert list(differences(answer(), answer())) == []


def test_each_difference_has_the_word_that_allows_it() -> None:
    found = list(differences(answer(server="x"), answer(404, b"a\nc\n", vary="y")))
    assert [each.what for each in found] == ["status", "header:server", "header:vary", "body"]
    assert found[1].text == "header server: 'x' and none"
    assert found[3].text == "bodies of 4 and 4 bytes\n  -b\n  +c"


def test_bodies_that_are_no_text_are_shown_from_their_first_difference() -> None:
    (found,) = differences(answer(body=b"\xff"), answer(body=b"\xff\xfe"))
    assert found.text == "bodies of 1 and 2 bytes\n  from byte 1 on:\n  -nothing\n  +fe"


def test_a_difference_is_shown_wherever_it_is_in_a_line() -> None:
    def shown(one: bytes, other: bytes) -> list[str]:
        (found,) = differences(answer(body=one), answer(body=other))
        return found.text.split("\n  ")[1:]

    head = b"{" + b"x" * 500
    assert shown(head + b"1}", head + b"2}") == [f"-…{'x' * 30}1}}", f"+…{'x' * 30}2}}"]
    assert shown(b"a\r\nb", b"a\nb") == ["from byte 1 on:", "-0d 0a 62", "+0a 62"]
    assert shown(b"a\x1b[2J", b"b") == ["-a\ufffd[2J", "+b"]
    assert shown(b"", b"y" * 200) == ["+" + "y" * 119]


def test_a_body_that_changes_by_itself_is_not_expected() -> None:
    assert answer(body=b"1").expected(answer(body=b"2")) == Expected(status=200)
    assert answer(body=b"1").expected(answer(body=b"1")).body_length == 1


@pytest.mark.parametrize(
    ("scheme", "protocol", "url"),
    [
        ("http", "h1", "http://unix:/s/sut/a.sock:/x"),
        ("https", "h2", "https://unix:/s/sut/a.sock:/x"),
        ("tcp", "echo", "unix:/s/sut/a.sock"),
    ],
)
def test_a_socket_lies_in_the_server_s_folder(scheme: str, protocol: str, url: str) -> None:
    asked = {"scheme": scheme, "protocol": protocol, "path": "/x", "socket": "{folder}/a.sock"}
    made = servers.loaded(two(request=asked)).variants["old"]
    ready = made.roles["sut"].ready
    assert ready is not None and ready.tcp == ready.udp == []
    assert render.text(ready.unix[0], NAMES | {"folder": "/s/sut"}, "x") == "/s/sut/a.sock"
    assert render.text(made.instrument.spec["url"], NAMES | {"site": "/s"}, "x") == url
