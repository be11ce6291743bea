"""The listeners of this machine: who has a port, as /proc shows it (proc(5)), and whether a socket
accepts.
"""

import os
import socket
import sys
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path

from tare.lab.errors import RoleError
from tare.lab.machine.proc import all_pids

_STATES = {"tcp": "0A", "udp": "07"}
"""Of a socket that takes connections: listening, or without a peer."""
_LONGEST = 107
"""Bytes of a Unix socket's path."""
_INIT = 1
"""It holds sockets for services that it starts, and is no server itself."""


def addresses(host: str) -> list[str]:
    """Return the addresses of a host. Raises RoleError unless all belong to this machine."""
    try:
        known = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RoleError(f"{host}: no such host: {reason}") from error
    found = list(dict.fromkeys(str(each[4][0]) for each in known))
    if foreign := [each for each in found if not _is_own(each)]:
        raise RoleError(
            f"{host}: {foreign[0]} is no address of this machine; tare measures processes of the "
            "machine that it runs on"
        )
    return found


def holders(host: str, port: int, kind: str = "tcp") -> list[int]:
    """Return the processes that hold the socket listening on the port, lowest number first; `kind`
    is tcp or udp. Raises RoleError if there is none, or none that this user may see.
    """
    where = f"port {port} of {host}"
    sockets = _sockets(addresses(host), port, kind)
    if not sockets:
        raise RoleError(f"no process listens on {where}; start the server first")
    found, hidden = [], False
    for pid in all_pids():
        try:
            links = list(Path(f"/proc/{pid}/fd").iterdir())
        except PermissionError:
            hidden = True
            continue
        except OSError:  # it has ended meanwhile
            continue
        if pid != _INIT and any(_leads(link) in sockets for link in links):
            found.append(pid)
    if not found:
        remedy = "run tare as its user, or as root" if hidden else "it is in another container"
        raise RoleError(f"the process that listens on {where} may not be read; {remedy}")
    return sorted(found)


def ports_of(pids: Iterable[int]) -> list[tuple[int, str]]:
    """Return the TCP ports on which any of these processes listens, lowest first, each with its
    address.
    """
    found = set()
    for pid in pids:
        try:
            own = {_leads(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
            files = (Path(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6"))
            tables = [file.read_text() for file in files if file.exists()]
        except OSError:  # it has ended meanwhile, or may not be read
            continue
        for line in (line for table in tables for line in table.splitlines()[1:]):
            fields = line.split()
            if fields[3] == _STATES["tcp"] and f"socket:[{fields[9]}]" in own:
                address, _, port = fields[1].partition(":")
                found.add((int(port, 16), str(ip_address(_bytes(address)))))
    return sorted(found)


def bound(host: str, port: int) -> bool:
    """Return true if a socket takes datagrams on the port."""
    return bool(_sockets(addresses(host), port, "udp"))


def accepts(path: str) -> bool:
    """Return true if a Unix socket takes connections."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        return probe.connect_ex(path) == 0


def refuse_long(path: str) -> None:
    """Raise RoleError for a path that no Unix socket can have (unix(7))."""
    if (length := len(os.fsencode(path))) > _LONGEST:
        raise RoleError(
            f"{path}: its {length} bytes are too many for a Unix socket, expected {_LONGEST} or "
            "fewer; take a shorter name, or set TARE_RUNS to a folder with a short path"
        )


def _leads(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""


def _is_own(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _sockets(hosts: Iterable[str], port: int, kind: str) -> set[str]:
    """Return the listening sockets, as links in a process's fd folder name them."""
    own = {_packed(host) for host in hosts}
    found = set()
    for table in (kind, f"{kind}6"):
        file = Path("/proc/net") / table
        for line in file.read_text().splitlines()[1:] if file.exists() else []:
            fields = line.split()
            address, _, number = fields[1].partition(":")
            data = _unmapped(_bytes(address))
            if (fields[3], int(number, 16)) == (_STATES[kind], port) and (
                data in own or not any(data)
            ):
                found.add(f"socket:[{fields[9]}]")
    return found


def _packed(host: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)


def _bytes(words: str) -> bytes:
    """The address whose words of 32 bits stand there in the byte order of the machine."""
    parts = [int(words[at : at + 8], 16) for at in range(0, len(words), 8)]
    return b"".join(part.to_bytes(4, sys.byteorder) for part in parts)


def _unmapped(address: bytes) -> bytes:
    """An IPv4 address that stands within an IPv6 one, or the address as it is."""
    mapped = address[:12] == bytes(10) + b"\xff\xff"
    return address[12:] if mapped else address
