//! Mode `kvm` on other processors than x86-64, to say that it is not there.

use std::sync::Arc;

use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Promise, Template};

/// The mode.
pub struct Kvm;

const LACKING: &str = "mode kvm needs an x86-64 processor; load it in another mode";

impl Mode for Kvm {
    fn name(&self) -> &'static str {
        "kvm"
    }

    fn promise(&self) -> Promise {
        Promise::Apart
    }

    fn summary(&self) -> &'static str {
        "a virtual machine without a kernel, on x86-64 processors only: not here"
    }

    fn accept(&self, _: &Binary, _: &Limits) -> Result<(), String> {
        Err(LACKING.into())
    }

    fn prepare(&self, _: Arc<Binary>, _: &Limits) -> Result<Arc<dyn Template>, String> {
        Err(LACKING.into())
    }
}
