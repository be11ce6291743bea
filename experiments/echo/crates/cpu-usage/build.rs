//! Compiles the BPF program.

fn main() {
    tare_bpf_build::compile("usage", &[]);
}
