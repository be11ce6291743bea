"""rust-module's Cargo workspace is its own, so that the project's lint does not see it."""

import os
import subprocess

import pytest
from harness import loaded

from tare.lab.paths import ROOT
from tare.lab.project import build

pytestmark = pytest.mark.contract
MANIFEST = loaded.variant_folder("rust-module") / "module/Cargo.toml"


@pytest.mark.parametrize(
    "arguments",
    [
        ["fmt", "--check"],
        ["clippy", "--release", "--locked", "--target-dir", "{target}", "--", "-D", "warnings"],
    ],
    ids=["fmt", "clippy"],
)
def test_it_holds_what_the_project_holds(arguments):
    nginx = build.component("nginx", print)
    # Where its build script builds it, so that what it depends on is compiled once.
    target = str(ROOT / "target/rust-module")
    command, *rest = (argument.replace("{target}", target) for argument in arguments)
    done = subprocess.run(
        ["cargo", command, "--manifest-path", MANIFEST, *rest],
        env=os.environ
        | {"NGINX_SOURCE_DIR": str(nginx / "src"), "NGINX_BUILD_DIR": str(nginx / "src/objs")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
