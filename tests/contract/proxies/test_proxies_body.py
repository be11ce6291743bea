"""The bodies are what the manifest says of them, and a proxy carries each of them."""

import hashlib
import json

import pytest
from proxies import FEW, fronts, loaded

from tare.lab.project import render

pytestmark = pytest.mark.contract
LEVELS = loaded.study.factors["body"].levels


@pytest.mark.parametrize("level", LEVELS)
def test_size_and_hash(level):
    size, known = LEVELS[level]["bytes"], LEVELS[level]["sha256"]
    body = render.file("body.json.j2", [loaded.folder], {"bytes": size}).encode()
    assert len(body) == size and hashlib.sha256(body).hexdigest() == known
    assert not body or json.loads(body)


@pytest.mark.parametrize("variant", fronts)
def test_posts_of_large_bodies_over_new_connections(start, variant):
    levels = {"method": "post", "body": "1m", "protocol": "https", "connection": "new"}
    start(variant, {"connections": 2}, **levels).run_oracle()


@pytest.mark.parametrize("variant", fronts)
def test_nothing_to_answer_and_many_clients(start, variant):
    start(variant, body="0b", connections="100").run_oracle()


def test_what_nginx_puts_on_disk_as_shipped_it_can_write_there(start):
    """Bodies that its buffers do not hold, in both directions."""
    start("nginx", FEW, method="post", body="1m", profile="as-shipped").run_oracle()
