//! Functions about the guest and its surroundings: arguments, time, random numbers.

use rustix::time::{ClockId, clock_getres, clock_gettime};
use wasmtime::{Caller, Linker};

use super::view::{Errno, FAULT, INVAL, MODULE, SUCCESS, View, errno};
use crate::modes::wasm::channel::Host;

/// The most random bytes at once.
const RANDOM: u32 = 1 << 20;

/// Its arguments are its name and the number of its channel; its environment is empty.
pub fn describe_itself(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    const ARGUMENTS: &[u8] = b"udf\x003\x00";
    linker.func_wrap(
        MODULE,
        "args_sizes_get",
        |mut guest: Caller<'_, Host>, count: i32, size: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                view.put(count as u32, &2u32.to_le_bytes())?;
                view.put(size as u32, &(ARGUMENTS.len() as u32).to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "args_get",
        |mut guest: Caller<'_, Host>, list: i32, text: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                let (list, text) = (list as u32, text as u32);
                let second = list.checked_add(4).ok_or(FAULT)?;
                view.put(text, ARGUMENTS)?;
                view.put(list, &text.to_le_bytes())?;
                view.put(second, &(text + 4).to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "environ_sizes_get",
        |mut guest: Caller<'_, Host>, count: i32, size: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                view.put(count as u32, &[0; 4])?;
                view.put(size as u32, &[0; 4])
            }))
        },
    )?;
    linker.func_wrap(MODULE, "environ_get", |_: i32, _: i32| SUCCESS)?;
    Ok(())
}

pub fn offer_time(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let nanoseconds = |time: rustix::time::Timespec| {
        (time.tv_sec as u64).wrapping_mul(1_000_000_000) + time.tv_nsec as u64
    };
    linker.func_wrap(
        MODULE,
        "clock_res_get",
        move |mut guest: Caller<'_, Host>, which: i32, at: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                let fine = nanoseconds(clock_getres(clock(which)?));
                view.put(at as u32, &fine.to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "clock_time_get",
        move |mut guest: Caller<'_, Host>, which: i32, _: i64, at: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                let now = nanoseconds(clock_gettime(clock(which)?));
                view.put(at as u32, &now.to_le_bytes())
            }))
        },
    )?;
    Ok(())
}

pub fn clock(number: i32) -> Result<ClockId, Errno> {
    match number {
        0 => Ok(ClockId::Realtime),
        1 => Ok(ClockId::Monotonic),
        _ => Err(INVAL),
    }
}

/// At most as many as take less than a tick, since nothing interrupts it.
pub fn random_get(mut guest: Caller<'_, Host>, at: i32, length: i32) -> Errno {
    if length as u32 > RANDOM {
        return INVAL;
    }
    errno(View::of(&mut guest).and_then(|mut view| {
        for piece in view.bytes(at as u32, length as u32)?.chunks_mut(256) {
            // SAFETY: the piece is as long as it says. Up to 256 bytes always come whole.
            unsafe { libc::getrandom(piece.as_mut_ptr().cast(), piece.len(), 0) };
        }
        Ok(())
    }))
}
