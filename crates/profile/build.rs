//! Compiles the BPF programs.

fn main() {
    tare_bpf_build::compile("profile", &[]);
    tare_bpf_build::compile("tail", &[]);
}
