"""A server that cannot do what it is for says so in one sentence, and does nothing else instead."""

import pytest
from echo_server import BPF, VARIANTS, may_load_bpf, refusal

pytestmark = pytest.mark.contract

_WITHOUT_BPF = ("setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin,-net_admin")
_HIDE_BTF = 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"'
_WITHOUT_BTF = ("unshare", "--mount", "sh", "-c", _HIDE_BTF)
_root = pytest.mark.skipif(not may_load_bpf(), reason="takes root to be denied it")


@_root
@pytest.mark.parametrize("variant", BPF)
def test_without_the_capabilities(variant: str) -> None:
    said = refusal(variant, wrap=_WITHOUT_BPF)
    assert "without CAP_BPF" in said
    assert "run as root" in said


@_root
@pytest.mark.parametrize("variant", BPF)
def test_without_type_information(variant: str) -> None:
    assert "/sys/kernel/btf/vmlinux" in refusal(variant, wrap=_WITHOUT_BTF)


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name not in BPF])
def test_with_an_unknown_congestion_control(variant: str) -> None:
    assert "no congestion control 'sparrow'" in refusal(variant, "--congestion", "sparrow").replace(
        '"', "'"
    )
