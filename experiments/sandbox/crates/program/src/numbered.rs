//! Calls under way that can be cancelled by a number. Callers choose numbers, so that several calls may have
//! the same one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sandbox_runtime::call::Caller;

/// The callers of each number.
#[derive(Default)]
pub struct Numbered(Mutex<HashMap<u64, Vec<Arc<Caller>>>>);

/// A call under way. It has its number until this is dropped.
pub struct Entry<'a> {
    all: &'a Numbered,
    number: u64,
    caller: Arc<Caller>,
}

impl Numbered {
    /// Give a caller's call the number; none if that is 0.
    pub fn enter(&self, number: u64, caller: &Arc<Caller>) -> Option<Entry<'_>> {
        if number == 0 {
            return None;
        }
        self.lock().entry(number).or_default().push(caller.clone());
        Some(Entry {
            all: self,
            number,
            caller: caller.clone(),
        })
    }

    /// Cancel all calls that have the number. Return false if there is none.
    pub fn cancel(&self, number: u64) -> bool {
        let all = self.lock();
        let found = all.get(&number);
        for caller in found.into_iter().flatten() {
            caller.cancel();
        }
        found.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Vec<Arc<Caller>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        let Some(callers) = all.get_mut(&self.number) else {
            return;
        };
        if let Some(own) = callers
            .iter()
            .position(|each| Arc::ptr_eq(each, &self.caller))
        {
            callers.swap_remove(own);
        }
        if callers.is_empty() {
            all.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Arc<Caller> {
        Arc::new(Caller::new(None).unwrap())
    }

    #[test]
    fn a_number_leads_to_all_its_callers() {
        let (numbered, callers) = (Numbered::default(), [caller(), caller(), caller()]);
        let [first, second, other] = &callers;
        let entries = (numbered.enter(7, first), numbered.enter(7, second));
        let third = numbered.enter(8, other);
        assert!(numbered.cancel(7));
        assert!(first.is_cancelled() && second.is_cancelled() && !other.is_cancelled());
        second.begin();
        // The end of one call takes nothing from the other.
        drop(entries.0);
        assert!(numbered.cancel(7) && second.is_cancelled());
        drop((entries.1, third));
        assert!(!numbered.cancel(7) && !numbered.cancel(8));
        assert!(numbered.lock().is_empty());
    }

    #[test]
    fn a_call_without_a_number_is_none_of_them() {
        let numbered = Numbered::default();
        assert!(numbered.enter(0, &caller()).is_none());
        assert!(!numbered.cancel(0));
    }
}
