"""The checks of every proxy before it is measured, and of its work against the backend's counters.

The client is the load generator itself, so the checked requests are like the measured ones. The
backend's log of a probe shows what the proxy passed on; where it cannot, the proxy's own log does.
"""

import hashlib
import http.client
import json
import socket
import subprocess
import time
from collections.abc import Mapping

from tare.lab.project.hooks import Answered, OracleError, SiteView
from tare.model.instrument import Result

TLS = {
    "1.3": {"version": "1.3", "cipher": "TLS_AES_128_GCM_SHA256", "group": "X25519"},
    # A certificate on P-256 is for clients that name that group.
    "1.2": {
        "version": "1.2",
        "cipher": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "group": "secp256r1",
    },
}
ALPN = {"https": "http/1.1", "h2": "h2"}
VERSIONS = {"http": "HTTP/1.1", "https": "HTTP/1.1", "h2": "HTTP/2.0", "h3": "HTTP/3.0"}
_ROUNDS = 10
"""Requests of the oracle for each connection."""
_POOL_MAX = 3
"""Backend connections that a proxy may open for each of its clients', and still be said to keep
them."""
_START_S = 15.0
_PATIENCE_S = 2.0


def oracle(site: SiteView) -> None:
    """The body byte for byte, in the scenario's protocol as the proxy itself saw it, encrypted as
    all others, with what it must tell the backend, over connections that it keeps.
    """
    _await_routes(site)
    _handles_bodies(site)
    if site.parameters["fault"] == "none":
        _keeps_connections(site)
    _check_probe(site)


def counters(site: SiteView) -> dict[str, int]:
    """Return the backend's counters so far, this request included."""
    connection = http.client.HTTPConnection(site.address["status"], site.port["status"], timeout=5)
    connection.request("GET", "/")
    words = connection.getresponse().read().split()
    connection.close()
    return {"connections": int(words[7]), "requests": int(words[9])}


def audit(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """The backend had each request that the instrument had an answer to, and no others; over
    connections that were kept.
    """
    if site.parameters["fault"] != "none":
        _happened(site, answered.result.window_s)
        return
    served = after["requests"] - before["requests"] - 1  # the question after the run
    told, windows = answered.total.requests, len(answered.windows)
    # Cut off when a window ended, or given up on.
    cut = int(site.parameters["connections"]) * windows + answered.total.failed
    if not told <= served <= told + cut:
        raise OracleError(
            f"the backend had {served} requests, the instrument {told} answers; "
            f"expected at most {cut} requests more than answers"
        )
    _kept(site, after["connections"] - before["connections"] - 1, served, windows)
    _encrypted(site, answered.result)


def _happened(site: SiteView, window_s: float) -> None:
    """A fault that came late, or not at all, would look like one that harms nobody.

    The window is reckoned from the start of the instrument: `measuring` tells when the laboratory
    had noticed, which may be long after on a busy machine.
    """
    over, fault = site.folder / "fault-over", site.parameters["fault"]
    if not over.exists():
        raise OracleError(f"{fault} is not over: see what backend.log says")
    opened = (site.folder / "spec.json").stat().st_mtime + float(site.parameters["warmup_s"])
    took = over.stat().st_mtime - opened
    if took > window_s:
        raise OracleError(
            f"{fault} was over {took:.1f} s into the window, expected at most {window_s:.1f} s"
        )


def _await_routes(site: SiteView) -> None:
    """Some proxies open their port before they know what to do with a request."""
    give_up = time.monotonic() + _START_S
    while True:
        try:
            _request(site, "/probe", b"ok", rounds=1, connections=1)
            return
        except OracleError:
            if time.monotonic() > give_up:
                raise
        time.sleep(0.02)


def _handles_bodies(site: SiteView) -> None:
    body = (site.folder / "backend" / "body.json").read_bytes()
    if len(body) != site.parameters["bytes"]:
        raise OracleError(
            f"body.json: found {len(body)} bytes, expected {site.parameters['bytes']}"
        )
    digest = _sha256(body)
    if site.parameters["fault"] != "none" and digest != site.parameters["sha256"]:
        raise OracleError(
            f"body.json has the digest {digest}, expected the parameter sha256, without which each "
            f"answer would count as wrong: choose a level of body, or add -p sha256={digest}"
        )
    result = _request(site, "/body.json", body, rounds=_ROUNDS)
    _encrypted(site, result)


def _keeps_connections(site: SiteView) -> None:
    body = (site.folder / "backend" / "body.json").read_bytes()
    before = counters(site)
    result = _request(site, "/body.json", body, rounds=_ROUNDS)
    after = counters(site)
    _kept(site, after["connections"] - before["connections"] - 1, result.total.requests)


def _check_probe(site: SiteView) -> None:
    known = len(_lines(site, "backend", "probe.log"))
    _request(site, "/probe", b"ok", rounds=1, connections=1)
    probe = json.loads(_awaited(site, "backend", "probe.log", known))
    found = {"method": probe["method"], "body": _sha256(probe["body"].encode())}
    sent = (site.folder / "backend" / "upload.json").read_bytes()
    expected = {
        "method": site.parameters["method"],
        "body": _sha256(sent if site.parameters["method"] == "POST" else b""),
    }
    wanted = VERSIONS[site.parameters["protocol"]]
    if not site.properties["proxy"]:
        found["protocol"], expected["protocol"] = probe["protocol"], wanted
    elif site.parameters["profile"] == "tuned":
        found["protocol the proxy saw"] = _seen(site, probe)
        found["X-Forwarded-For"] = probe["for"]
        found["X-Forwarded-Proto"] = probe["proto"]
        found["protocol to the backend"] = probe["protocol"]
        expected["protocol the proxy saw"] = wanted
        expected["X-Forwarded-For"] = _own_address(site)
        expected["X-Forwarded-Proto"] = _scheme(site)
        expected["protocol to the backend"] = "HTTP/1.1"
    for what, value in expected.items():
        if found[what] != value:
            raise OracleError(f"probe: {what}: found {found[what]!r}, expected {value!r}")


def _seen(site: SiteView, probe: Mapping[str, str]) -> str:
    """Return the HTTP version of the request to the proxy, from its header or its log."""
    if site.properties["names_protocol"]:
        seen = probe["seen"]
    else:
        first = _awaited(site, "proxy", "access.log", 0)
        seen = str(json.loads(first)["RequestProtocol"])
    return seen + ".0" if seen in ("HTTP/2", "HTTP/3") else seen


def _request(
    site: SiteView, path: str, body: bytes, *, rounds: int, connections: int = 0
) -> Result:
    """Request `path` on each connection `rounds` times and return the instrument's result.

    Raises OracleError for any answer other than `body`.
    """
    known = site.parameters
    connections = connections or int(known["connections"])
    wanted = connections * rounds
    secure = known["protocol"] != "http"
    spec = {
        "protocol": "h1" if known["protocol"] in ("http", "https") else known["protocol"],
        "url": f"{_scheme(site)}://{site.address['front']}:{site.port['front']}{path}",
        "method": known["method"],
        "requests_per_connection": 1 if known["connection"] == "new" else None,
        "body": {"file": str(site.folder / "backend" / "upload.json")}
        if known["method"] == "POST"
        else None,
        "tls": TLS[known["tls_version"]] if secure and known["profile"] == "tuned" else {},
        "connections": connections,
        "warmup_s": 0,
        "duration_s": 20,
        "timeout_s": 20,  # what is right is asked here, not what is quick
        "requests": wanted,
        "expect": {"status": [200], "body_length": len(body), "body_sha256": _sha256(body)},
    }
    file = site.folder / "oracle-spec.json"
    file.write_text(json.dumps(spec))
    client = json.loads((site.folder / "backend" / "oracle.json").read_text())["client"]
    done = subprocess.run(
        [client, "--spec", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode != 0:
        raise OracleError(f"{path}: the client ended with {done.returncode}: {done.stderr.strip()}")
    result = Result.model_validate_json(done.stdout.splitlines()[-1])
    total, good = result.total, result.total.statuses.get("200", 0)
    if good < wanted or total.failed:
        reasons = "; ".join(f"{each.count} of {each.why}" for each in total.reasons)
        raise OracleError(
            f"{path}: found {good} answers with 200, statuses {total.statuses} and errors "
            f"{ {kind: count for kind, count in total.errors.items() if count} } ({reasons}); "
            f"expected {wanted} of {len(body)} bytes as they are at the backend"
        )
    return result


def _encrypted(site: SiteView, result: Result) -> None:
    """Over QUIC nothing is told, and nothing else was offered."""
    alpn = ALPN.get(site.parameters["protocol"])
    if alpn is None:
        return
    expected = {"alpn": alpn, "other": 0}
    if site.parameters["profile"] == "tuned":
        expected |= TLS[site.parameters["tls_version"]]
    for what, value in expected.items():
        if getattr(result.tls, what, None) != value:
            raise OracleError(
                f"TLS: {what}: found {getattr(result.tls, what, None)!r}, expected {value!r}"
            )


def _kept(site: SiteView, opened: int, served: int, windows: int = 1) -> None:
    """Return the number of connections that the proxy opened to the backend for some requests."""
    if not site.properties["proxy"] or site.parameters["profile"] != "tuned":
        return
    most = _POOL_MAX * int(site.parameters["connections"]) * windows
    if opened > most:
        raise OracleError(
            f"the proxy opened {opened} connections to the backend for {served} requests, "
            f"expected at most {most}: it does not keep them"
        )


def _scheme(site: SiteView) -> str:
    return "http" if site.parameters["protocol"] == "http" else "https"


def _own_address(site: SiteView) -> str:
    """Return this machine's address, as the proxy sees it."""
    with socket.socket(type=socket.SOCK_DGRAM) as way:
        way.connect((site.address["front"], site.port["front"]))
        return str(way.getsockname()[0])


def _awaited(site: SiteView, role: str, log: str, known: int) -> str:
    """The first line after the first `known` ones, which may be written after the answer."""
    give_up = time.monotonic() + _PATIENCE_S
    while len(lines := _lines(site, role, log)) <= known:
        if time.monotonic() > give_up:
            raise OracleError(f"{log}: found {len(lines)} lines, expected one more for the probe")
        time.sleep(0.01)
    return lines[known]


def _lines(site: SiteView, role: str, log: str) -> list[str]:
    try:
        return site.read(role, log).decode().splitlines()
    except FileNotFoundError:
        return []


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
