//! Numbers of slots, and with them their users: no two slots of a machine have the same at a time, whichever
//! daemons they belong to.
//!
//! A number is claimed by a lock on a byte of the user namespace's file, /proc/self/ns/user. Daemons that
//! could give the same user to two processes see the same file, whatever other namespaces and folders they
//! have. The kernel releases a lock when its holder has ended, however that came about.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Error;
use std::os::fd::AsRawFd;
use std::sync::Mutex;

use crate::lock::lock;

/// Users of slots, one each, that nobody else on the machine is expected to be.
const FIRST_USER: u32 = 2_000_000_000;
/// So many numbers that every user fits into 31 bits.
const MOST: u32 = 1 << 27;
const PLACE: &str = "/proc/self/ns/user";
/// A number that two processes claim at the same time is released by both. Each then passes over some at
/// random, fewer than this.
const APART: u64 = 64;

/// Return the user and group of a slot with this number.
pub(crate) fn user_of(number: u32) -> u32 {
    FIRST_USER + number
}

/// Numbers of slots in use whose workers are processes of the host, of all runtimes of this process.
pub(crate) static NUMBERS: Numbers = Numbers::new(Some(PLACE));

/// Numbers of other slots, which have no users: nobody else needs to know of them.
pub(crate) static OWN_NUMBERS: Numbers = Numbers::new(None);

/// Numbers that are given out once at a time.
pub(crate) struct Numbers {
    /// The file whose bytes are locked, if other processes are to know.
    place: Option<&'static str>,
    claims: Mutex<Option<Claims>>,
}

struct Claims {
    /// It stays open while this process lives, since its locks go with it.
    file: Option<File>,
    used: BTreeSet<u32>,
}

impl Numbers {
    const fn new(place: Option<&'static str>) -> Self {
        Numbers {
            place,
            claims: Mutex::new(None),
        }
    }

    /// Claim so many numbers that no process of this machine has.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub(crate) fn take(&self, count: usize) -> Result<Vec<u32>, String> {
        let place = self.place.unwrap_or_default();
        let words = |error: Error| format!("a user for each slot: {place}: {error}");
        let mut claims = lock(&self.claims);
        let claims = match &mut *claims {
            Some(claims) => claims,
            none => none.insert(Claims {
                file: self.place.map(File::open).transpose().map_err(words)?,
                used: BTreeSet::new(),
            }),
        };
        let mut taken = Vec::new();
        match claims.take(count, &mut taken) {
            Ok(true) => return Ok(taken),
            Ok(false) => claims.give_back(&taken),
            Err(error) => {
                claims.give_back(&taken);
                return Err(words(error));
            }
        }
        Err(format!(
            "a user for each slot: other processes hold locks on all bytes of {place}; see /proc/locks"
        ))
    }

    /// Give numbers back.
    pub(crate) fn give_back(&self, numbers: &[u32]) {
        if let Some(claims) = &mut *lock(&self.claims) {
            claims.give_back(numbers);
        }
    }
}

impl Claims {
    /// Claim so many, each as low as possible. Return false if there are not enough.
    fn take(&mut self, count: usize, taken: &mut Vec<u32>) -> Result<bool, Error> {
        let mut next = 0;
        while taken.len() < count {
            if next >= MOST {
                return Ok(false);
            }
            if self.used.contains(&next) {
                next += 1;
                continue;
            }
            if let Some(behind) = self.others(next)? {
                next = behind;
                continue;
            }
            self.set(libc::F_RDLCK, next)?;
            // Readers' locks do not exclude each other, so two may have claimed it by now.
            if self.others(next)?.is_some() {
                self.set(libc::F_UNLCK, next)?;
                next += (RandomState::new().build_hasher().finish() % APART) as u32;
                continue;
            }
            self.used.insert(next);
            taken.push(next);
            next += 1;
        }
        Ok(true)
    }

    fn give_back(&mut self, numbers: &[u32]) {
        for number in numbers {
            if self.used.remove(number) {
                // A lock that cannot be released only wastes a number.
                let _ = self.set(libc::F_UNLCK, *number);
            }
        }
    }

    /// Return the first number behind a lock of somebody else's on this one, or `None` if there is no lock.
    fn others(&self, number: u32) -> Result<Option<u32>, Error> {
        // A writer's lock would exclude readers' locks, too.
        let mut found = at(libc::F_WRLCK, number);
        self.control(libc::F_OFD_GETLK, &mut found)?;
        if i32::from(found.l_type) == libc::F_UNLCK {
            return Ok(None);
        }
        let end = found.l_start.saturating_add(found.l_len);
        let behind = u32::try_from(end - libc::off_t::from(FIRST_USER));
        // A length of 0 is without end.
        let is_endless = found.l_len == 0;
        Ok(Some(behind.ok().filter(|_| !is_endless).unwrap_or(MOST)))
    }

    /// Lock or unlock a number. The file is open for reading, which allows readers' locks.
    fn set(&self, kind: i32, number: u32) -> Result<(), Error> {
        self.control(libc::F_OFD_SETLK, &mut at(kind, number))
    }

    fn control(&self, what: i32, range: &mut libc::flock) -> Result<(), Error> {
        let Some(file) = &self.file else {
            range.l_type = libc::F_UNLCK as libc::c_short;
            return Ok(());
        };
        // SAFETY: the range is of the kernel's layout and lives as long as the call.
        match unsafe { libc::fcntl(file.as_raw_fd(), what, &raw mut *range) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }
}

/// A lock on a number: on the byte at the number's user.
fn at(kind: i32, number: u32) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: user_of(number).into(),
        l_len: 1,
        l_pid: 0,
    }
}

/// A user that is no slot's, until it is dropped.
#[derive(Debug)]
pub struct Spare(Vec<u32>);

impl Spare {
    /// Take one that nobody has.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn take() -> Result<Self, String> {
        NUMBERS.take(1).map(Spare)
    }

    /// Its number.
    pub fn user(&self) -> u32 {
        user_of(self.0[0])
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        NUMBERS.give_back(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of the test's own, which no daemon locks.
    fn place(name: &str) -> &'static str {
        let path = std::env::temp_dir().join(format!("tare-numbers-{name}-{}", std::process::id()));
        File::create(&path).unwrap();
        Box::leak(
            path.into_os_string()
                .into_string()
                .unwrap()
                .into_boxed_str(),
        )
    }

    #[test]
    fn two_daemons_have_no_number_in_common() {
        let place = place("two");
        let (first, second) = (Numbers::new(Some(place)), Numbers::new(Some(place)));
        assert_eq!(first.take(3), Ok(vec![0, 1, 2]));
        assert_eq!(second.take(2), Ok(vec![3, 4]));
        assert_eq!(first.take(1), Ok(vec![5]));
        first.give_back(&[1, 5]);
        assert_eq!(second.take(3), Ok(vec![1, 5, 6]));
        second.give_back(&[0]);
        assert_eq!(second.take(1), Ok(vec![7]));
        // The end of a process closes its files.
        drop(first);
        assert_eq!(second.take(3), Ok(vec![0, 2, 8]));
        std::fs::remove_file(place).unwrap();
    }

    #[test]
    fn slots_without_users_need_no_file() {
        let numbers = Numbers::new(None);
        assert_eq!(numbers.take(2), Ok(vec![0, 1]));
        numbers.give_back(&[0]);
        assert_eq!(numbers.take(2), Ok(vec![0, 2]));
        let absent = Numbers::new(Some("/absent")).take(1).unwrap_err();
        assert!(absent.contains("/absent: No such file"), "{absent}");
    }

    #[test]
    fn daemons_that_claim_at_once_have_no_number_in_common() {
        let place = place("at-once");
        let claim = |_| {
            std::thread::spawn(move || {
                let numbers = Numbers::new(Some(place));
                let taken = numbers.take(50);
                (numbers, taken)
            })
        };
        let threads: Vec<_> = (0..8).map(claim).collect();
        let ended: Vec<_> = threads
            .into_iter()
            .map(|each| each.join().unwrap())
            .collect();
        let taken = ended.iter().flat_map(|(_, taken)| taken.clone().unwrap());
        assert_eq!(taken.collect::<BTreeSet<u32>>().len(), 8 * 50);
        std::fs::remove_file(place).unwrap();
    }

    #[test]
    fn who_holds_every_number_is_a_reason_to_refuse() {
        let place = place("all");
        let hostile = Claims {
            file: File::open(place).ok(),
            used: BTreeSet::new(),
        };
        let mut all = at(libc::F_RDLCK, 0);
        (all.l_start, all.l_len) = (0, 0);
        hostile.control(libc::F_OFD_SETLK, &mut all).unwrap();
        let why = Numbers::new(Some(place)).take(1).unwrap_err();
        assert!(why.contains("hold locks on all bytes"), "{why}");
        std::fs::remove_file(place).unwrap();
    }
}
