//! Time per call of a compiled program, and of the same rule in native C that compares byte by
//! byte.
//!
//! `cargo run --release -p filter-ebpf --example call_cost`, with clang and cc installed. Every round asks
//! each way in turns; printed are the median nanoseconds, and the median of the rounds' ratios to "C by
//! bytes" with its interval of 95 % by order statistics (Conover, Practical Nonparametric Statistics,
//! 3.2). "C again" is the first way once more: what its interval has is the noise.

use std::ffi::CString;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use filter_ebpf::compile::Compiled;
use filter_ebpf::context::ContextLayout;
use filter_ebpf::elf;
use filter_ebpf::fuel;
use filter_ebpf::maps::{Maps, Update};
use filter_ebpf::verifier::Verified;

const CALLS: u32 = 20_000;
const ROUNDS: usize = 501;

/// The ranks, from 0, between which the median of as many rounds lies with 95 %: of the binomial
/// distribution's normal approximation, n/2 ± 1.96·√n/2, outwards.
const INTERVAL: [usize; 2] = [228, 272];

/// A way to decide, by name.
type Way<'a> = (&'a str, &'a mut dyn FnMut(&[u8]) -> u64);

type Native = unsafe extern "C" fn(*const u8, usize, *const u8) -> i32;

/// Compile a source of this crate's folder into a file of its own.
fn build(compiler: &str, arguments: &[&str], source: &str, made: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let done = Command::new(compiler)
        .args(arguments)
        .args([&source, Path::new("-o"), made])
        .status()
        .unwrap_or_else(|error| panic!("{compiler} does not run: {error}; install it"));
    assert!(done.success(), "{} does not compile", source.display());
}

/// A program with a prefix in the first entry of its map.
fn program(folder: &Path, source: &str, options: &[&str], prefix: &[u8]) -> Compiled {
    let made = folder.join("filter.bpf.o");
    let arguments = [
        &["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-c"][..],
        options,
    ];
    build("clang", &arguments.concat(), source, &made);
    let object = std::fs::read(made).expect("just made");
    let program = elf::load(&object, "filter").expect("a program in section filter");
    let verified = Verified::new(program, ContextLayout::windows(1)).expect("accepted");
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).expect("memory"));
    let map = maps.by_name("prefixes").expect("declared");
    map.update(&[0; 4], prefix, Update::Any).expect("set");
    Compiled::new(&verified, maps, fuel::DEFAULT).expect("compiles")
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

/// The nanoseconds of each way's call, round by round, each round beginning with another way.
fn rounds(ways: &mut [Way<'_>], path: &[u8]) -> Vec<Vec<f64>> {
    let mut taken = vec![vec![0.0; ways.len()]; ROUNDS];
    for (round, taken) in taken.iter_mut().enumerate() {
        for turn in 0..ways.len() {
            let which = (round + turn) % ways.len();
            let begun = Instant::now();
            for _ in 0..CALLS {
                black_box((ways[which].1)(black_box(path)));
            }
            taken[which] = begun.elapsed().as_nanos() as f64 / f64::from(CALLS);
        }
    }
    taken
}

/// The median and its interval.
fn median(mut values: Vec<f64>) -> (f64, [f64; 2]) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], INTERVAL.map(|rank| values[rank]))
}

fn main() {
    let folder: PathBuf = std::env::temp_dir().join(format!("call_cost-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder for what is compiled");
    let library = folder.join("native.so");
    let native_c = "tests/programs/native.c";
    build("cc", &["-O2", "-shared", "-fPIC"], native_c, &library);
    for length in [5, 16, 64, 1024] {
        let prefix: Vec<u8> = (0..length).map(|n| b"/abcdefg"[n % 8]).collect();
        let mut value = (prefix.len() as u32).to_le_bytes().to_vec();
        value.extend(&prefix);
        value.resize(4096, 0);
        let by_bytes = program(&folder, "tests/programs/prefix.bpf.c", &["-DBYTES"], &value);
        let filter = program(&folder, "../../variants/ebpf/filter.bpf.c", &[], &value);
        let (loop_in_c, memcmp) = (native(&library, "by_bytes"), native(&library, "by_memcmp"));
        // SAFETY: path and prefix are as long as they say.
        let c = |call: Native, path: &[u8]| unsafe {
            call(path.as_ptr(), path.len(), value.as_ptr()) as u64
        };
        let run = |program: &Compiled, path: &[u8]| program.run([path]).expect("ends");
        let ways: &mut [Way<'_>] = &mut [
            ("C by bytes", &mut |path| c(loop_in_c, path)),
            ("C again", &mut |path| c(loop_in_c, path)),
            ("C with memcmp", &mut |path| c(memcmp, path)),
            ("eBPF by bytes", &mut |path| run(&by_bytes, path)),
            ("filter.bpf.c", &mut |path| run(&filter, path)),
        ];
        let mut path = prefix.clone();
        path.extend(b"/index.html");
        for (accepted, case) in [(1, "accepted"), (0, "rejected at byte 2")] {
            println!("{length} bytes, {case}");
            for (name, way) in &mut *ways {
                assert_eq!(way(&path), accepted, "{name} decides otherwise");
            }
            let rounds = rounds(ways, &path);
            for (which, (name, _)) in ways.iter().enumerate() {
                let (ns, _) = median(rounds.iter().map(|round| round[which]).collect());
                let ratios = rounds.iter().map(|round| round[which] / round[0]).collect();
                let (ratio, [low, high]) = median(ratios);
                println!("  {name:14} {ns:8.1} ns  {ratio:.2} [{low:.2}, {high:.2}]");
            }
            path[1] = b'!';
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}
