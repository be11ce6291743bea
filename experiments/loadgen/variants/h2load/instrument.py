"""Runs h2load as an instrument."""

import re

from peer import Answer, Spec, Unreadable, main

_PROTOCOLS = {"http/1.1": "h1"}


def command(spec: Spec) -> list[str]:
    """Its argv."""
    argv = [spec.program, f"-t{spec.threads}", f"-c{spec.connections}", f"-m{spec.depth}"]
    argv += ["-D", f"{round(spec.run_s * 1e3)}ms"]
    if spec.protocol == "h1":
        argv.append("--h1")
    return [*argv, spec.url]


def parse(output: str) -> Answer:
    """Read its closing lines."""
    rate = re.search(r"finished in \S+, ([\d.]+) req/s", output)
    requests = re.search(r"^requests: (.*)$", output, re.MULTILINE)
    statuses = re.search(r"^status codes: (.*)$", output, re.MULTILINE)
    if rate is None or requests is None or statuses is None:
        raise Unreadable(f"its output has no rate: {output.strip()[-300:]!r}")
    of, by_status = _counts(requests.group(1)), _counts(statuses.group(1))
    errors = {
        "status": by_status["4xx"] + by_status["5xx"],
        "read": of["errored"],
        "timeout": of["timeout"],
    }
    negotiated = re.search(r"^Application protocol: (\S+)", output, re.MULTILINE)
    name = negotiated.group(1) if negotiated else None
    return Answer(
        float(rate.group(1)), sum(by_status.values()), errors, _PROTOCOLS.get(name or "", name)
    )


def _counts(line: str) -> dict[str, int]:
    return {name: int(number) for number, name in re.findall(r"(\d+) (\w+)", line)}


if __name__ == "__main__":
    main("h2load", command, parse)
