//! A BPF program's requirements of the process and the kernel, checked before libbpf answers with
//! an error number.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

const BTF: &str = "/sys/kernel/btf/vmlinux";
const SYS_ADMIN: u32 = 21;
const CAPABILITIES: [(u32, &str); 3] =
    [(39, "CAP_BPF"), (38, "CAP_PERFMON"), (12, "CAP_NET_ADMIN")];

/// Check that BPF programs can be loaded. The error is a sentence with the remedy.
pub fn ensure_bpf() -> Result<()> {
    let lacking = lacking(effective_capabilities()?);
    ensure!(
        lacking.is_empty(),
        "BPF programs cannot be loaded without {}: run as root, or give the program these \
         capabilities with setcap",
        lacking.join(", ")
    );
    ensure!(
        Path::new(BTF).exists(),
        "BPF programs cannot be loaded without the kernel's type information, {BTF}: use a kernel \
         built with CONFIG_DEBUG_INFO_BTF, 5.11 or newer"
    );
    Ok(())
}

/// Return the missing capabilities. CAP_SYS_ADMIN stands for the first two.
fn lacking(held: u64) -> Vec<&'static str> {
    let has = |bit: u32| held >> bit & 1 == 1;
    CAPABILITIES
        .iter()
        .filter(|(bit, name)| !has(*bit) && (*name == "CAP_NET_ADMIN" || !has(SYS_ADMIN)))
        .map(|(_, name)| *name)
        .collect()
}

fn effective_capabilities() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let held = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .context("/proc/self/status has no CapEff")?;
    u64::from_str_radix(held.trim(), 16).context("CapEff of /proc/self/status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_capability_stands_for_two_of_the_new() {
        assert_eq!(lacking(0), ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(lacking(1 << SYS_ADMIN), ["CAP_NET_ADMIN"]);
        assert_eq!(lacking(1 << 39 | 1 << 12), ["CAP_PERFMON"]);
        assert!(lacking(1 << 39 | 1 << 38 | 1 << 12).is_empty());
        assert!(lacking(u64::MAX).is_empty());
    }

    #[test]
    fn the_own_capabilities_can_be_read() {
        effective_capabilities().expect("proc is mounted");
    }
}
