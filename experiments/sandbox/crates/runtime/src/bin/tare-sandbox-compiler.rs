//! Compiles a module of mode `wasm`. The sandbox starts it; nobody else has a use for it.

fn main() -> ! {
    sandbox_runtime::modes::wasm::compiler::main()
}
