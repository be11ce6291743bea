"""A network namespace for roles, which the laboratory reaches over a pair of veth devices.

Namespace, devices and addresses follow from the site's tag, so that the tag alone takes them away.
"""

import ctypes
import os
import subprocess
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from tare.lab.errors import Unavailable

NAMES = Path("/run/netns")
_DEVICES = Path("/sys/class/net")
_RANGE = IPv4Network("198.18.0.0/15")
"""For measurements between networks, and nowhere routed (RFC 2544)."""
_PREFIX = 30
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Network:
    """The namespace of one site; `create` makes it, `remove` takes it away."""

    tag: str

    @property
    def path(self) -> Path:
        """The file that stands for the namespace."""
        return NAMES / self.tag

    @property
    def near(self) -> str:
        """The laboratory's device."""
        return f"tare{self._digest():08x}l"

    @property
    def far(self) -> str:
        """The namespace's device."""
        return f"tare{self._digest():08x}t"

    @property
    def address(self) -> str:
        """Return the address of the namespace."""
        return str(self._address(2))

    def create(self) -> None:
        """Make it. Raises Unavailable where that is not permitted or there is no ip(8)."""
        inside = ["-n", self.tag]
        try:
            ip("netns", "add", self.tag)
            ip("link", "add", self.near, "type", "veth", "peer", self.far, "netns", self.tag)
            ip("address", "add", f"{self._address(1)}/{_PREFIX}", "dev", self.near)
            ip("link", "set", self.near, "up")
            ip(*inside, "address", "add", f"{self.address}/{_PREFIX}", "dev", self.far)
            for device in ("lo", self.far):
                ip(*inside, "link", "set", device, "up")
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            self.remove()
            raise not_made(error) from error

    def remove(self) -> None:
        """Take it away; what is not there is no error."""
        if (_DEVICES / self.near).exists():
            ip("link", "delete", self.near)
        if self.path.exists():
            ip("netns", "delete", self.tag)

    def enter(self) -> None:
        """Move the calling thread into it (setns(2)). Raises OSError."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(self.path))
        os.close(descriptor)

    def _address(self, host: int) -> IPv4Address:
        size = 1 << (32 - _PREFIX)
        subnet = self._digest() % (_RANGE.num_addresses // size)
        return _RANGE[subnet * size + host]

    def _digest(self) -> int:
        return int.from_bytes(blake2b(self.tag.encode(), digest_size=4).digest())


def ip(*arguments: str) -> None:
    """Call ip(8). Raises FileNotFoundError and CalledProcessError."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def not_made(error: FileNotFoundError | subprocess.CalledProcessError) -> Unavailable:
    """Return why `ip` could make no namespace."""
    if isinstance(error, FileNotFoundError):
        return Unavailable(
            "a network namespace takes the command ip: install it (Debian: iproute2)"
        )
    said = " ".join(error.stderr.split())
    return Unavailable(
        f"no network namespace can be made here ({said}); run as root, with CAP_NET_ADMIN and "
        "CAP_SYS_ADMIN"
    )
