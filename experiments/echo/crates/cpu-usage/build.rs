//! Compiles the BPF program.

fn main() {
    echo_bpf_build::compile("usage", &[]);
}
