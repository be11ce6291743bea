"""Files of hosts in namespaces whose names and addresses no other test has at the moment."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tare.lab.machine import network

BACKEND = ("backend",)
"""The role behind servers of most experiments."""
_AGENT = "sys.stdin.readline()"
_APART = 7_777
"""By which two files of one process differ: another name, and another network."""


@dataclass(frozen=True)
class Spread:
    """A file of three hosts: `load`, `backend`, and `server` for all other roles."""

    file: Path
    number: int

    @classmethod
    def made(cls, folder: Path, another: int = 0, behind: Sequence[str] = BACKEND) -> "Spread":
        """Write the file, `another` than those of smaller numbers, with the roles `behind` servers.
        Skips the test where no namespaces can be made.
        """
        if os.geteuid() != 0:
            pytest.skip("network namespaces are made by root")
        probe = network.Network(f"tare-probe-{os.getpid()}")
        try:
            probe.create()
        except network.Unavailable as reason:
            pytest.skip(str(reason))
        probe.remove()
        spread = cls(folder / f"hosts-{another}.toml", os.getpid() + another * _APART)
        hosts = "".join(
            f'[hosts.{name}]\nnamespace = "{spread.namespace(name)}"\n'
            f'address = "{spread.address(name)}"\nroles = {roles}\n'
            for name, roles in (("load", ["load"]), ("server", []), ("backend", list(behind)))
        )
        own = spread._address(1)
        spread.file.write_text(f'default = "server"\n[network]\naddress = "{own}/24"\n{hosts}')
        return spread

    def namespace(self, host: str) -> str:
        return f"tare-{host}-{self.number}"

    def address(self, host: str) -> str:
        return self._address({"load": 11, "server": 12, "backend": 13}[host])

    def agent(self, host: str) -> int:
        """The process that works for the laboratory on a host."""
        (pid,) = [
            pid
            for pid in self.processes(host)
            if _AGENT in Path(f"/proc/{pid}/cmdline").read_text()
        ]
        return pid

    def processes(self, host: str) -> list[int]:
        """Those in a host's namespace."""
        found = subprocess.run(
            ["ip", "netns", "pids", self.namespace(host)],
            check=True,
            capture_output=True,
            text=True,
        )
        return [int(pid) for pid in found.stdout.split()]

    def sent_bytes(self, host: str) -> int:
        """Return the bytes that have left a host."""
        command = ["ip", "-json", "-statistics", "-netns", self.namespace(host), "link", "show"]
        links = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return sum(each["stats64"]["tx"]["bytes"] for each in links if each["ifname"] != "lo")

    def left(self) -> list[str]:
        """What is left of its namespaces."""
        return [path.name for path in network.NAMES.glob(f"tare-*-{self.number}")]

    def _address(self, end: int) -> str:
        return f"10.{100 + self.number % 100}.{self.number // 100 % 250}.{end}"
