//! Machine code for verified programs, by Cranelift.
//!
//! Registers become values that Cranelift allocates, addresses stay addresses: nothing is checked that
//! the verifier has proved. What costs at run time is fuel, one number that jumps backwards count down
//! unless their loops are proved to end soon, and calls of helpers; when it is used up, the run ends
//! with an error, from however deep a call.

mod lower;

use std::sync::Arc;

use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use thiserror::Error;

use crate::context::ContextLayout;
use crate::maps::{self, Maps};
use crate::verifier::{Touched, Verified};

/// The reason why a program cannot be compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The maps were made for another program.
    #[error("the maps are not those that the program declares")]
    Maps,
    /// A program that may take longer than it is allowed, without any jump backwards that could be counted.
    #[error(
        "a run may take {needed} units of fuel and is allowed {allowed}; make functions and loops shorter, or allow more"
    )]
    Fuel {
        /// The fuel that a run costs in any case.
        needed: u64,
        /// The fuel of a run.
        allowed: u32,
    },
    /// The machine, or a limit of the compiler.
    #[error("the compiler fails: {0}")]
    Compiler(String),
}

/// A run that used up its fuel.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the program ran out of fuel")]
pub struct OutOfFuel;

/// r0 and the fuel that is left, negative when it was used up: two registers.
#[repr(C)]
struct Outcome {
    result: u64,
    fuel: i64,
}

impl Outcome {
    /// # Safety
    /// The maps of the run must still be there.
    #[inline]
    unsafe fn result(self) -> Result<u64, OutOfFuel> {
        if self.fuel < 0 {
            // SAFETY: as the caller promises.
            unsafe { exhausted() };
            return Err(OutOfFuel);
        }
        Ok(self.result)
    }
}

/// End a run that used up its fuel.
///
/// # Safety
/// Its maps must still be there.
#[cold]
unsafe fn exhausted() {
    // SAFETY: as the caller promises.
    unsafe { maps::discard_reserved() };
}

/// The entry of a program: it takes the context's address, or the starts and ends of one or two windows
/// in registers.
#[derive(Clone, Copy)]
enum Entry {
    Context(InMemory),
    One(OneWindow),
    Two(TwoWindows),
}

type InMemory = unsafe extern "C" fn(*const u8) -> Outcome;
type OneWindow = unsafe extern "C" fn(usize, usize) -> Outcome;
type TwoWindows = unsafe extern "C" fn(usize, usize, usize, usize) -> Outcome;

impl Entry {
    /// # Safety
    /// `address` must be code of `fields` integers, or of the context's address when 0.
    unsafe fn new(address: *const u8, fields: usize) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            match fields {
                2 => Self::One(std::mem::transmute::<*const u8, OneWindow>(address)),
                4 => Self::Two(std::mem::transmute::<*const u8, TwoWindows>(address)),
                _ => Self::Context(std::mem::transmute::<*const u8, InMemory>(address)),
            }
        }
    }
}

/// Return the number of context fields that the entry takes in registers; 0 if it takes the
/// context's address.
fn fields(verified: &Verified) -> usize {
    let program = verified.program();
    let entry = program.functions()[0];
    let in_memory = |at: usize| match verified.touched(at) {
        Touched::Context(_) => !(entry.start..entry.end).contains(&at),
        Touched::Foreign => true,
        _ => false,
    };
    let count = verified.layout().fields.len();
    let windows = *verified.layout() == ContextLayout::windows((count / 2) as u8);
    // Programs that a run goes on with take the context's address.
    let windows = windows && program.continuations().is_empty();
    if windows && matches!(count, 2 | 4) && !(0..program.ops().len()).any(in_memory) {
        count
    } else {
        0
    }
}

/// A program as machine code. Processes forked after it was compiled can run it, too.
pub struct Compiled {
    entry: Entry,
    windows: usize,
    module: Option<JITModule>,
    _maps: Arc<Maps>,
}

// SAFETY: the code is not written any more, and the maps may be used by all threads.
unsafe impl Send for Compiled {}
// SAFETY: as above.
unsafe impl Sync for Compiled {}

impl Compiled {
    /// Compile a program that was verified, with the maps that it declares, for runs of `fuel` units at most
    /// ([`crate::fuel`]).
    pub fn new(verified: &Verified, maps: Arc<Maps>, fuel: u32) -> Result<Self, CompileError> {
        let program = verified.program();
        if !program
            .maps()
            .iter()
            .eq(maps.all().iter().map(|map| map.spec()))
        {
            return Err(CompileError::Maps);
        }
        let needed = verified.cost();
        let left = u32::try_from(needed)
            .ok()
            .and_then(|cost| fuel.checked_sub(cost));
        let left = left.ok_or(CompileError::Fuel {
            needed,
            allowed: fuel,
        })?;
        let mut module = module()?;
        let fields = fields(verified);
        let begin = define(&mut module, verified, &maps, fields, left)?;
        module.finalize_definitions().map_err(compiler)?;
        let address = module.get_finalized_function(begin);
        // SAFETY: the code was compiled with the signature of so many fields.
        let entry = unsafe { Entry::new(address, fields) };
        let windows = verified.layout().fields.len() / 2;
        let plain = *verified.layout() == ContextLayout::windows(windows as u8);
        Ok(Self {
            entry,
            windows: if plain { windows } else { usize::MAX },
            module: Some(module),
            _maps: maps,
        })
    }

    /// Run the program on windows.
    ///
    /// # Panics
    /// When the program was not verified for a context of as many windows and nothing else.
    #[inline]
    pub fn run<const N: usize>(&self, windows: [&[u8]; N]) -> Result<u64, OutOfFuel> {
        // An entry of one window takes the context that was verified, of one window: nothing is left to check.
        if let (Entry::One(entry), [window]) = (self.entry, &windows[..]) {
            let range = window.as_ptr_range();
            // SAFETY: as said, and the window is alive.
            return unsafe { entry(range.start.addr(), range.end.addr()).result() };
        }
        assert_eq!(N, self.windows, "the program's context has other windows");
        let context = windows.map(<[u8]>::as_ptr_range);
        // SAFETY: the context has the layout that was verified, and its windows are alive.
        unsafe { self.run_raw(context.as_ptr().cast()) }
    }

    /// Run the program on a context of any layout.
    ///
    /// # Safety
    /// `context` must have the layout that the program was verified for, each window must be readable
    /// from its start to its end, and its end not below its start.
    #[inline]
    pub unsafe fn run_raw(&self, context: *const u8) -> Result<u64, OutOfFuel> {
        // SAFETY: verified code, called with what it was verified for; where it takes fields, the
        // context has as many of them.
        unsafe {
            let field = |index| context.cast::<usize>().add(index).read_unaligned();
            let outcome = match self.entry {
                Entry::Context(entry) => entry(context),
                Entry::One(entry) => entry(field(0), field(1)),
                Entry::Two(entry) => entry(field(0), field(1), field(2), field(3)),
            };
            outcome.result()
        }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: `run` borrows self, so nobody runs the code.
            unsafe { module.free_memory() };
        }
    }
}

/// Define all functions of a program. Return the one that a run begins with.
fn define(
    module: &mut JITModule,
    verified: &Verified,
    maps: &Maps,
    fields: usize,
    fuel: u32,
) -> Result<FuncId, CompileError> {
    let program = verified.program();
    let count = program.functions().len();
    // A run that may go on with other programs, also with its first, begins before that.
    let goes_on = !program.continuations().is_empty();
    let parts = (0..count).map(Part::Function);
    let parts: Vec<Part> = parts.chain(goes_on.then_some(Part::Begin)).collect();
    let arguments = |part| match part {
        // The context or its fields.
        Part::Begin => 1,
        Part::Function(0) if !goes_on => fields.max(1),
        // r1…r5 and the fuel; then where it is counted how often a run went on.
        Part::Function(_) => 6 + usize::from(goes_on),
    };
    let mut ids = Vec::new();
    for (number, &part) in parts.iter().enumerate() {
        let signature = signature(module, arguments(part));
        let id = module.declare_function(&format!("f{number}"), Linkage::Local, &signature);
        ids.push(id.map_err(compiler)?);
    }
    let mut context = module.make_context();
    let mut scratch = FunctionBuilderContext::new();
    for (&part, &id) in parts.iter().zip(&ids) {
        context.func.signature = signature(module, arguments(part));
        let unit = lower::Unit {
            verified,
            maps,
            ids: &ids,
            module,
            function: &mut context.func,
            scratch: &mut scratch,
            fields: part == Part::Function(0) && fields > 0,
            fuel,
            goes_on,
        };
        match part {
            Part::Begin => lower::begin(unit),
            Part::Function(number) => lower::function(unit, number),
        }
        module.define_function(id, &mut context).map_err(compiler)?;
        module.clear_context(&mut context);
    }
    Ok(ids[if goes_on { count } else { 0 }])
}

/// A function to compile: one of the program, or the one that begins a run before its first.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Function(usize),
    Begin,
}

fn compiler(error: impl std::fmt::Display + std::fmt::Debug) -> CompileError {
    CompileError::Compiler(format!("{error:?}"))
}

fn module() -> Result<JITModule, CompileError> {
    let mut flags = settings::builder();
    let wanted = [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("unwind_info", "false"),
        // A fault of the lowering is an error then, not wrong code.
        ("enable_verifier", "true"),
    ];
    for (name, value) in wanted {
        flags.set(name, value).map_err(compiler)?;
    }
    let isa = cranelift_native::builder()
        .map_err(compiler)?
        .finish(settings::Flags::new(flags))
        .map_err(compiler)?;
    Ok(JITModule::new(JITBuilder::with_isa(
        isa,
        default_libcall_names(),
    )))
}

/// Some integers, to r0 and the fuel that is left.
fn signature(module: &JITModule, arguments: usize) -> Signature {
    let mut signature = module.make_signature();
    signature.call_conv = CallConv::SystemV;
    let integer = AbiParam::new(types::I64);
    signature.params = vec![integer; arguments];
    signature.returns = vec![integer; 2];
    signature
}
