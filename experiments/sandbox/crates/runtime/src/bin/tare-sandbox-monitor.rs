//! The process around a guest of mode `kvm`. The sandbox starts it; nobody else has a use for it.

#[cfg(target_arch = "x86_64")]
fn main() -> ! {
    sandbox_runtime::modes::kvm::monitor::main()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    eprintln!("mode kvm needs an x86-64 processor");
    std::process::exit(1)
}
