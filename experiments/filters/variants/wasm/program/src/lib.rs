//! The engine of the variant `wasm`: the functions of `filter_guest.h` over wasmtime.
//!
//! A module is taken in once, in nginx's master; each worker has an instance of it.

mod guest;
mod limit;
mod module;

use std::cell::UnsafeCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::slice;

use crate::guest::Guest;
use crate::module::Loaded;

/// Begins every message.
#[repr(transparent)]
pub struct Name([u8; 5]);

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
/// The C side's `guest_name`.
pub static guest_name: Name = Name(*b"wasm\0");

/// All that there is between calls.
struct State {
    loaded: Option<Loaded>,
    /// The module of a new configuration while it is tried.
    candidate: Option<Loaded>,
    guest: Option<Guest>,
    /// The last reason, which the caller may still read.
    why: Option<CString>,
}

struct Single(UnsafeCell<State>);

// SAFETY: nginx calls a filter library from its main thread only.
unsafe impl Sync for Single {}

static STATE: Single = Single(UnsafeCell::new(State {
    loaded: None,
    candidate: None,
    guest: None,
    why: None,
}));

/// Run `act`; -1 and the reason when it fails.
fn answer(why: *mut *const c_char, act: impl FnOnce(&mut State) -> Result<c_int, String>) -> c_int {
    // SAFETY: one thread, and no function here calls another one that comes this way.
    let state = unsafe { &mut *STATE.0.get() };
    act(state).unwrap_or_else(|reason| {
        let reason = CString::new(reason.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the caller hands over a place for the reason.
        unsafe { *why = state.why.insert(reason).as_ptr() };
        -1
    })
}

/// Take in the module that `WASM_MODULE_PATH` names. See `filter_guest.h`.
///
/// # Safety
/// `why` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guest_load(why: *mut *const c_char) -> c_int {
    answer(why, |state| {
        state.candidate = Some(module::load()?);
        Ok(0)
    })
}

/// Keep the module taken in, or the one before. See `filter_guest.h`.
#[unsafe(no_mangle)]
pub extern "C" fn guest_settle(keep: c_int) {
    // SAFETY: as in `answer`.
    let state = unsafe { &mut *STATE.0.get() };
    let candidate = state.candidate.take();
    if keep != 0 {
        state.loaded = candidate;
    }
}

/// A new instance. See `filter_guest.h`.
///
/// # Safety
/// `why` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guest_start(why: *mut *const c_char) -> c_int {
    answer(why, |state| {
        let loaded = state.candidate.as_ref().or(state.loaded.as_ref());
        let loaded = loaded.ok_or("no module is loaded")?;
        state.guest = Some(Guest::start(loaded)?);
        Ok(0)
    })
}

/// End the instance. See `filter_guest.h`.
#[unsafe(no_mangle)]
pub extern "C" fn guest_stop() {
    // SAFETY: as in `answer`.
    unsafe { (*STATE.0.get()).guest = None };
}

/// Give the guest a prefix. See `filter_guest.h`.
///
/// # Safety
/// `prefix` points to `length` bytes, and `why` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guest_set_prefix(
    prefix: *const c_void,
    length: usize,
    why: *mut *const c_char,
) -> c_int {
    answer(why, |state| {
        let guest = state.guest.as_mut().ok_or("the guest was not started")?;
        // SAFETY: as the caller promises.
        guest.set_prefix(unsafe { slice::from_raw_parts(prefix.cast(), length) })?;
        Ok(0)
    })
}

/// The guest's answer. See `filter_guest.h`.
///
/// # Safety
/// `url` points to `length` bytes, and `why` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guest_filter(
    url: *const c_void,
    length: usize,
    why: *mut *const c_char,
) -> c_int {
    answer(why, |state| {
        let guest = state.guest.as_mut().ok_or("the guest was not started")?;
        // SAFETY: as the caller promises.
        let accepted = guest.filter(unsafe { slice::from_raw_parts(url.cast(), length) })?;
        Ok(c_int::from(accepted))
    })
}
