"""The oracle of a user's own server: it answers as it did when it was first asked."""

import json

from tare.lab.project.hooks import AskedView, OracleError
from tare.lab.project.servers.answer import ask
from tare.model.servers import Expected


def oracle(site: AskedView) -> None:
    """Hold each answer against the one that is expected; without one, any will do."""
    expected = map(Expected.model_validate, json.loads(site.properties["expected"]))
    for found, wanted in zip(ask(site).each, expected, strict=False):
        where = f"{found.request}: "
        if found.status != wanted.status:
            raise OracleError(f"{where}found status {found.status}, expected {wanted.status}")
        if wanted.body_sha256 and found.sha256 != wanted.body_sha256:
            raise OracleError(
                f"{where}found another body ({found.length} bytes) than when it was first asked"
            )
