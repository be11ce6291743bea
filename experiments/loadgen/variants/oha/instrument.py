"""Runs oha as an instrument."""

import json

from peer import Answer, Spec, Unfit, Unreadable, main

_CUT_OFF = "aborted due to deadline"
"""What it calls the requests in flight when its time is over."""


def command(spec: Spec) -> list[str]:
    """Its argv."""
    argv = [spec.program, "--no-tui", "--output-format", "json", "--insecure"]
    argv += ["--worker-threads", str(spec.threads), "-c", str(spec.connections)]
    argv += ["-z", f"{round(spec.run_s * 1e3)}ms"]
    if spec.protocol == "h2":
        argv += ["--http2", "-p", str(spec.depth)]
    elif spec.depth != 1:
        raise Unfit("in HTTP/1.1 it has one request at a time on each connection, expected depth 1")
    return [*argv, spec.url]


def parse(output: str) -> Answer:
    """Read its summary."""
    try:
        found = json.loads(output)
        seconds = float(found["summary"]["total"])
        statuses = found["statusCodeDistribution"]
        failures = found["errorDistribution"]
    except (ValueError, KeyError) as error:
        raise Unreadable(f"its output is no summary: {output.strip()[-300:]!r}") from error
    answered = sum(statuses.values())
    errors = {"status": answered - statuses.get("200", 0)}
    for text, count in failures.items():
        if text != _CUT_OFF:
            kind = _kind(text)
            errors[kind] = errors.get(kind, 0) + count
    return Answer(answered / seconds, answered, errors)


def _kind(text: str) -> str:
    text = text.lower()
    if "timeout" in text:
        return "timeout"
    return "connect" if "refused" in text or "unreachable" in text else "read"


if __name__ == "__main__":
    main("oha", command, parse)
