"""A user's own proxies on one host, with the load and their origins on others."""

import json
from pathlib import Path

import pytest
from commandline import call
from commands import GOOD, nginx_conf, tare
from namespaces import Spread

from tare.lab.project import build
from tare.model.trial import parse_trials

pytestmark = [pytest.mark.contract, pytest.mark.alone, pytest.mark.timeout(900)]
SHORT = ("--duels", "1", "--duration", "0.3", "--rate", "100", "-c", "2")
CONFIG = nginx_conf("listen {host}:{port}; location / { proxy_pass http://{backend}; }")


@pytest.fixture
def spread(tmp_path: Path) -> Spread:
    return Spread.made(tmp_path)


@pytest.mark.together
def test_own_proxies_are_compared_between_hosts(tmp_path: Path, spread: Spread) -> None:
    program = build.component("nginx", print) / "sbin" / "nginx"
    (tmp_path / "own.conf").write_text(CONFIG)
    own = f"{program} -p {{folder}} -e stderr -c {{file:own.conf}}"
    done = call(tmp_path, "duel", own, own, "--backend", *SHORT, "--hosts", str(spread.file))
    (plan,) = (tmp_path / "runs").glob("*/plan.json")
    trials, _ = parse_trials((plan.parent / "trials.jsonl").read_bytes())
    assert len(trials) >= 2, done.stdout + done.stderr
    for trial in trials:
        # A gate may refuse what was measured on a busy machine.
        assert trial.status in ("valid", "invalid"), trial.reason
        assert set(trial.roles) == {"sut", "backend"}
        assert trial.instrument["total"]["requests"] > 0
    hosts = json.loads((plan.parent / "environment.json").read_text())["hosts"]
    assert {name: host["roles"] for name, host in hosts.items()} == {
        "load": ["load"],
        "server": ["sut"],
        "backend": ["backend"],
    }
    assert spread.left() == []


@pytest.mark.together
@pytest.mark.parametrize(
    "option",
    [
        ("--why",),
        ("--tail",),
        ("--replay", "log"),
        ("--against", "HEAD"),
        ("--requests", "log"),
        ("--url", "unix:{folder}/sock"),
    ],
)
def test_what_only_this_machine_has_is_refused(
    tmp_path: Path, spread: Spread, option: tuple[str, ...]
) -> None:
    (tmp_path / "log").write_text("/\n")
    build = ("--build", "true") if option[0] == "--against" else ()
    done = tare(tmp_path, "duel", GOOD, GOOD, *option, *build, "--hosts", str(spread.file))
    assert done.returncode == 2, done.stderr
    what = (
        "a Unix socket is of one machine" if option[0] == "--url" else "it is of this machine alone"
    )
    assert f"{option[0]}: {what}" in done.stderr
