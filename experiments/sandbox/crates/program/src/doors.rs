//! Bounds on open connections, of all clients together and of each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most connections at once.
const MOST: usize = 4096;
/// Descriptors of this process for each connection: it has five of them during a call, and others serve
/// workers.
const DESCRIPTORS: u64 = 8;

/// Return how many connections there may be where a process has at most so many descriptors.
pub fn connections(descriptors: u64) -> usize {
    usize::try_from(descriptors / DESCRIPTORS)
        .unwrap_or(MOST)
        .clamp(2, MOST)
}

/// The connections that are open.
pub struct Doors {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: usize,
    /// Of each process that is a client, and of all together whose process is unknown.
    each: HashMap<Option<u64>, usize>,
}

/// A connection, until it is dropped.
pub struct Door {
    doors: Arc<Doors>,
    client: Option<u64>,
}

impl Doors {
    /// At most so many, and half of them for one client.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Doors {
            most,
            open: Mutex::default(),
        })
    }

    /// Let in one more connection of a client. Those whose process is unknown, in another namespace, count as one.
    ///
    /// # Errors
    ///
    /// The reason why it has to stay out, in words.
    pub fn enter(self: &Arc<Self>, client: Option<u64>) -> Result<Door, String> {
        let mut open = self.lock();
        if open.all >= self.most {
            return Err(format!("{} connections are open already", self.most));
        }
        let own = open.each.get(&client).copied().unwrap_or(0);
        if own >= self.most / 2 {
            return Err(format!("this client has {own} connections open already"));
        }
        open.each.insert(client, own + 1);
        open.all += 1;
        Ok(Door {
            doors: self.clone(),
            client,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let mut open = self.doors.lock();
        open.all -= 1;
        if let Some(own) = open.each.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                open.each.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_leaves_room_for_the_others() {
        let doors = Doors::new(4);
        let why = |client| doors.enter(client).err().unwrap_or_default();
        let mut first = vec![doors.enter(Some(1)).ok(), doors.enter(Some(1)).ok()];
        assert!(why(Some(1)).contains("has 2 connections"));
        let others = [doors.enter(Some(2)).ok(), doors.enter(Some(3)).ok()];
        assert!(others.iter().all(Option::is_some));
        assert!(why(Some(4)).contains("4 connections are open"));
        first.pop();
        assert_eq!(why(Some(1)), "");
        drop((first, others));
        let open = doors.lock();
        assert_eq!((open.all, open.each.len()), (0, 0));
    }

    #[test]
    fn clients_of_unknown_processes_leave_room_for_the_others() {
        let doors = Doors::new(4);
        let _unknown = [doors.enter(None).ok(), doors.enter(None).ok()];
        assert!(doors.enter(None).is_err() && doors.enter(Some(1)).is_ok());
    }

    #[test]
    fn few_descriptors_make_few_connections() {
        let found = [0, 1024, 20_000, u64::MAX].map(connections);
        assert_eq!(found, [2, 128, 2500, MOST]);
    }
}
