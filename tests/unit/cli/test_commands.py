import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tare.cli import main as cli
from tare.lab.errors import Interrupted, TareError
from tare.lab.project import catalog, index

SWAPPINESS = Path("/proc/sys/vm/swappiness")


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("TARE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TARE_STATE", str(tmp_path / "state"))
    yield


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(cli.tare, arguments)


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    """The exit code of the whole program."""
    monkeypatch.setattr("sys.argv", ["tare", *arguments])
    try:
        cli.main()
    except SystemExit as end:
        return end.code
    return 0


def test_every_command_explains_itself() -> None:
    for name in cli.tare.list_commands(click.Context(cli.tare)):
        if name != "load":  # its help is the load generator's
            found = ask(name, "--help")
            assert found.exit_code == 0 and found.output.startswith("Usage: "), name


def test_help_cuts_no_line() -> None:
    told = ask("--help").output.split("Commands:")[1]
    assert "..." not in told and "…" not in told
    for name in cli.tare.list_commands(click.Context(cli.tare)):
        command = cli.tare.get_command(click.Context(cli.tare), name)
        assert command is not None
        short = command.get_short_help_str(limit=10_000)
        assert short and short in " ".join(told.split()), name


def test_list_names_every_experiment() -> None:
    known = json.loads(ask("list", "--json").output)
    names = [item["name"] for item in known]
    assert "filters" in names
    plain = ask("list").output
    for item in known:
        assert item["name"] in plain and item["question"] in plain
        assert item["variants"][0] == item["baseline"]


def test_show_shows_an_experiment_and_a_variant() -> None:
    experiment = json.loads(ask("show", "filters", "--json").output)
    assert experiment["baseline"] == "none"
    told = ask("show", "filters").output
    assert " *price" in told and " steady" in told and "c-module" in told
    assert "parameters (set with" in ask("show", "filters/price").output
    assert json.loads(ask("show", "filters/price", "--json").output)["analysis"]["kind"] == "slope"
    assert json.loads(ask("show", "filters/none", "--json").output)["title"]
    assert ask("show", "filters/none").output.startswith("filters/none: ")
    told = ask("show", "proxies/nginx").output
    assert "what differs by profile\n  workers\n    tuned        one for each CPU" in told


@pytest.mark.parametrize("experiment", index.experiment_names())
def test_each_variant_is_shown(experiment: str) -> None:
    for variant in catalog.load(experiment).variants:
        found = ask("show", f"{experiment}/{variant}")
        assert found.exit_code == 0, (variant, found.exception)
        assert found.output.startswith(f"{experiment}/{variant}: ")


def test_a_requirement_of_root_is_shown() -> None:
    assert "requires    root\n" in ask("show", "sandbox/runc").output


def test_doctor_says_what_the_machine_is() -> None:
    facts = json.loads(ask("doctor", "--json").output)
    assert facts["cpu_count"] >= 1 and facts["control_groups"] in ("v1", "v2", "none")
    assert {"name", "value", "wanted", "status", "why"} == set(facts["audit"][0])
    plain = ask("doctor").output
    # Loads and shares change between two readings; settings do not.
    settings = [each["value"] for each in facts["audit"] if not re.search(r"\d", each["value"])]
    assert settings
    for value in settings:
        assert value.split(" ")[0][:12] in plain, "brackets in a value are no markup"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("last",), "either --format, for a run, or --image"),
        (("last", "--format", "csv", "--image", "root"), "either --format, for a run, or --image"),
        (("sandbox", "--image", "rot"), "no image of sandbox 'rot'; did you mean 'root'?"),
        (("sandbx", "--image", "root"), "no experiment 'sandbx'; did you mean 'sandbox'?"),
    ],
)
def test_export_refuses_what_it_cannot_know(arguments: tuple[str, ...], told: str) -> None:
    found = ask("export", *arguments)
    assert found.exit_code != 0
    assert told in found.output + str(found.exception)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--apply",), "go with --tune"),
        (("--only", "swappiness"), "go with --tune"),
        (("--revert", "--tune"), "takes no other option"),
        (("--tune", "--only", "x"), "--only: found 'x', expected one of: cpu governor, "),
    ],
)
def test_what_doctor_cannot_mean_is_refused(arguments: tuple[str, ...], told: str) -> None:
    found = ask("doctor", *arguments)
    assert found.exit_code == 2 and told in found.output


def test_doctor_changes_nothing_unless_told_to(tmp_path: Path) -> None:
    before = SWAPPINESS.read_text()
    plain = ask("doctor", "--tune").output
    found = json.loads(ask("doctor", "--tune", "--json").output)
    assert all(f"{each['setting']}: {each['file']}" in plain for each in found)
    assert SWAPPINESS.read_text() == before and not (tmp_path / "state").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel's settings are root's")
def test_doctor_changes_a_setting_and_restores_it() -> None:
    kept = SWAPPINESS.read_text()
    try:
        SWAPPINESS.write_text("61")
        changed = ask("doctor", "--tune", "--apply", "--only", "swappiness")
        assert changed.exit_code == 0, changed.output
        assert SWAPPINESS.read_text() == "10\n"
        assert ask("doctor", "--revert").exit_code == 0
        assert SWAPPINESS.read_text() == "61\n"
    finally:
        SWAPPINESS.write_text(kept)


def test_doctor_says_that_there_is_nothing_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("tare.lab.machine.tuning.plan", lambda _: [])
    for _ in range(2):
        found = ask("doctor", "--tune", "--apply")
        assert (found.exit_code, found.output) == (0, "tare: nothing to change\n")
    assert "changed no setting" in str(ask("doctor", "--revert").exception)


def test_nothing_up_is_said() -> None:
    assert ask("status").output == "nothing is up\n"
    assert json.loads(ask("status", "--json").output) == []
    assert ask("down").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["show"],
        ["list", "--nonsense"],
        ["run", "filters", "--blocks", "0"],
        ["run", "filters", "--duration", "0"],
        ["run", "filters", "--connections", "-1"],
        ["run", "filters", "-p", "novalue"],
        ["stats", "--interval", "0"],
        ["watch", "--count", "0"],
        ["up", "filters"],
        ["show", "filtres"],
        ["show", "filters/nil"],
        ["check", "filters/nil"],
        ["run", "nonsense"],
        ["run", "filters", "--variants", "none,nil"],
        ["run", "filters", "--scenarios", "loop=nil"],
        ["run", "filters", "-p", "nil=1"],
        ["run", "filters", "-p", "connections=many"],
        ["resume", "nonsense"],
        ["report", "nonsense"],
        ["report"],
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: list[str],
) -> None:
    assert run_main(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert printed.err and not printed.out
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("arguments", [["stats"], ["logs"], ["restart"], ["down", "filters/none"]])
def test_what_is_not_up_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run_main(monkeypatch, *arguments) == 1
    assert "up" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (TareError("a reason"), 1),
        (OSError(28, "No space left on device", "/x"), 1),
        (Interrupted("stopped by SIGTERM"), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_failures_are_sentences_and_exit_codes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    raised: BaseException,
    code: int,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise raised

    monkeypatch.setattr("tare.lab.project.index.entries", fail)
    assert run_main(monkeypatch, "list") == code
    text = capsys.readouterr().err
    assert "Traceback" not in text
    if not isinstance(raised, KeyboardInterrupt):
        said = "/x: No space left on device" if isinstance(raised, OSError) else raised
        assert text == f"tare: {said}\n"


def test_a_folder_that_is_no_run_is_told_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for command in ("report", "resume"):
        assert run_main(monkeypatch, command, str(tmp_path)) == 1
        assert "run" in capsys.readouterr().err


def test_a_parameter_is_an_option_behind_its_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []
    monkeypatch.setattr("tare.cli.running.go_on", lambda store, **_: plans.append(store.plan()))
    ask("run", "echo", "--connections", "20", "--rounds", "200000", "--size=128")
    assert plans[0].overrides == {"connections": 20, "rounds": 200000, "size": 128}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["echo", "--roundz", "3"], "no parameter 'roundz'"),
        (["echo", "rounds", "3"], "found 'rounds', expected --PARAMETER VALUE"),
        (["echo", "--rounds"], "--rounds: expected a value after it"),
        (["--rounds", "3", "echo"], "No such option"),
    ],
)
def test_words_that_are_no_parameter_are_refused(words: list[str], why: str) -> None:
    found = ask("run", *words)
    assert found.exit_code != 0
    assert why in found.output + str(found.exception)


def test_a_package_that_an_installed_tare_lacks_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(**_: object) -> None:
        raise ModuleNotFoundError("No module named 'distributed'", name="distributed.scheduler")

    monkeypatch.setattr(cli, "tare", lacking)
    assert run_main(monkeypatch, "hosts") == 1
    assert capsys.readouterr().err == (
        "tare: distributed.scheduler is not installed; install tare with it, in a clone: "
        "uv tool install '.[benches]'\n"
    )


def each_command(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for each in group.list_commands(context):
        command = group.get_command(context, each)
        assert command is not None
        yield f"{name} {each}", command
        if isinstance(command, click.Group):
            yield from each_command(command, f"{name} {each}")


COMMANDS = dict(each_command(cli.tare, "tare"))


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_explained_and_no_sentence_is_cut(name: str) -> None:
    command = COMMANDS[name]
    silent = [
        each.name
        for each in command.params
        if isinstance(each, click.Option) and not (each.help or "").endswith(".")
    ]
    assert silent == []
    if isinstance(command, click.Group):
        told = ask(*name.split()[1:], "--help").output.split("Commands:")[1]
        assert "..." not in told and "…" not in told


def test_help_promises_only_what_a_command_takes() -> None:
    assert "URL..." in ask("duel", "--help").output.splitlines()[0]
    assert "URL..." not in ask("gate", "--help").output.splitlines()[0]
    assert "by default 40 %" not in ask("tail", "--help").output


def test_a_gate_refuses_urls_whether_or_not_they_are_served() -> None:
    done = ask("gate", "http://127.0.0.1:1/", "http://127.0.0.1:2/")
    assert done.exit_code == 2 and "found URLs, expected commands" in done.output
