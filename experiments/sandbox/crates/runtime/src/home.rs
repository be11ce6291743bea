//! The folder in which a daemon has its socket and the folders of its workers: nobody but its user can
//! put anything there.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

const NAME: &str = "tare-sandbox";
/// Others may pass through, since workers of other users have their roots below.
const PERMISSIONS: u32 = 0o711;
const WRITE_BY_OTHERS: u32 = 0o022;

/// Return where the folder is, whether it is there or not: below /run for root.
///
/// # Errors
///
/// The reason, in words, if the user has none.
pub fn place() -> Result<PathBuf, String> {
    if geteuid().is_root() {
        return Ok(Path::new("/run").join(NAME));
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) if !folder.is_empty() => Ok(Path::new(&folder).join(NAME)),
        _ => Err(
            "XDG_RUNTIME_DIR is not set, which names the user's own folder below /run; set it, or \
                  choose a --socket"
                .into(),
        ),
    }
}

/// Make the folder, unless it is there.
///
/// # Errors
///
/// The reason, in words; also when somebody else could change it.
pub fn make() -> Result<PathBuf, String> {
    let folder = place()?;
    let words = |error| format!("{}: {error}", folder.display());
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above).map_err(words)?;
    }
    match DirBuilder::new().mode(PERMISSIONS).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(words(error)),
        _ => {}
    }
    check(&folder)?;
    Ok(folder)
}

/// Make a folder in it that nobody else may even read, unless it is there.
///
/// # Errors
///
/// As of [`make`].
pub fn private(name: &str) -> Result<PathBuf, String> {
    let folder = make()?.join(name);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(format!("{}: {error}", folder.display()));
        }
        _ => {}
    }
    check(&folder)?;
    Ok(folder)
}

/// Refuse a folder that somebody else owns or may write to, and what only leads to one.
fn check(folder: &Path) -> Result<(), String> {
    let found = fs::symlink_metadata(folder);
    let found = found.map_err(|error| format!("{}: {error}", folder.display()))?;
    let own = found.uid() == geteuid().as_raw();
    if found.is_dir() && own && found.mode() & WRITE_BY_OTHERS == 0 {
        return Ok(());
    }
    Err(format!(
        "{}: found user {} and permissions {:o}, expected a folder of user {} that nobody else may write \
         to; remove it",
        folder.display(),
        found.uid(),
        found.mode() & 0o7777,
        geteuid().as_raw(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_a_folder_of_ones_own_is_used() {
        let folder = std::env::temp_dir().join(format!("tare-home-{}", std::process::id()));
        let link = folder.join("link");
        DirBuilder::new().mode(PERMISSIONS).create(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        assert_eq!(check(&folder), Ok(()));
        assert!(check(&link).unwrap_err().contains("expected a folder"));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(check(&folder).is_err());
        fs::remove_dir_all(&folder).unwrap();
        assert!(check(&folder).is_err());
    }
}
