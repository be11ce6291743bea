"""The command of the shell that starts a user's own server, with what is filled in there."""

import hashlib
import json
import re
from collections.abc import Mapping

from tare.model.servers import Server, Servers

_FILLED = {
    "port": "{{ port.http }}",
    "folder": "{{ folder }}",
    "host": "{{ host }}",
    "cpus": "{{ cpus.server | join(',') }}",
}
_BACKEND = {"backend": "{{ address.backend }}:{{ port.backend }}"}
_FILE = re.compile(r"\{file:([^{}]+)\}")
_SIMPLE = re.compile(r"[^;&|<>$`\n]*")
"""A command that the shell may become, so that signals reach the server itself."""
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
"""A variable before the command, with which the shell alone cannot become it."""


def shell(server: Server, setup: str | None, *, backend: bool) -> str:
    """Return the text for the shell, as a template of the role."""
    known = _FILLED | (_BACKEND if backend else {})
    command = server.command.strip()
    become = "exec " if _SIMPLE.fullmatch(command) else ""
    if become and _ASSIGNED.match(command):
        become = "exec env "
    before = f"cd {raw(_quoted(server.folder))} && "
    for file in files(command, setup):
        before += f"{{ {_copied(file, known)} || exit 1; }} && "
    if setup is not None:
        told = "echo tare: the setup command ended with exit code $code"
        before += f"{{ (\n{_filled(setup, known)}\n) || {{ code=$?; {told}; exit 1; }}; }} && "
    return f"{before}{become}{_filled(command, known)}"


def summary(servers: Servers) -> str:
    """Return which options prepare all servers before they start, with a digest of them. The digest
    keeps a secret in the environment out of results.
    """
    given = {"--setup": servers.setup, "--env": servers.environment}
    if not any(given.values()):
        return "neither --setup nor --env"
    digest = hashlib.sha256(json.dumps(given).encode()).hexdigest()[:8]
    return f"{' and '.join(name for name, value in given.items() if value)} ({digest})"


def files(*texts: str | None) -> list[str]:
    """Return the files that the texts name as {file:PATH}, each once."""
    found = [file for text in texts if text is not None for file in _FILE.findall(text)]
    return list(dict.fromkeys(found))


def raw(text: str) -> str:
    """Return a template that renders to exactly this text, whatever is in it, also within another
    template: a string in escapes, where the text could begin a mark or has ends of lines.
    """
    if not re.search(r"[{\r\n]", text):
        return text
    escaped = text.encode("unicode-escape").decode("ascii")
    for letter in "'{}":
        escaped = escaped.replace(letter, f"\\x{ord(letter):02x}")
    return "{{ '" + escaped + "' }}"


def _copied(file: str, known: Mapping[str, str]) -> str:
    """Return the command that copies a file into the role's folder and fills in what it has."""
    # `${host}` is a variable of the file's own.
    edits = (rf"-e 's#(^|[^$])\{{{name}\}}#\1{value}#g'" for name, value in known.items())
    return f"sed -E {' '.join(edits)} {raw(_quoted(file))} > {_place(file)}"


def _place(file: str) -> str:
    return "{{ folder }}/" + raw(_quoted(file.strip("/").replace("/", "-")))


def _filled(command: str, known: Mapping[str, str]) -> str:
    names = "|".join(known)
    parts = re.split(rf"(\{{(?:{names})\}}|{_FILE.pattern.replace('(', '(?:')})", command)

    def value(mark: str) -> str:
        named = _FILE.fullmatch(mark)
        return _place(named[1]) if named else known[mark[1:-1]]

    return "".join(value(part) if number % 2 else raw(part) for number, part in enumerate(parts))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
