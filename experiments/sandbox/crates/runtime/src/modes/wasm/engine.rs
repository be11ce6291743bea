//! The engine that modules are compiled for and run by. Its compiler is used in a process of its own.

use std::hash::{DefaultHasher, Hash, Hasher};

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::channel::TABLE_ELEMENTS;
use crate::limits::Limits;

/// Instances of one binary at once. Each reserves 4 GiB of addresses, so that no access needs a check.
const INSTANCES: u32 = 512;
/// Bytes of an instance that are cleared by writing rather than by giving pages back.
const KEPT: usize = 256 << 10;

/// Make the engine that runs instances, whose places it sets aside.
///
/// # Errors
///
/// The engine's, if there is no room for them.
pub fn running(limits: &Limits) -> wasmtime::Result<Engine> {
    let most = usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX);
    let mut pool = PoolingAllocationConfig::default();
    pool.total_core_instances(INSTANCES)
        .total_memories(INSTANCES)
        .total_tables(INSTANCES)
        .total_stacks(INSTANCES)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(most.min(4 << 30))
        .linear_memory_keep_resident(KEPT)
        .table_keep_resident(KEPT);
    Engine::new(config().allocation_strategy(InstanceAllocationStrategy::Pooling(pool)))
}

/// Make the engine that compiles, and sets aside nothing.
///
/// # Errors
///
/// The engine's.
pub fn compiling() -> wasmtime::Result<Engine> {
    Engine::new(&config())
}

/// Return a number that two engines share if either runs what was compiled for the other.
pub fn key(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .memory_init_cow(true)
        .epoch_interruption(true)
        .wasm_backtrace_max_frames(None)
        .wasm_memory64(false)
        .wasm_multi_memory(false);
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_engine_compiles_the_other_runs() {
        let running = running(&Limits::default()).unwrap();
        assert_eq!(key(&running), key(&compiling().unwrap()));
    }
}
