//! The control groups below which groups for slots can be made.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::{LEAF, PREFIX, Version};

/// The control groups below which groups for slots can be made.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// Of the hierarchies.
    pub version: Version,
    /// Groups below which they can be: of version 1 one a controller, memory first, of version 2 one.
    pub parents: Vec<PathBuf>,
    /// This process's own position in them.
    pub seat: Seat,
}

/// The position of the process whose slots get groups.
#[derive(Debug, PartialEq, Eq)]
pub enum Seat {
    /// In a group that does not matter.
    Anywhere,
    /// In the group below which the slots' groups are to be. It must leave that group first.
    InTheWay,
    /// In this leaf, into which it moved to make room for other slots.
    Aside(PathBuf),
}

/// Return the place for process `pid`, whose groups are `own` (/proc/self/cgroup), below `mount`, of
/// which a container may see a part only (`mounts`: /proc/self/mountinfo).
pub fn find(mount: &Path, own: &str, mounts: &str, pid: u32) -> Result<Place, String> {
    if has_both(&mount.join("cgroup.controllers")) {
        let path = path_of(own, "").unwrap_or("/");
        return in_version_2(&below(mount, path, mounts)?, mount, pid);
    }
    let folder = |name: &str| below(&mount.join(name), path_of(own, name).unwrap_or("/"), mounts);
    let parents = vec![folder("memory")?, folder("pids")?];
    match parents.iter().find(|folder| !folder.is_dir()) {
        None => Ok(Place {
            version: Version::One,
            parents,
            seat: Seat::Anywhere,
        }),
        Some(missing) => Err(format!(
            "no control groups with the controllers memory and pids: {} is missing; mount them, or start with \
             cgroup_no_v1=all",
            missing.display()
        )),
    }
}

/// Return the path of the group with a controller, "" for that of version 2, of a process whose groups are `own`.
pub fn path_of<'a>(own: &'a str, wanted: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        controllers
            .split(',')
            .any(|name| name == wanted)
            .then(|| parts.next())?
    })
}

/// Return this process's own group if nobody else is in it: what is accounted to that then includes the
/// slots. Else return the next one that hands out controllers, which a group that holds processes never
/// does (<https://docs.kernel.org/admin-guide/cgroup-v2.html#no-internal-process-constraint>).
fn in_version_2(own: &Path, mount: &Path, pid: u32) -> Result<Place, String> {
    let place = |parent: &Path, seat| {
        Ok(Place {
            version: Version::Two,
            parents: vec![parent.to_owned()],
            seat,
        })
    };
    if let Some(home) = left_before(own, pid) {
        return place(home, Seat::Aside(own.to_owned()));
    }
    let members = fs::read_to_string(own.join("cgroup.procs")).unwrap_or_default();
    // The root of all may hold other processes beside the groups below it.
    if members.trim() == pid.to_string() || own == mount {
        return place(own, Seat::InTheWay);
    }
    let above = own
        .ancestors()
        .take_while(|folder| folder.starts_with(mount));
    let mut handing_out = above.filter(|folder| has_both(&folder.join("cgroup.subtree_control")));
    match handing_out.next() {
        Some(folder) => place(folder, Seat::Anywhere),
        None => Err(format!(
            "the control group {} holds other processes, so that it cannot limit memory and processes below \
             it, and none above it does; start the sandbox in one of its own: systemd-run --scope \
             --property=Delegate=yes tare-sandbox ...",
            own.display()
        )),
    }
}

/// The group that another hierarchy of this process has made way in.
fn left_before(own: &Path, pid: u32) -> Option<&Path> {
    let (leaf, folder) = (own.file_name()?, own.parent()?);
    let name = folder.file_name()?.to_str()?;
    let mine = name.starts_with(&format!("{PREFIX}{pid}."));
    (leaf == LEAF && mine).then(|| folder.parent())?
}

fn has_both(file: &Path) -> bool {
    let names = fs::read_to_string(file).unwrap_or_default();
    let has = |name: &str| names.split_whitespace().any(|each| each == name);
    has("memory") && has("pids")
}

/// Return the folder of the group `path`, whose hierarchy is mounted at `place`, whole or in part.
pub fn below(place: &Path, path: &str, mounts: &str) -> Result<PathBuf, String> {
    let root_here = |line: &str| {
        let mut fields = line.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        (Path::new(point) == place).then(|| root.to_owned())
    };
    let root = mounts.lines().filter_map(root_here).next_back();
    Path::new(path)
        .strip_prefix(root.as_deref().unwrap_or("/"))
        .map(|rest| place.join(rest))
        .map_err(|_| {
            format!(
                "the control group {path} of this process is not among those at {}; start its container with \
                 --cgroupns=host",
                place.display()
            )
        })
}

#[cfg(test)]
mod tests;
