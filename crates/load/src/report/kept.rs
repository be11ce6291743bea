//! Files of progress: one that cannot be written any more does not take the run's result with it.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

/// The files that could not be written to the end, a sentence each.
pub type Faults = Rc<RefCell<Vec<String>>>;

/// An observer that writes a file.
pub struct ToFile<O> {
    /// The observer; none once it has failed.
    observer: Option<O>,
    file: PathBuf,
    faults: Faults,
}

impl<O: Observer> ToFile<O> {
    /// Let `observer` write `file`, and note among `faults` if it cannot.
    pub fn new(observer: O, file: &Path, faults: &Faults) -> Self {
        ToFile {
            observer: Some(observer),
            file: file.into(),
            faults: faults.clone(),
        }
    }

    fn tell(&mut self, event: impl FnOnce(&mut O) -> io::Result<()>) -> io::Result<()> {
        let told = self.observer.as_mut().map_or(Ok(()), event);
        if let Err(why) = told {
            self.observer = None;
            self.faults.borrow_mut().push(unwritten(&self.file, &why));
        }
        Ok(())
    }
}

/// A sentence about a file that is not whole.
pub fn unwritten(file: &Path, why: &io::Error) -> String {
    format!("{} could not be written to its end ({why})", file.display())
}

impl<O: Observer> Observer for ToFile<O> {
    fn ready(&mut self) -> io::Result<()> {
        self.tell(O::ready)
    }

    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        self.tell(|observer| observer.second(second, phase))
    }

    fn measure(&mut self, t_s: f64) -> io::Result<()> {
        self.tell(|observer| observer.measure(t_s))
    }

    fn measured(&mut self, t_s: f64) -> io::Result<()> {
        self.tell(|observer| observer.measured(t_s))
    }
}
