//! The filter as nginx's module calls it, by the functions of the library, with a controller beside it:
//! every prefix length against the rule, exact counts, and no prefix in part.

use std::ffi::{CString, c_char, c_int};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use filter_controller::run::Filter;
use filter_controller::shm::Origin;
use url_filter_ebpf::memory::Memory;

unsafe extern "C" {
    fn module_initialize(prefix: *const c_char) -> c_int;
    fn module_url_filter(url: *const c_char) -> c_int;
    fn module_url_filter_n(url: *const c_char, length: usize) -> c_int;
    fn module_get_counters(accepted: *mut u64, rejected: *mut u64);
}

/// The library serves one filter in a process.
static ONE: Mutex<()> = Mutex::new(());

/// Memory that no other test uses, removed at the end, with the variant's program or another.
struct Site {
    name: String,
    object: PathBuf,
}

impl Site {
    /// The program with each of some texts replaced by another.
    fn new(name: &str, changes: &[(&str, &str)]) -> Self {
        let name = format!("/tare-test-{}-{name}", std::process::id());
        let object = std::env::temp_dir().join(format!("{}.bpf.o", &name[1..]));
        let mut source = include_str!("../../filter.bpf.c").to_owned();
        for (text, other) in changes {
            assert!(
                source.contains(text),
                "filter.bpf.c has no {text:?} any more"
            );
            source = source.replace(text, other);
        }
        let mut clang = Command::new("clang")
            .args([
                "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-c", "-x", "c", "-", "-o",
            ])
            .arg(&object)
            .stdin(Stdio::piped())
            .spawn()
            .expect("clang compiles the program of this test; install clang");
        let mut input = clang.stdin.take().expect("piped");
        input.write_all(source.as_bytes()).expect("clang reads it");
        drop(input);
        assert!(clang.wait().expect("clang ends").success());
        Self { name, object }
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(format!("/dev/shm{}", self.name))
    }

    fn own(&self, prefix: &[u8]) -> anyhow::Result<(Memory, Origin)> {
        Memory::own(&self.name, &self.object, prefix)
    }

    /// Compiles the program of the memory, as nginx's master does.
    fn serve(&self) {
        // SAFETY: only tests that hold `ONE` look at the environment.
        unsafe { std::env::set_var("FILTER_SHM", &self.name) };
        // SAFETY: a string with an end.
        assert_eq!(unsafe { module_initialize(c"ignored".as_ptr()) }, 0);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.file());
        let _ = std::fs::remove_file(&self.object);
    }
}

fn accepts(path: &[u8]) -> bool {
    // SAFETY: the path has its length.
    unsafe { module_url_filter_n(path.as_ptr().cast(), path.len()) == 1 }
}

fn counts() -> (u64, u64) {
    let (mut accepted, mut rejected) = (0, 0);
    // SAFETY: both are numbers.
    unsafe { module_get_counters(&mut accepted, &mut rejected) };
    (accepted, rejected)
}

#[test]
fn every_length_of_a_prefix_follows_the_rule() {
    let _one = ONE.lock();
    let site = Site::new("rule", &[]);
    let (memory, _) = site.own(b"").unwrap();
    site.serve();
    let text: Vec<u8> = (0..4100u32).map(|n| (n * n % 251) as u8).collect();
    let (mut accepted, mut rejected) = (0, 0);
    for length in (0..40).chain((40..4092).step_by(61)).chain(4080..=4092) {
        let prefix = &text[..length];
        memory.publish(prefix).unwrap();
        let mut try_path = |path: &[u8]| {
            let expected = path.starts_with(prefix);
            assert_eq!(
                accepts(path),
                expected,
                "{length} bytes, path of {}",
                path.len()
            );
            *(if expected {
                &mut accepted
            } else {
                &mut rejected
            }) += 1;
        };
        for path in [length.saturating_sub(1), length, length + 1, length + 8] {
            try_path(&text[..path]);
        }
        for wrong in (0..length).rev().take(9).chain((0..length).step_by(97)) {
            let mut path = text[..length + 1].to_vec();
            path[wrong] ^= 0x40;
            try_path(&path);
        }
    }
    assert_eq!(counts(), (accepted, rejected));
    assert!(memory.publish(&text[..4093]).is_err());
    let text = CString::new("/terminated").unwrap();
    memory.publish(b"/term").unwrap();
    // SAFETY: a string with an end.
    assert_eq!(unsafe { module_url_filter(text.as_ptr()) }, 1);
}

#[test]
fn no_prefix_is_seen_in_part() {
    let _one = ONE.lock();
    let site = Site::new("torn", &[]);
    // No prefix that is set accepts the path; the head of one and the tail of another would.
    let prefix = |head: u8, tail: u8| [&[head][..], &[b'm'; 3998], &[tail]].concat();
    let (memory, _) = site.own(b"none").unwrap();
    site.serve();
    let path = prefix(b'x', b'2');
    let done = AtomicBool::new(false);
    let asked = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut asked = 0;
            while !done.load(Ordering::Relaxed) {
                assert!(!accepts(&path), "accepted a prefix that never was");
                asked += 1;
            }
            asked
        });
        // Three prefixes for two slots: a slot is always rewritten with another one.
        for number in 0..20_000 {
            let letter = number % 3;
            memory
                .publish(&prefix(b"xyz"[letter], b"123"[letter]))
                .unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert_eq!(counts(), (0, asked));
}

#[test]
fn a_program_without_end_is_refused_or_stopped_and_its_requests_are_counted() {
    let _one = ONE.lock();
    // The generation never stays as it is.
    let site = Site::new(
        "endless",
        &[("*generation != before", "*generation == before")],
    );
    let (memory, _) = site.own(b"/a").unwrap();
    site.serve();
    for n in 0..3 {
        assert_eq!(counts(), (0, n));
        assert_eq!(memory.counts().failed, n);
        assert!(!accepts(b"/a"));
    }
}

#[test]
fn the_fuel_of_a_decision_can_be_set() {
    let site = Site::new("fuel", &[]);
    let refused = |fuel: &str| {
        let done = Command::new(env!("CARGO_BIN_EXE_filter-ebpf-controller"))
            .args(["--shm", &site.name, "--prefix", "/a", "--object"])
            .arg(&site.object)
            .env("FILTER_FUEL", fuel)
            .output()
            .unwrap();
        assert!(!done.status.success() && !site.file().exists());
        String::from_utf8(done.stderr).unwrap()
    };
    let said = refused("1000");
    assert!(said.contains("cannot be compiled; correct it"), "{said}");
    assert!(
        said.contains("units of fuel and is allowed 1000;"),
        "{said}"
    );
    let said = refused("much");
    assert!(
        said.contains("FILTER_FUEL=\"much\" is no amount of fuel; set it to a number"),
        "{said}"
    );
}

fn refusal(found: anyhow::Result<(Memory, Origin)>) -> String {
    format!("{:#}", found.err().expect("a refusal"))
}

#[test]
fn memory_that_is_left_behind_is_recovered_and_another_programs_is_not() {
    let site = Site::new("again", &[]);
    let (memory, origin) = site.own(b"/a").unwrap();
    assert_eq!(origin, Origin::Made);
    let said = refusal(site.own(b"/a"));
    let owner = std::process::id();
    assert!(
        said.contains(&format!("a running controller, process {owner}; stop it")),
        "{said}"
    );
    // As when the controller is killed: the lock is gone and the memory is not.
    drop(memory);
    let (memory, origin) = site.own(b"/a").unwrap();
    assert_eq!(origin, Origin::Recovered(owner));
    drop(memory);
    let other = Site::new("another", &[("key = !accepted", "key = accepted")]);
    let said = refusal(Memory::own(&site.name, &other.object, b"/a"));
    assert!(said.contains("holds another program than"), "{said}");
    let (memory, _) = site.own(b"/b").unwrap();
    memory.remove().unwrap();
    assert!(!site.file().exists());
}

#[test]
fn memory_of_something_else_is_left_alone_and_what_was_only_begun_is_made_anew() {
    let site = Site::new("foreign", &[]);
    for size in [1, 100, 4096, 100_000] {
        std::fs::write(site.file(), vec![1; size]).unwrap();
        for found in [
            site.own(b"/a"),
            Memory::open(&site.name).map(|(m, _)| (m, Origin::Made)),
        ] {
            let said = refusal(found);
            assert!(said.contains("has another layout"), "{size} bytes: {said}");
            assert!(said.contains("; remove /dev/shm/tare-test-"), "{said}");
        }
        assert_eq!(std::fs::read(site.file()).unwrap(), vec![1; size]);
    }
    for size in [0, 4096, 100_000] {
        std::fs::write(site.file(), vec![0; size]).unwrap();
        let said = Memory::open(&site.name).err().unwrap().to_string();
        assert!(said.contains("is not made yet; wait"), "{said}");
        let (memory, origin) = site.own(b"/a").unwrap();
        assert_eq!(origin, Origin::Made);
        memory.remove().unwrap();
    }
}

#[test]
fn complete_memory_with_a_changed_byte_is_refused_or_still_holds_the_program() {
    let site = Site::new("changed", &[]);
    drop(site.own(b"/a").unwrap());
    let whole = std::fs::read(site.file()).unwrap();
    for at in (0..4096 + 16).chain((4096..whole.len()).step_by(509)) {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(site.file(), &changed).unwrap();
        if let Err(error) = Memory::open(&site.name) {
            let said = format!("{error:#}");
            assert!(said.contains("another layout"), "byte {at}: {said}");
        }
        if at == 0 || (16..32).contains(&at) || (4096..4112).contains(&at) {
            assert!(Memory::open(&site.name).is_err(), "byte {at}");
        }
    }
    std::fs::write(site.file(), &whole[..whole.len() - 1]).unwrap();
    assert!(Memory::open(&site.name).is_err());
}

#[test]
fn a_program_that_cannot_be_used_is_refused_with_the_reason() {
    let site = Site::new("unusable", &[]);
    let said = refusal(Memory::own(&site.name, "/nowhere.o".as_ref(), b""));
    assert!(
        said.contains("cannot be read; give --object the file that"),
        "{said}"
    );
    for (change, reason) in [
        (
            ("prefixes", "others"),
            "it has no array \"prefixes\" of 2 values of 4096 bytes",
        ),
        (
            ("length > PREFIX_MAX", "length > 5000"),
            "may reach outside the map's value",
        ),
        (
            (
                "accepted = matches(context, prefix);",
                "accepted = *generation ? filter_path(context) : 0;",
            ),
            "the function calls itself",
        ),
    ] {
        let other = Site::new("refused", &[change]);
        let said = refusal(other.own(b""));
        assert!(
            said.contains("is refused; correct it and try again"),
            "{said}"
        );
        assert!(said.contains(reason), "{said}");
        assert!(!other.file().exists());
    }
}
