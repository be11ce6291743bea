use super::*;
use crate::call::{Attempt, Terms};
use crate::callee::Instance;
use std::time::Duration;

struct Nobody;

impl Instance for Nobody {
    fn call(&mut self, _: &[u8], _: &Terms) -> Attempt {
        unreachable!("nobody is called")
    }
}

fn ready(place: usize) -> Ready {
    Ready {
        place,
        keeper: 0,
        callee: Callee::Instance(Box::new(Nobody)),
        client: None,
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(20)
}

fn late() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn caller() -> Arc<Caller> {
    Arc::new(Caller::new(None).unwrap())
}

#[test]
fn the_last_to_get_ready_is_taken_first() {
    let pool = Pool::new(0, PerClient::ALL);
    assert!(pool.put(ready(1)).is_none() && pool.put(ready(2)).is_none());
    let places = [(); 2].map(|()| pool.take(&caller(), late()).map(|ready| ready.place).ok());
    assert_eq!(places, [Some(2), Some(1)]);
    assert_eq!(pool.take(&caller(), late()).err(), Some(Failure::Busy));
}

#[test]
fn who_waits_gets_the_next_worker_or_the_deadline_or_the_end() {
    let pool = Pool::new(1, PerClient::ALL);
    assert_eq!(pool.take(&caller(), soon()).err(), Some(Failure::Deadline));
    assert_eq!(pool.counts(), (0, 0));
    let waits = |act: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.take(&caller(), late()).map(|ready| ready.place));
            while pool.counts().1 == 0 {
                std::thread::yield_now();
            }
            assert_eq!(pool.take(&caller(), late()).err(), Some(Failure::Busy));
            act();
            waiting.join().unwrap()
        })
    };
    assert_eq!(waits(&|| assert!(pool.put(ready(7)).is_none())), Ok(7));
    let trouble = Failure::NotReady("why".into());
    assert_eq!(waits(&|| pool.despair("why")), Err(trouble.clone()));
    assert_eq!(pool.take(&caller(), late()).err(), Some(trouble));
    assert!(pool.put(ready(8)).is_none());
    assert_eq!(pool.take(&caller(), late()).map(|ready| ready.place), Ok(8));
    assert_eq!(
        waits(&|| drop(pool.close(Failure::Stopping))),
        Err(Failure::Stopping)
    );
    assert!(pool.put(ready(9)).is_some());
}

#[test]
fn who_cancels_waits_no_longer() {
    let pool = Pool::new(1, PerClient::ALL);
    let who = caller();
    who.cancel();
    assert_eq!(pool.take(&who, late()).err(), Some(Failure::Cancelled));
    assert_eq!(pool.counts(), (0, 0));
}

/// A client whose calls wait each on a thread, in their order, and tell when they have a worker.
fn wait<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    pool: &'scope Pool,
    client: u64,
    served: &std::sync::mpsc::Sender<u64>,
) {
    let (before, served) = (pool.counts().1, served.clone());
    let who = Arc::new(Caller::new(None).unwrap().of(client));
    scope.spawn(move || {
        let taken = pool.take(&who, late()).map(|ready| ready.client);
        assert_eq!(taken.ok(), Some(Some(client)));
        served.send(client)
    });
    while pool.counts().1 == before {
        std::thread::yield_now();
    }
}

#[test]
fn a_worker_goes_to_the_client_that_has_fewest() {
    let pool = Pool::new(10, PerClient::ALL);
    let (served, order) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for client in [1, 1, 1, 2, 3, 2] {
            wait(scope, &pool, client, &served);
        }
        let order: Vec<u64> = (0..6)
            .map(|place| {
                assert!(pool.put(ready(place)).is_none());
                order.recv().unwrap()
            })
            .collect();
        assert_eq!(order, [1, 2, 3, 1, 2, 1]);
    });
}

#[test]
fn a_client_has_no_more_than_its_share() {
    let share = PerClient {
        calls: 2,
        workers: 1,
    };
    let pool = Pool::new(10, share);
    let (served, order) = std::sync::mpsc::channel();
    let of = |client| Arc::new(Caller::new(None).unwrap().of(client));
    for place in 0..2 {
        assert!(pool.put(ready(place)).is_none());
    }
    let first = pool.take(&of(1), late()).ok().unwrap();
    std::thread::scope(|scope| {
        wait(scope, &pool, 1, &served);
        assert_eq!(pool.counts(), (1, 1));
        assert_eq!(pool.take(&of(1), late()).err(), Some(Failure::PerClient));
        let other = pool.take(&of(2), late()).ok().unwrap();
        assert!(pool.put(other).is_none());
        assert_eq!(pool.counts(), (1, 1));
        pool.done(first.client.unwrap());
        assert_eq!(order.recv(), Ok(1));
    });
    assert_eq!(pool.counts(), (0, 0));
}
