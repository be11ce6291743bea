"""What goes wrong around a proxy is told in its own words, and answered instead of hung upon."""

import signal
import socket
import time

import pytest
from proxies import FEW, fronts, variants
from wire import get

from tare.lab.errors import ManifestError, RoleError
from tare.lab.project import render
from tare.lab.project.hooks import OracleError

pytestmark = pytest.mark.contract
# What some say of a configuration that is none; the others name its file.
BROKEN = {"nginx": 'unexpected "{"', "caddy": "config", "haproxy": "haproxy.cfg:"}
GARBAGE = "{{{ no configuration of anything"


@pytest.mark.parametrize("variant", fronts)
def test_a_broken_configuration_is_told_in_its_words_with_the_file(make, variant, monkeypatch):
    site = make(variant)
    configuration = next(iter(site.manifest.roles["proxy"].files))
    rendered = render.file

    def file(name, folders, names):
        own = names["folder"].endswith("proxy")
        return GARBAGE if own else rendered(name, folders, names)

    monkeypatch.setattr(render, "file", file)
    with pytest.raises(RoleError) as caught:
        site.start()
    told = str(caught.value)
    name = "caddy.json" if variant == "caddy" else configuration
    assert BROKEN.get(variant, name) in told and str(site.folder / "proxy" / name) in told
    assert f"proxies/{variant}" in told


@pytest.mark.parametrize("variant", variants)
def test_a_port_that_is_taken_is_told_in_its_words(make, variant):
    site = make(variant)
    with (
        socket.create_server((site.host, site.port["front"])),
        pytest.raises(RoleError) as caught,
    ):
        site.start()
        for _ in range(100):  # the port accepts before some of them notice that it is not theirs
            site.ensure_alive()
            time.sleep(0.05)
    assert "ddress already in use" in str(caught.value)


def test_a_template_that_cannot_be_rendered_names_its_line(make):
    site = make("nginx")
    site.parameters["bytes"] = "many"
    with pytest.raises(ManifestError, match=r"body.json.j2 line \d+: "):
        site.start()


def test_a_binary_that_is_missing_is_named(make, monkeypatch):
    site = make("haproxy")
    argv = ["/nowhere/haproxy", *site.manifest.roles["proxy"].argv[1:]]
    role = site.manifest.roles["proxy"].model_copy(update={"argv": argv})
    monkeypatch.setitem(site.manifest.roles, "proxy", role)
    with pytest.raises(RoleError, match="cannot start /nowhere/haproxy: "):
        site.start()


@pytest.mark.parametrize("variant", fronts)
@pytest.mark.parametrize("profile", ["tuned", "as-shipped"])
def test_without_a_backend_the_answer_is_5xx_and_comes_back_with_it(start, variant, profile):
    site = start(variant, FEW, profile=profile)
    site.run_oracle()
    backend = site.processes["backend"]
    backend.child.send_signal(signal.SIGTERM)
    backend.child.wait()
    assert get(site.port["front"])[0] in (502, 503, 504)
    site.processes.pop("backend").kill()
    names = site.names("backend")
    nginx = [names["component"]["nginx"] + "/sbin/nginx", "-p", names["folder"], "-c", "nginx.conf"]
    site.launch("backend", nginx, "backend", {})
    give_up = time.monotonic() + 15
    while get(site.port["front"])[0] != 200:
        assert time.monotonic() < give_up, "the proxy does not find its backend again"
        time.sleep(0.05)


def test_the_oracle_sees_a_backend_that_answers_something_else(start):
    site = start("nginx", FEW)
    body = site.folder / "backend" / "body.json"
    site.run_oracle()
    _changed(body).replace(body)
    site.processes["backend"].child.send_signal(signal.SIGHUP)  # its open files are cached
    time.sleep(0.3)
    with pytest.raises(OracleError, match=r"body\.json: found 20461 bytes, expected 20460"):
        site.run_oracle()


def _changed(body):
    other = body.with_name("other.json")
    other.write_bytes(body.read_bytes() + b" ")
    return other
