//! The BPF programs: loading, beginning and ending.

use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{
    ErrorKind, Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, ProgramInput,
};
use rustix::time::{ClockId, clock_gettime};

use super::layout::{BYTES_READ, BYTES_WRITTEN, OTHER_SYSCALL, Process, word};
use super::sampling::{Sampling, online};
use crate::cli::Role;
use crate::failure::Failure;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/profile.bpf.o"));
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// The initial PID namespace's inode (include/linux/proc_ns.h).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";
const RUN_ON_CPU: u32 = 1;

/// Tracepoints that some kernels lack, and the counts that come from them.
const OPTIONAL: [(&str, &[&str]); 8] = [
    ("sys_enter", &["syscall"]),
    ("sys_exit", &["bytes.read", "bytes.written"]),
    ("page_fault_user", &["fault.user"]),
    ("page_fault_kernel", &["fault.kernel"]),
    ("softirq_entry", &["softirq"]),
    ("sched_waking", &["wakeup.remote", "wakeup.sent"]),
    ("sched_wakeup", &["wakeup.remote"]),
    ("net_dev_queue", &["packets.sent"]),
];

const READS: [&str; 7] = [
    "read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg",
];
const WRITES: [&str; 8] = [
    "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "sendfile",
];

/// The loaded and attached programs.
#[derive(Debug)]
pub struct Programs {
    object: Object,
    _links: Vec<Link>,
    sampling: Sampling,
    cpus: Vec<u32>,
    waits: bool,
    /// Names of counts that this kernel cannot give, sorted.
    pub lacking: Vec<&'static str>,
}

impl Programs {
    /// Load and attach the programs for these roles. Nothing is counted yet.
    pub fn load(roles: &[Role], period_ns: u64, waits: bool) -> Result<Self, Failure> {
        ensure_possible()?;
        libbpf_rs::set_print(None);
        // libbpf reads ELF in place, so it must be aligned.
        let bytes = OBJECT.to_vec();
        let mut open = ObjectBuilder::default()
            .open_memory(&bytes)
            .map_err(|error| Failure::of("the BPF programs cannot be read", error))?;
        let lacking = leave_out(&mut open)?;
        let object = open.load().map_err(|error| refusal(&error))?;
        let mut links = Vec::new();
        for program in object.progs_mut() {
            if program.autoload() && program.section().to_string_lossy().starts_with("tp_btf/") {
                links.push(program.attach().map_err(|error| refusal(&error))?);
            }
        }
        let sample = object
            .progs_mut()
            .find(|program| program.name() == "sample");
        let cpus = online()?;
        let sampling = Sampling::attach(&sample.expect("profile.bpf.c has it"), &cpus, period_ns)?;
        let programs = Self {
            object,
            _links: links,
            sampling,
            cpus,
            waits,
            lacking,
        };
        programs.prepare(roles)?;
        Ok(programs)
    }

    fn prepare(&self, roles: &[Role]) -> Result<(), Failure> {
        let families = self.table("families");
        for (names, family) in [(&READS[..], BYTES_READ), (&WRITES[..], BYTES_WRITTEN)] {
            for number in names
                .iter()
                .filter_map(|name| name.parse::<syscalls::Sysno>().ok())
            {
                if (number.id() as usize) < OTHER_SYSCALL {
                    put(
                        &families,
                        &(number.id() as u32).to_ne_bytes(),
                        &family.to_ne_bytes(),
                    )?;
                }
            }
        }
        let processes = self.table("processes");
        for (role, given) in (0..).zip(roles) {
            for &number in &given.processes {
                let process = Process {
                    role,
                    map_of: number,
                    executions: 0,
                };
                put(&processes, &number.to_ne_bytes(), &process.bytes())?;
            }
        }
        self.control(0, false, self.waits)
    }

    /// Begin to count, and return the time of it in nanoseconds of the monotonic clock.
    pub fn begin(&self) -> Result<u64, Failure> {
        let now = now();
        self.control(now, true, self.waits)?;
        self.sampling.start();
        Ok(now)
    }

    /// Stop counting, and return the time of it and the number of records that were lost.
    pub fn end(&self, began: u64) -> Result<(u64, u64), Failure> {
        self.sampling.stop();
        let settle = self
            .object
            .progs_mut()
            .find(|program| program.name() == "settle");
        let settle = settle.expect("profile.bpf.c has it");
        for &cpu in &self.cpus {
            let input = ProgramInput {
                cpu,
                flags: RUN_ON_CPU,
                ..Default::default()
            };
            let done = settle.test_run(input);
            done.map_err(|error| Failure::of(&format!("reading the clock of CPU {cpu}"), error))?;
        }
        let now = now();
        // Without waits, those that last stay in the table as they were.
        self.control(began, false, false)?;
        let lost = self
            .table("lost")
            .lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
        let lost = lost.map_err(|error| Failure::of("reading the losses", error))?;
        let lost = word(&lost.unwrap_or_default(), 0);
        Ok((now, lost))
    }

    fn control(&self, began: u64, counting: bool, waits: bool) -> Result<(), Failure> {
        let flags = [counting, waits].map(|flag| u32::from(flag).to_ne_bytes());
        let value = [&began.to_ne_bytes()[..], &flags.concat()].concat();
        put(&self.table("control"), &0u32.to_ne_bytes(), &value)
    }

    /// A table of the BPF programs.
    pub(super) fn table(&self, name: &str) -> MapHandle {
        let found = self.object.maps().find(|map| map.name() == name);
        MapHandle::try_from(&found.expect("tables.bpf.h has it")).expect("a table has a descriptor")
    }
}

/// The monotonic clock, which bpf_ktime_get_ns reads too.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn put(table: &MapHandle, key: &[u8], value: &[u8]) -> Result<(), Failure> {
    let done = table.update(key, value, MapFlags::ANY);
    done.map_err(|error| Failure::of("writing a table of the BPF programs", error))
}

/// Check that this kernel and this process may have such programs at all.
pub fn ensure_possible() -> Result<(), Failure> {
    if !Path::new(TYPES).exists() {
        let reason = format!("the kernel has no type information, {TYPES} (CONFIG_DEBUG_INFO_BTF)");
        return Err(Failure::Unavailable(reason));
    }
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if namespace.as_os_str() != INITIAL_NAMESPACE {
        let reason = "BPF sees other process numbers than this PID namespace; run outside of it";
        return Err(Failure::Unavailable(reason.into()));
    }
    Ok(())
}

/// Check that the kernel has a tracepoint, which kernels from `since` on have.
pub fn ensure_point(point: &str, since: &str) -> Result<(), Failure> {
    if has_point(&types()?, point) {
        return Ok(());
    }
    let reason = format!("the kernel has no tracepoint {point}; it takes {since} or newer");
    Err(Failure::Unavailable(reason))
}

fn types() -> Result<Btf<'static>, Failure> {
    Btf::from_vmlinux()
        .map_err(|error| Failure::Unavailable(format!("{TYPES} cannot be read: {error}")))
}

fn has_point(types: &Btf<'_>, point: &str) -> bool {
    types
        .type_by_name::<Typedef<'_>>(&format!("btf_trace_{point}"))
        .is_some()
}

/// The failure that an error of libbpf stands for.
pub fn refusal(error: &libbpf_rs::Error) -> Failure {
    if error.kind() == ErrorKind::PermissionDenied {
        let reason = "BPF programs need root, or CAP_BPF and CAP_PERFMON";
        return Failure::Unavailable(reason.into());
    }
    Failure::Unavailable(format!("the kernel refuses the BPF programs: {error:#}"))
}

/// Leave out programs whose tracepoint this kernel lacks, and return the counts that are lost by it.
fn leave_out(open: &mut OpenObject) -> Result<Vec<&'static str>, Failure> {
    let types = types()?;
    let mut lacking = Vec::new();
    for mut program in open.progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        let Some(point) = section.strip_prefix("tp_btf/") else {
            continue;
        };
        if has_point(&types, point) {
            continue;
        }
        let Some((_, counts)) = OPTIONAL.iter().find(|(name, _)| *name == point) else {
            let reason = format!("the kernel has no tracepoint {point}");
            return Err(Failure::Unavailable(reason));
        };
        lacking.extend_from_slice(counts);
        program.set_autoload(false);
    }
    lacking.sort_unstable();
    lacking.dedup();
    Ok(lacking)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracepoint_that_is_not_there_is_named_with_the_kernel_that_has_it() {
        if !Path::new(TYPES).exists() {
            eprintln!("not tested: the kernel has no type information");
            return;
        }
        let reason = "the kernel has no tracepoint of_nothing; it takes Linux 99 or newer";
        assert_eq!(
            ensure_point("of_nothing", "Linux 99"),
            Err(Failure::Unavailable(reason.into()))
        );
        assert_eq!(ensure_point("sched_switch", "Linux 5.5"), Ok(()));
    }
}
