//! The first process of the sandbox of mode `gvisor-shared`. The sandbox starts it; nobody else has a use for it.

fn main() -> ! {
    sandbox_runtime::modes::container::around::nursery::main()
}
