"""What the proxies' own files say: what their manifests tell of them, and how each is reloaded."""

import re
import subprocess
from pathlib import Path

import pytest
from proxies import loaded

from tare.lab.project import render
from tare.lab.project.hooks import OracleError

pytestmark = pytest.mark.contract


def rendered(site, template, **names):
    folders = [loaded.variant_folder(site.variant), loaded.folder]
    return render.file(template, folders, site.names("proxy") | names)


@pytest.mark.parametrize(("clients", "threads"), [(50, 64), (51, 256), (200, 256), (201, 2048)])
def test_apache_has_as_many_threads_as_its_manifest_says(make, clients, threads):
    configuration = rendered(make("apache", {"connections": clients}), "tuned.conf.j2")
    assert f"\nThreadsPerChild {threads}\n" in configuration
    told = loaded.variants["apache"].differences["profile"]["processes and threads"]["tuned"]
    assert str(threads) in re.findall(r"\d+", told)


@pytest.mark.parametrize("profile", ["tuned", "as-shipped"])
@pytest.mark.parametrize("part", [{}, {"caddyfile": "/elsewhere/Caddyfile"}])
def test_caddy_reloads_the_file_that_it_was_started_with(make, profile, part):
    site = make("caddy", profile=profile)
    names = site.names("proxy") | {"part": part}
    argv = [render.text(each, names, "argv") for each in site.manifest.roles["proxy"].argv]
    configuration = argv[argv.index("--config") + 1]
    assert configuration in rendered(site, "reload.j2", part=part).split()


@pytest.mark.parametrize(
    ("variant", "template", "file", "kept", "lost"),
    [
        ("traefik", "traefik-reload.j2", "dynamic.yml", "rule: PathPrefix(`/`)", "rule: Path(`/`)"),
        ("envoy", "reload.j2", "envoy.yaml", "path: /x/listeners.yaml", "static_resources: {}"),
    ],
)
def test_a_reload_that_changes_nothing_is_none(
    make, tmp_path: Path, variant, template, file, kept, lost
):
    script = rendered(make(variant), template, folder=str(tmp_path))
    (tmp_path / "listeners.yaml").write_text("stat_prefix: front\n")
    for text, code in ((kept, 0), (lost, 1)):
        (tmp_path / file).write_text(text)
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, "reload: " in done.stderr) == (code, bool(code)), done.stderr


def test_a_body_whose_digest_is_another_counts_no_answer_as_wrong(start):
    site = start("direct", {"connections": 2, "bytes": 30_000}, study="faults")
    with pytest.raises(OracleError, match="choose a level of body, or add -p sha256="):
        site.run_oracle()
