"""The oracle of a user's own server: it answers as it did when it was first asked."""

from tare.lab.project.hooks import OracleError, SiteView
from tare.lab.project.servers.answer import ask


def oracle(site: SiteView) -> None:
    """Hold an answer against the one that is expected; without one, any will do."""
    found, wanted = ask(site), site.properties
    if wanted["status"] and found.status != wanted["status"]:
        raise OracleError(f"found status {found.status}, expected {wanted['status']}")
    if wanted["body_sha256"] and found.sha256 != wanted["body_sha256"]:
        raise OracleError(
            f"found another body ({len(found.body)} bytes) than when it was first asked"
        )
