//! Does the rare work that keepers may not: those that have confined themselves see no process, and can
//! end none but by its descriptor.

use std::sync::mpsc::{Sender, channel};

type Order = Box<dyn FnOnce() + Send>;

/// Takes orders, one after the other, until all who could give one are gone.
#[derive(Clone)]
pub struct Janitor(Sender<Order>);

impl Janitor {
    /// With a thread of its own, which has this name.
    ///
    /// # Errors
    ///
    /// The kernel's, when there can be no more threads.
    pub fn new(name: &str) -> std::io::Result<Self> {
        let (sender, orders) = channel::<Order>();
        std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                for order in orders {
                    order();
                }
            })?;
        Ok(Janitor(sender))
    }

    /// Has something done, some time.
    pub fn order(&self, order: impl FnOnce() + Send + 'static) {
        let _ = self.0.send(Box::new(order));
    }
}
