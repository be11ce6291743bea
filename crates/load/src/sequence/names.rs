//! The names of a sequence's values.

use std::collections::HashMap;

use super::take::Use;

/// The names of a sequence's values, as its requests take and use them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    numbers: HashMap<String, usize>,
    /// The strictest use of each value.
    uses: Vec<Use>,
}

impl Names {
    /// The number of a value that an earlier request takes.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The number of a value that a request takes, of the same name always the same.
    pub fn add(&mut self, name: &str) -> usize {
        let next = self.uses.len();
        let number = *self.numbers.entry(name.into()).or_insert(next);
        if number == next {
            self.uses.push(Use::default());
        }
        number
    }

    /// Note a use of a value.
    pub fn note(&mut self, number: usize, used: Use) {
        self.uses[number] = self.uses[number].max(used);
    }

    /// The strictest use of a value.
    pub fn used(&self, number: usize) -> Use {
        self.uses[number]
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.uses.len()
    }
}
