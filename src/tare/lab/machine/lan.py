"""A bridge of this machine and network namespaces on it, as hosts of a run.

Devices follow from the tag, so that the tag and the namespaces' names alone take all of it away.
"""

import contextlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

from tare.lab.errors import Unavailable
from tare.lab.machine.network import NAMES, ip, not_made

_DEVICES = Path("/sys/class/net")


@dataclass(frozen=True)
class Lan:
    """The network of one run; `create` makes it, `remove` takes it away."""

    tag: str
    namespaces: Sequence[str]

    def refuse_taken(self) -> None:
        """Raise Unavailable if there is a namespace of one of the names already."""
        if known := next((name for name in self.namespaces if (NAMES / name).exists()), None):
            raise Unavailable(
                f"there is a network namespace {known} already: another run uses it, or remove it "
                f"with: ip netns delete {known}"
            )

    def create(self, own: IPv4Interface, addresses: Mapping[str, IPv4Address]) -> None:
        """Make it: this machine has the address `own` there, and each namespace its own.

        Raises Unavailable where that is not permitted, or a namespace of the name is there.
        """
        self.refuse_taken()
        width = own.network.prefixlen
        try:
            ip("link", "add", self._device("b"), "type", "bridge")
            ip("address", "add", str(own), "dev", self._device("b"))
            ip("link", "set", self._device("b"), "up")
            for number, name in enumerate(self.namespaces):
                near, far = self._device(f"n{number}"), self._device(f"f{number}")
                ip("netns", "add", name)
                ip("link", "add", near, "type", "veth", "peer", far, "netns", name)
                ip("link", "set", near, "master", self._device("b"), "up")
                ip("-n", name, "address", "add", f"{addresses[name]}/{width}", "dev", far)
                for device in ("lo", far):
                    ip("-n", name, "link", "set", device, "up")
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            self.remove()
            raise not_made(error) from error

    def remove(self) -> None:
        """Take it away; what is not there is no error, and a namespace of one of the names that
        has no device of this network is somebody else's.
        """
        for number, name in enumerate(self.namespaces):
            near = self._device(f"n{number}")
            if not (_DEVICES / near).exists():
                continue
            if (NAMES / name).exists():
                ip("netns", "delete", name)
            # It goes with the namespace, unless a process is still in there.
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("link", "delete", near)
        if (_DEVICES / self._device("b")).exists():
            ip("link", "delete", self._device("b"))

    def _device(self, end: str) -> str:
        digest = int.from_bytes(blake2b(self.tag.encode(), digest_size=4).digest())
        return f"t{digest:08x}{end}"
