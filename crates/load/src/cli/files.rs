//! The files that a run writes: each by one option, and none that it reads or prints to.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::spec::SpecError;

/// An option, and the file that it names, if it is given.
pub type Named<'a> = (&'static str, Option<&'a Path>);

/// The identity of a file, whatever it is called.
#[derive(PartialEq)]
enum Place {
    /// By its device and its number there.
    Known(u64, u64),
    /// A file that is yet to be made.
    New(PathBuf),
}

/// Refuse a file that two options write, one that is written although another option reads it, and
/// `-`, which other programs print for.
///
/// # Errors
/// A [`SpecError`] that names the option, and the other one if there are two.
pub fn check(written: &[Named<'_>], read: &[Named<'_>]) -> Result<(), SpecError> {
    let dash = |(_, file): &&Named<'_>| *file == Some(Path::new("-"));
    if let Some((option, _)) = written.iter().find(dash) {
        let found = "\"-\" is no file, and the result goes to standard output";
        let remedy = "name a file; in a shell, >(COMMAND) is one that COMMAND reads";
        return Err(SpecError::new(option, found, remedy));
    }
    for (index, (option, file)) in written.iter().enumerate() {
        let Some((file, own)) = file.and_then(|file| Some((file, place(file)?))) else {
            continue;
        };
        let same = |(_, other): &&Named<'_>| other.and_then(place).as_ref() == Some(&own);
        let twice = written[..index].iter().find(same);
        let found = match (twice, read.iter().find(same)) {
            (Some((other, _)), _) => format!("{other} writes {}, too", file.display()),
            (None, Some((other, _))) => format!("{other} reads {}", file.display()),
            (None, None) => continue,
        };
        return Err(SpecError::new(option, found, "name another file"));
    }
    Ok(())
}

/// The identity of `file`; none of a device or a pipe, which keep nothing that could be
/// overwritten.
fn place(file: &Path) -> Option<Place> {
    match fs::metadata(file) {
        Ok(found) if found.is_file() => Some(Place::Known(found.dev(), found.ino())),
        Ok(_) => None,
        Err(_) => {
            let folder = file.parent().filter(|folder| *folder != Path::new(""));
            let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
            Some(Place::New(folder.join(file.file_name()?)))
        }
    }
}
