//! The modes.

pub mod container;
#[cfg(target_arch = "x86_64")]
pub mod kvm;
mod landlock;
mod namespaces;
#[cfg(not(target_arch = "x86_64"))]
mod no_kvm;
mod none;
mod requirements;
mod roma;
mod root;
pub(crate) mod user;
pub mod wasm;

pub(crate) use self::root::drop_bounding_set;
use crate::mode::Mode;
#[cfg(not(target_arch = "x86_64"))]
use no_kvm as kvm;

/// All of them, the least isolated first.
pub fn all() -> Vec<Box<dyn Mode>> {
    vec![
        Box::new(none::None),
        Box::new(landlock::Landlock),
        Box::new(namespaces::Namespaces),
        Box::new(roma::Roma {
            form: roma::Form::Improved,
        }),
        Box::new(roma::Roma {
            form: roma::Form::Original,
        }),
        Box::new(wasm::Wasm),
        Box::new(container::GvisorShared),
        Box::new(container::Gvisor),
        Box::new(container::Bwrap),
        Box::new(container::Crun),
        Box::new(container::Runc),
        Box::new(kvm::Kvm),
    ]
}
