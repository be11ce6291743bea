//! Compiles the BPF program.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

const SOURCE: &str = "src/bpf/skmsg.bpf.c";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // Where distributions for several architectures keep asm/types.h.
    let machine = format!("/usr/include/{}-linux-gnu", env::consts::ARCH);
    SkeletonBuilder::new()
        .source(SOURCE)
        .clang_args([format!("-I{machine}"), "-Wall".into(), "-Werror".into()])
        .obj(out.join("skmsg.bpf.o"))
        .build()
        .expect("the BPF program compiles; it needs clang, and libelf-dev and zlib1g-dev");
    println!("cargo:rerun-if-changed=src/bpf");
}
