//! No isolation: what a call costs at least. Limits hold here as everywhere.

use std::sync::Arc;

use super::requirements::only_elf;
use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Promise, Template};
use crate::process::recipe::Recipe;
use crate::process::spawner::{Confined, Confinement};
use crate::process::verify::Evidence;
use crate::slot::Slot;

/// The mode.
pub struct None;

impl Mode for None {
    fn name(&self) -> &'static str {
        "none"
    }

    fn promise(&self) -> Promise {
        Promise::Limits
    }

    fn summary(&self) -> &'static str {
        "nothing: a process of the host's own user, with limits"
    }

    fn accept(&self, binary: &Binary, _: &Limits) -> Result<(), String> {
        only_elf(self.name(), binary)
    }

    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String> {
        Ok(Arc::new(Confined::new(Open, binary, limits)))
    }
}

struct Open;

impl Confinement for Open {
    fn evidence(&self) -> Evidence {
        Evidence::default()
    }

    fn flags(&self) -> i32 {
        0
    }

    fn settle(&self) -> Result<(), String> {
        Ok(())
    }

    fn confine(&self, _: &mut Recipe, _: &Slot) -> Result<(), String> {
        Ok(())
    }
}
