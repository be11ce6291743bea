"""A user's own configuration, and a user's own variant, on the command line."""

import json
from pathlib import Path

import pytest
from commandline import call, measured, tare
from proxies import loaded

pytestmark = [pytest.mark.contract, pytest.mark.timeout(900)]
TUNED = (loaded.variant_folder("nginx") / "tuned.conf.j2").read_text()
UNBUFFERED = TUNED.replace("proxy_max_temp_file_size 0;", "proxy_buffering off;")
SHORT = ("--scenarios", "protocol=http", "--blocks", "1", "--duration", "0.3")


def test_a_configuration_is_measured_in_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "my.conf").write_text(UNBUFFERED)
    plan, results = measured(tmp_path, "proxies", "--conf", "my.conf", *SHORT)
    assert plan["variants"] == ["direct", "nginx"]
    assert plan["parts"]["conf"]["file"] == str(tmp_path / "my.conf")
    assert results["scenarios"][0]["levels"]["conf"] == "my.conf"
    assert results["environment"]["differences"] == {}, "what ours differ in is not said of others"
    (run,) = (tmp_path / "runs").iterdir()
    rendered = json.loads((run / "environment.json").read_text())["files"]
    used = [each["proxy/nginx.conf"] for key, each in rendered.items() if key.startswith("nginx ")]
    assert used and all("proxy_buffering off;" in each for each in used)


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        (TUNED.replace("proxy_http_version", "proxy_htp_version"), 'unknown directive "proxy_htp'),
        (TUNED.replace("X-Forwarded-For", "X-Other"), "X-Forwarded-For: found '', expected"),
        (TUNED.replace('Connection "";', "Connection close;"), "it does not keep them"),
        ("events {}\nhttp { server { listen 80; } }\n", "it does not use {{ port.front }}; begin"),
        (TUNED.replace("{% with", "{% wit"), "is no template: Encountered unknown tag 'wit'"),
        (TUNED.replace("port.front %}", "port.frnt %} {# port.front #}"), "frnt"),
    ],
)
def test_a_configuration_that_will_not_do_ends_in_a_sentence(
    tmp_path: Path, conf: str, words: str
) -> None:
    (tmp_path / "my.conf").write_text(conf)
    told = tare(tmp_path, "run", "proxies", "--conf", "my.conf", *SHORT, code=1)
    assert words in told and "my.conf" in told
    assert not (tmp_path / "runs").exists(), "nothing was planned or timed"


@pytest.mark.parametrize(
    ("variant", "part", "template"),
    [
        ("apache", "apache-conf", "tuned.conf.j2"),
        ("caddy", "caddyfile", "as-shipped.j2"),
        ("h2o", "h2o-conf", "tuned.conf.j2"),
        ("haproxy", "haproxy-cfg", "tuned.cfg.j2"),
        ("envoy", "envoy-conf", "tuned.yaml.j2"),
        ("traefik", "traefik-conf", "../../traefik-tuned.yml.j2"),
        ("traefik-fast", "traefik-dynamic", "../../traefik-tuned-dynamic.yml.j2"),
    ],
)
def test_each_proxy_takes_a_copy_of_its_template(
    tmp_path: Path, variant: str, part: str, template: str
) -> None:
    text = (loaded.variant_folder(variant) / template).read_text()
    seen = " {\n header_up X-Seen-Protocol {http.request.proto}\n}\n}"
    (tmp_path / "my.conf").write_text(
        text.replace("port.backend }}\n}", f"port.backend }}}}{seen}")
    )
    target = f"proxies/{variant}"
    for protocol in ("http", "https"):
        own = (f"--{part}", "my.conf", "--protocol", protocol)
        assert tare(tmp_path, "check", target, *own).split()[:2] == [target, "ok"]


def test_a_variant_of_your_own_is_compared_with_its_source(tmp_path: Path) -> None:
    own = ("--variants-dir", "own")
    told = tare(tmp_path, "new", "proxies/mine", "--from", "nginx", "--into", "own")
    assert "tuned.conf.j2" in told and f"--variants-dir {tmp_path / 'own'}" in told
    # As it was copied it is measured as its source is: nothing else need be edited.
    assert "proxies/mine                 ok" in tare(tmp_path, "check", "proxies/mine", *own)
    (tmp_path / "own" / "proxies" / "mine" / "tuned.conf.j2").write_text(UNBUFFERED)
    chosen = ("--variants", "nginx,mine", "--baseline", "nginx")
    plan, _ = measured(tmp_path, "proxies", *chosen, *own, *SHORT)
    assert plan["baseline"] == "nginx" and plan["variants"] == ["nginx", "mine"]
    assert plan["variants_dir"] == str(tmp_path / "own")
    assert "variants: direct, apache, caddy, envoy, h2o, haproxy, mine" in tare(
        tmp_path, "list", *own
    )
    assert tare(tmp_path, "show", "proxies/mine", *own).startswith("proxies/mine: nginx (mine)")
    try:
        assert "proxies/mine is up" in tare(tmp_path, "up", "proxies/mine", *own)
        assert "proxies/mine is up" in tare(tmp_path, "restart")
        assert "connections" in tare(tmp_path, "stats", "--interval", "0.2")
    finally:
        assert "proxies/mine is down" in tare(tmp_path, "down")
    # The run knows the folder: it can be shown and resumed without the option. Its exit code says
    # whether all trials count, which they need not on a busy machine.
    told = call(tmp_path, "resume", "last", TARE_CACHE=str(tmp_path / "cache")).stderr
    assert "is finished: nothing is left to measure" in told


def test_a_wrong_folder_or_name_ends_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "own" / "proxis" / "mine").mkdir(parents=True)
    own = ("run", "proxies", "--variants-dir", "own")
    assert "own holds no variant: expected EXPERIMENT/VARIANT" in tare(tmp_path, *own, code=2)
    manifest = tmp_path / "own" / "proxis" / "mine" / "variant.toml"
    manifest.write_text("schema = 1\n")
    assert "own/proxis: expected the name of an experiment" in tare(tmp_path, *own, code=2)
    manifest.parent.parent.rename(tmp_path / "own" / "proxies")
    manifest = tmp_path / "own" / "proxies" / "mine" / "variant.toml"
    told = tare(tmp_path, *own, code=1)
    assert f"{manifest}: title: missing" in told
    assert "there is no variant of proxies 'mine'" in tare(
        tmp_path, "check", "proxies/mine", code=2
    )
    for arguments, words in (
        (("proxies/new", "--from", "nginy"), "did you mean 'nginx'"),
        (("proxies/nginx", "--from", "caddy"), "proxies has a variant 'nginx'"),
        (("filters/new", "--from", "ebpf"), "a member of the project's Cargo workspace"),
        (("proxies", "--from", "nginx"), "expected EXPERIMENT/NAME"),
    ):
        code = 1 if "Cargo" in words else 2
        assert words in tare(tmp_path, "new", *arguments, "--into", "other", code=code)
    assert "there is no variant of proxies 'mine'" in tare(
        tmp_path, "run", "proxies", "--baseline", "mine", code=2
    )
