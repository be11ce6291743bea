"""Rights of this process, from /proc."""

from pathlib import Path

_SYS_ADMIN, _PERFMON, _BPF = 21, 38, 39
"""Numbers of capabilities (linux/capability.h)."""


def may_load_bpf(status: Path = Path("/proc/self/status")) -> bool:
    """Return true if this process has CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, which includes
    both.
    """
    (line,) = [each for each in status.read_text().splitlines() if each.startswith("CapEff:")]
    rights = int(line.split()[1], 16)
    both = 1 << _BPF | 1 << _PERFMON
    return bool(rights & 1 << _SYS_ADMIN) or rights & both == both
