//! Nanoseconds of a call: compiled programs beside the same rule in native C, both in loops over bytes
//! and in bigger steps.
//!
//! `cargo run --release -p filter-ebpf --example call_cost`, with clang and cc installed. Each is the
//! least of many rounds, taken in turns. A first look on whatever machine this is; the experiment
//! measures properly.

use std::ffi::CString;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use filter_ebpf::compile::Compiled;
use filter_ebpf::context::ContextLayout;
use filter_ebpf::elf;
use filter_ebpf::maps::{Maps, Update};
use filter_ebpf::verifier::Verified;

const CALLS: u32 = 200_000;
const ROUNDS: usize = 25;

/// A way to decide, by name.
type Way<'a> = (&'a str, &'a mut dyn FnMut(&[u8]) -> u64);

type Native = unsafe extern "C" fn(*const u8, usize, *const u8) -> i32;

/// Compiles a source of tests/programs into a file of its own.
fn build(compiler: &str, arguments: &[&str], source: &str, made: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let done = Command::new(compiler)
        .args(arguments)
        .args([&source, Path::new("-o"), made])
        .status()
        .unwrap_or_else(|error| panic!("{compiler} does not run: {error}; install it"));
    assert!(done.success(), "{} does not compile", source.display());
}

/// The program with a prefix set; with `-DBYTES` it compares byte by byte.
fn program(folder: &Path, prefix: &[u8], options: &[&str]) -> Compiled {
    let made = folder.join("prefix.bpf.o");
    let arguments = [
        &["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-c"][..],
        options,
    ];
    build("clang", &arguments.concat(), "prefix.bpf.c", &made);
    let object = std::fs::read(made).expect("just made");
    let program = elf::load(&object, "filter").expect("a program in section filter");
    let verified = Verified::new(program, ContextLayout::windows(1)).expect("accepted");
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).expect("memory"));
    let map = maps.by_name("prefixes").expect("declared");
    map.update(&[0; 4], prefix, Update::Any).expect("set");
    let begun = Instant::now();
    let compiled = Compiled::new(&verified, maps).expect("compiles");
    println!("compiled {options:?} in {:?}", begun.elapsed());
    compiled
}

/// A function of native.c, for as long as the process lives.
fn native(library: &Path, name: &str) -> Native {
    let library = CString::new(library.as_os_str().as_encoded_bytes()).expect("no NUL");
    let name = CString::new(name).expect("no NUL");
    // SAFETY: the library was just made of native.c, whose functions have this type.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null(), "the library loads");
        let found = libc::dlsym(handle, name.as_ptr());
        assert!(!found.is_null(), "the function is there");
        std::mem::transmute::<*mut libc::c_void, Native>(found)
    }
}

/// The least nanoseconds of each call, over rounds in turns.
fn best(calls: &mut [Way<'_>], path: &[u8]) -> Vec<f64> {
    let mut least = vec![f64::MAX; calls.len()];
    for _ in 0..ROUNDS {
        for (least, (_, call)) in least.iter_mut().zip(&mut *calls) {
            let begun = Instant::now();
            for _ in 0..CALLS {
                black_box(call(black_box(path)));
            }
            *least = least.min(begun.elapsed().as_nanos() as f64 / f64::from(CALLS));
        }
    }
    least
}

fn main() {
    let folder: PathBuf = std::env::temp_dir().join(format!("call_cost-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder for what is compiled");
    let library = folder.join("native.so");
    build("cc", &["-O2", "-shared", "-fPIC"], "native.c", &library);
    for length in [5, 16, 64, 1024] {
        let prefix: Vec<u8> = (0..length).map(|n| b"/abcdefg"[n % 8]).collect();
        let mut value = (prefix.len() as u32).to_le_bytes().to_vec();
        value.extend(&prefix);
        value.resize(4096, 0);
        let (bytes, words) = (
            program(&folder, &value, &["-DBYTES"]),
            program(&folder, &value, &[]),
        );
        let (by_bytes, by_memcmp) = (native(&library, "by_bytes"), native(&library, "by_memcmp"));
        // SAFETY: path and prefix are as long as they say.
        let c = |call: Native, path: &[u8]| unsafe {
            call(path.as_ptr(), path.len(), value.as_ptr()) as u64
        };
        let calls: &mut [Way<'_>] = &mut [
            ("C by bytes", &mut |path| c(by_bytes, path)),
            ("ebpf by bytes", &mut |path| {
                bytes.run([path], 100_000).unwrap_or(2)
            }),
            ("C with memcmp", &mut |path| c(by_memcmp, path)),
            ("ebpf by words", &mut |path| {
                words.run([path], 100_000).unwrap_or(2)
            }),
        ];
        let mut path = prefix.clone();
        path.extend(b"/index.html");
        for case in ["accepted", "rejected at byte 2"] {
            let least = best(calls, &path);
            let texts = calls.iter().zip(least);
            let texts: Vec<_> = texts
                .map(|((name, _), ns)| format!("{name} {ns:.1} ns"))
                .collect();
            println!("{length} bytes {case}: {}", texts.join(", "));
            path[1] = b'!';
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}
