//! The helpers, behind the one signature by which compiled code and the interpreter call them.

use std::mem::MaybeUninit;
use std::panic::catch_unwind;
use std::ptr;
use std::slice;
use std::sync::atomic::{Ordering, compiler_fence};

use crate::helpers::Helper;
use crate::maps::{self, Map, MapError, Update};
use crate::program::MAX_KEY;
use crate::trace;

/// A helper as machine code calls it: r1…r5 to r0. Maps are addresses of [`Map`].
pub type Function = unsafe extern "C" fn(u64, u64, u64, u64, u64) -> u64;

/// r1…r5.
type Arguments = [u64; 5];

/// Return a function for machine code that runs `$body`, and gives `$failed` when that panics.
macro_rules! guarded {
    ($body:expr, $failed:expr) => {{
        unsafe extern "C" fn entry(r1: u64, r2: u64, r3: u64, r4: u64, r5: u64) -> u64 {
            let body: unsafe fn(Arguments) -> u64 = $body;
            // SAFETY: as `function` demands of who calls this.
            let run = || unsafe { body([r1, r2, r3, r4, r5]) };
            catch_unwind(run).unwrap_or($failed)
        }
        entry
    }};
}

/// Return the function that runs when a program calls the helper; `None` for those that the compiled code and
/// the interpreter do by themselves.
///
/// # Safety
/// Calls of it must pass what [`Helper::arguments`] says, alive for the time of the call.
pub fn function(helper: Helper) -> Option<Function> {
    const FAILED: u64 = -(MapError::Invalid as i64) as u64;
    Some(match helper {
        Helper::MapLookup => guarded!(map_lookup, 0),
        Helper::MapUpdate => guarded!(map_update, FAILED),
        Helper::MapDelete => guarded!(map_delete, FAILED),
        Helper::KtimeNs => guarded!(ktime_ns, 0),
        Helper::TracePrintk => guarded!(trace_printk, FAILED),
        Helper::RandomU32 => guarded!(random_u32, 0),
        Helper::ProcessorId => guarded!(processor_id, 0),
        Helper::PerfEventOutput => guarded!(perf_event_output, FAILED),
        Helper::RingbufOutput => guarded!(ringbuf_output, FAILED),
        Helper::Strncmp => guarded!(strncmp, FAILED),
        Helper::Memcmp => guarded!(memcmp, FAILED),
        Helper::RingbufReserve => guarded!(ringbuf_reserve, 0),
        Helper::RingbufSubmit => guarded!(ringbuf_submit, 0),
        Helper::RingbufDiscard => guarded!(ringbuf_discard, 0),
        Helper::RingbufQuery => guarded!(ringbuf_query, 0),
        Helper::TailCall | Helper::Loop => return None,
    })
}

unsafe fn memory<'a>(address: u64, bytes: u64) -> &'a [u8] {
    // SAFETY: the caller vouches for it.
    unsafe { slice::from_raw_parts(address as *const u8, bytes as usize) }
}

unsafe fn map<'a>(address: u64) -> &'a Map {
    // SAFETY: the caller vouches for it.
    unsafe { &*(address as *const Map) }
}

/// A copy of a key, whose memory other threads may change, or the operation itself.
struct Key {
    bytes: [MaybeUninit<u8>; MAX_KEY],
    size: usize,
}

impl Key {
    /// Copy the key at an address.
    ///
    /// # Safety
    /// There must be as many bytes as a key of the map has.
    unsafe fn of(map: &Map, address: u64) -> Self {
        let mut key = Self {
            bytes: [MaybeUninit::uninit(); MAX_KEY],
            size: map.spec().key_size as usize,
        };
        // SAFETY: as the caller promises; no map's key has more than `MAX_KEY` bytes.
        unsafe { (address as *const MaybeUninit<u8>).copy_to(key.bytes.as_mut_ptr(), key.size) };
        // The compiler must not read the original again.
        compiler_fence(Ordering::SeqCst);
        key
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `of` initialised so many.
        unsafe { slice::from_raw_parts(self.bytes.as_ptr().cast(), self.size) }
    }
}

/// 0, or the error as the kernel has it: negative.
fn status(result: Result<(), MapError>) -> u64 {
    match result {
        Ok(()) => 0,
        Err(error) => (-(error as i64)) as u64,
    }
}

unsafe fn map_lookup([r1, r2, _, _, _]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    unsafe {
        let map = map(r1);
        let key = Key::of(map, r2);
        if map.spec().kind.names() {
            return map
                .named(key.bytes())
                .map_or(0, |inner| ptr::from_ref(inner) as u64);
        }
        map.lookup(key.bytes()).map_or(0, |value| value as u64)
    }
}

unsafe fn map_update([r1, r2, r3, flags, _]: Arguments) -> u64 {
    let when = match flags {
        0 => Update::Any,
        1 => Update::New,
        2 => Update::Known,
        _ => return status(Err(MapError::Invalid)),
    };
    // SAFETY: as `function` demands.
    unsafe {
        let map = map(r1);
        let value = memory(r3, u64::from(map.spec().value_size));
        status(map.update(Key::of(map, r2).bytes(), value, when))
    }
}

unsafe fn map_delete([r1, r2, _, _, _]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    unsafe {
        let map = map(r1);
        status(map.delete(Key::of(map, r2).bytes()))
    }
}

unsafe fn ktime_ns(_: Arguments) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the structure; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Write the text to standard error as it is: numbers in it are not filled in.
unsafe fn trace_printk([r1, size, _, _, _]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    let text = unsafe { memory(r1, size) };
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    trace::line(text.trim_ascii_end());
    text.len() as u64
}

unsafe fn random_u32(_: Arguments) -> u64 {
    let mut random = [0; 4];
    // SAFETY: fills the four bytes.
    unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) };
    u64::from(u32::from_ne_bytes(random))
}

unsafe fn processor_id(_: Arguments) -> u64 {
    // SAFETY: takes nothing and cannot fail on Linux.
    let processor = unsafe { libc::sched_getcpu() };
    processor.max(0) as u64
}

unsafe fn perf_event_output([_, r2, _, r4, size]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    unsafe { status(map(r2).send(memory(r4, size))) }
}

unsafe fn ringbuf_output([r1, r2, size, _, _]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    unsafe { status(map(r1).send(memory(r2, size))) }
}

unsafe fn ringbuf_reserve([r1, size, flags, _, _]: Arguments) -> u64 {
    if flags != 0 {
        return 0;
    }
    // SAFETY: as `function` demands.
    let reserved = unsafe { map(r1).reserve(size as usize) };
    reserved.map_or(0, |bytes| bytes as u64)
}

/// Submit a record. Flags about waking readers up do not matter: they look by themselves.
unsafe fn ringbuf_submit([r1, ..]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    unsafe { maps::finish(r1 as *mut u8, false) };
    0
}

unsafe fn ringbuf_discard([r1, ..]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    unsafe { maps::finish(r1 as *mut u8, true) };
    0
}

unsafe fn ringbuf_query([r1, what, ..]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    unsafe { map(r1).query(what) }
}

/// -1, 0 or 1.
fn sign(order: std::cmp::Ordering) -> u64 {
    order as i64 as u64
}

unsafe fn strncmp([r1, size, r3, _, _]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    let (a, b) = unsafe { (memory(r1, size), memory(r3, size)) };
    // What is behind the end of one of them does not count.
    let pairs = a.iter().zip(b);
    let decisive = pairs
        .map(|(a, b)| (a.cmp(b), *a))
        .find(|(order, byte)| order.is_ne() || *byte == 0);
    decisive.map_or(0, |(order, _)| sign(order))
}

unsafe fn memcmp([r1, r2, size, _, _]: Arguments) -> u64 {
    // SAFETY: as `function` demands.
    let order = unsafe { memory(r1, size).cmp(memory(r2, size)) };
    // An int: compilers expect its upper half to be zeros.
    u64::from(order as i32 as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe fn panics(_: Arguments) -> u64 {
        panic!("as this test wants")
    }

    #[test]
    fn a_panic_in_a_helper_is_a_result() {
        let entry: Function = guarded!(panics, 7);
        // SAFETY: it takes whatever it gets.
        assert_eq!(unsafe { entry(0, 0, 0, 0, 0) }, 7);
    }
}
