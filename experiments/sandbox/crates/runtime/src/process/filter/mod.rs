//! Filters of system calls, compiled once.

mod arguments;
mod calls;

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use libc as sys;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule};
use serde_json::{Value, json};

use self::arguments::{Asked, of_a_binary, of_a_broker, of_a_keeper, of_the_original};
use self::calls::{BINARY, KEEPER, NAMES, ORIGINAL_BESIDES, SHARING};

/// System calls that are let through, each with what it may be asked; without rules, anything.
pub type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filter that a thread takes on before it starts workers, which inherit it at no cost, and which
/// may be passed `shared` memory.
///
/// # Errors
///
/// The compiler's error.
pub fn inherited(shared: bool) -> Result<BpfProgram, String> {
    let calls = BINARY.iter().chain(KEEPER).chain(beside(shared));
    compile(allowed(calls, &[of_a_binary(), of_a_keeper()])?)
}

/// The filter of a broker: these calls, and those that it may make with some arguments only.
///
/// # Errors
///
/// The compiler's error.
pub fn broker(calls: &[i64]) -> Result<BpfProgram, String> {
    compile(allowed(calls.iter(), &[of_a_broker()])?)
}

/// The filter that a container's tool loads before it executes a binary: that of [`inherited`], and
/// execve, with which there is nothing to execute.
///
/// # Errors
///
/// The compiler's error.
pub fn contained(shared: bool) -> Result<BpfProgram, String> {
    let calls = BINARY.iter().chain(&[sys::SYS_execve]);
    compile(allowed(calls.chain(beside(shared)), &[of_a_binary()])?)
}

/// The filter of [`contained`] as the Open Container Initiative writes it, which lets `more` through.
pub fn described(shared: bool, more: &[&str]) -> Value {
    let call = |name: &&str| name.strip_prefix("SYS_").unwrap_or(name).to_owned();
    let sharing: &[&str] = if shared { &["recvmsg"] } else { &[] };
    let names = NAMES.iter().chain(&["SYS_execve"]).chain(sharing);
    let names: Vec<String> = names.chain(more).map(call).collect();
    let mut calls = vec![
        json!({"names": names, "action": "SCMP_ACT_ALLOW"}),
        json!({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": sys::ENOSYS}),
    ];
    calls.extend(of_a_binary().iter().flat_map(Asked::described));
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "architectures": [format!("SCMP_ARCH_{}", ARCH.to_uppercase())],
        "syscalls": calls,
    })
}

/// Make the filter that the original loads into each worker: on x86-64 115 system calls, compared
/// one after the other.
///
/// # Errors
///
/// The compiler's error.
pub fn per_worker() -> Result<BpfProgram, String> {
    compile(original()?)
}

fn original() -> Result<Rules, String> {
    let calls = BINARY.iter().chain(ORIGINAL_BESIDES);
    allowed(calls, &[of_a_binary(), of_the_original()])
}

fn beside(shared: bool) -> &'static [i64] {
    if shared { SHARING } else { &[] }
}

/// Allow these calls whatever they are asked, and those for what they may be asked.
fn allowed<'a>(
    calls: impl Iterator<Item = &'a i64>,
    by_argument: &[Vec<Asked>],
) -> Result<Rules, String> {
    let mut rules: Rules = calls.map(|call| (*call, Vec::new())).collect();
    for asked in by_argument.iter().flatten() {
        rules.insert(asked.number, asked.rules().map_err(in_words)?);
    }
    Ok(rules)
}

/// Everything else fails with EPERM; clone3, whose flags no filter can see, is as if unknown, so
/// that libraries fall back on clone.
fn compile(rules: Rules) -> Result<BpfProgram, String> {
    let mut program = program(rules, SeccompAction::Errno(sys::EPERM as u32))?;
    unknown(&mut program, sys::SYS_clone3);
    Ok(program)
}

/// Make a filter: what no rule allows ends in `otherwise`.
///
/// # Errors
///
/// The compiler's error.
pub fn program(rules: Rules, otherwise: SeccompAction) -> Result<BpfProgram, String> {
    let architecture = ARCH.try_into().map_err(in_words)?;
    SeccompFilter::new(rules, otherwise, SeccompAction::Allow, architecture)
        .and_then(BpfProgram::try_from)
        .map_err(in_words)
}

/// Let these calls through whatever they are asked.
pub fn freely(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// Put this process under a filter for the rest of its life.
///
/// # Errors
///
/// The kernel's error.
pub fn take_on(program: &BpfProgram) -> Result<(), String> {
    seccompiler::apply_filter(program).map_err(|error| format!("seccomp: {error}"))
}

/// Say of a compiler's error what it was about.
pub fn in_words(error: impl std::fmt::Display) -> String {
    format!("the filter of system calls: {error}")
}

/// Put before everything but the check of the architecture: `number` fails with ENOSYS.
fn unknown(program: &mut BpfProgram, number: i64) {
    let instruction =
        |code: u32, jump_if: u8, jump_else: u8, value: u32| seccompiler::sock_filter {
            code: code as u16,
            jt: jump_if,
            jf: jump_else,
            k: value,
        };
    let load = program
        .iter()
        .position(|each| {
            each.code == (sys::BPF_LD | sys::BPF_W | sys::BPF_ABS) as u16 && each.k == 0
        })
        .expect("a filter reads the number of the call");
    let refused = sys::SECCOMP_RET_ERRNO | sys::ENOSYS as u32;
    let test = [
        instruction(
            sys::BPF_JMP | sys::BPF_JEQ | sys::BPF_K,
            0,
            1,
            number as u32,
        ),
        instruction(sys::BPF_RET | sys::BPF_K, 0, 0, refused),
    ];
    program.splice(load + 1..load + 1, test);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_filter_of_each_worker_is_as_long_as_the_original() {
        assert_eq!(original().unwrap().len(), 115);
    }

    #[test]
    fn every_filter_can_be_compiled() {
        for shared in [false, true] {
            assert!(inherited(shared).is_ok() && contained(shared).is_ok());
        }
        assert!(per_worker().is_ok());
    }
}
