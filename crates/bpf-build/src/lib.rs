//! Compiles a BPF program for the build script that asks for it.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

/// Compile `src/bpf/NAME.bpf.c` into `NAME.bpf.o` of the build's folder; `includes` are folders of
/// headers.
///
/// # Panics
/// When the program does not compile.
pub fn compile(name: &str, includes: &[&str]) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // Where distributions for several architectures keep asm/types.h.
    let machine = format!("/usr/include/{}-linux-gnu", env::consts::ARCH);
    let folders = includes.iter().copied().chain([machine.as_str()]);
    let warnings = ["-Wall", "-Werror"].map(String::from);
    SkeletonBuilder::new()
        .source(format!("src/bpf/{name}.bpf.c"))
        .clang_args(folders.map(|folder| format!("-I{folder}")).chain(warnings))
        .obj(out.join(format!("{name}.bpf.o")))
        .build()
        .expect("the BPF program compiles; it needs clang, and libelf-dev and zlib1g-dev");
    for folder in ["src/bpf"].iter().chain(includes) {
        println!("cargo:rerun-if-changed={folder}");
    }
}
