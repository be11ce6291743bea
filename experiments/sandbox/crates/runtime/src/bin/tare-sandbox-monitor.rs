//! The process around a guest of mode `kvm`. The sandbox starts it; nobody else has a use for it.

fn main() -> ! {
    sandbox_runtime::modes::kvm::monitor::main()
}
