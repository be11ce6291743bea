"""Answers of a user's own servers that are errors: they are measured all the same, and said."""

from collections.abc import Iterator

from tare.model.servers import Servers
from tare.report.numbers import listed

_FIRST_ERROR = 400
_GRPC_CODES = range(1, 17)
"""Of failed calls; a call without a failure counts as 200."""


def remarks(servers: Servers) -> Iterator[str]:
    """Yield a sentence for each error that servers, whose answers are known, give."""
    names: dict[str, list[str]] = {}
    for server in servers.servers:
        found = [each.status for each in server.expected]
        errors = sorted(each for each in found if _is_error(each))
        if not errors:
            continue
        codes = listed([str(each) for each in dict.fromkeys(errors)])
        if len(found) == 1 and servers.replay is None and not servers.mix:
            request = servers.request
            is_call = request.protocol == "grpc"
            words = f"gRPC code {codes} to" if is_call else f"{codes} to {request.method}"
            words += f" {request.path}"
        else:
            words = f"{len(errors)} of {len(found)} requests with {codes}"
        names.setdefault(words, []).append(server.name)
    for words, own in names.items():
        verb = "answers" if len(own) == 1 else "answer"
        yield f"{listed(own)} {verb} {words}; if that is not meant, change the request"


def _is_error(status: int) -> bool:
    return status >= _FIRST_ERROR or status in _GRPC_CODES
