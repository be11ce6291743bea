//! Tests of where groups can be made.

use super::*;

/// A folder like /sys/fs/cgroup, taken away in the end.
struct Mount(PathBuf);

impl Mount {
    fn new(name: &str) -> Self {
        let name = format!("sandbox-groups-{name}-{}", std::process::id());
        Mount(std::env::temp_dir().join(name))
    }

    fn group(&self, path: &str, files: &[(&str, &str)]) {
        let folder = self.0.join(path);
        fs::create_dir_all(&folder).unwrap();
        for (name, contents) in files {
            fs::write(folder.join(name), contents).unwrap();
        }
    }

    fn find(&self, own: &str) -> Result<Place, String> {
        find(&self.0, own, "", 7)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

const BOTH: &str = "cpu memory pids\n";

#[test]
fn version_1_has_a_hierarchy_for_each() {
    let mount = Mount::new("one");
    mount.group("memory/a/b", &[]);
    let own = "9:name=systemd:/\n8:pids:/c\n4:memory:/a/b\n0::/d\n";
    assert!(mount.find(own).unwrap_err().contains("pids/c is missing"));
    mount.group("pids/c", &[]);
    let expected = Place {
        version: Version::One,
        parents: vec![mount.0.join("memory/a/b"), mount.0.join("pids/c")],
        seat: Seat::Anywhere,
    };
    assert_eq!(mount.find(own), Ok(expected));
}

#[test]
fn version_2_limits_below_a_group_without_others() {
    let mount = Mount::new("two");
    mount.group(
        "",
        &[("cgroup.controllers", BOTH), ("cgroup.procs", "1\n7\n")],
    );
    let place = |parent: &str, seat| {
        Ok(Place {
            version: Version::Two,
            parents: vec![mount.0.join(parent)],
            seat,
        })
    };
    assert_eq!(mount.find("0::/\n").unwrap().seat, Seat::InTheWay);
    mount.group("", &[("cgroup.subtree_control", BOTH)]);
    assert_eq!(mount.find("0::/\n"), place("", Seat::InTheWay));
    mount.group("", &[("cgroup.subtree_control", "")]);
    mount.group("alone", &[("cgroup.procs", "7\n")]);
    assert_eq!(mount.find("0::/alone\n"), place("alone", Seat::InTheWay));
    let aside = Seat::Aside(mount.0.join("alone/tare-sandbox.7.0/host"));
    mount.group("alone/tare-sandbox.7.0/host", &[("cgroup.procs", "7\n")]);
    assert_eq!(
        mount.find("0::/alone/tare-sandbox.7.0/host\n"),
        place("alone", aside)
    );
    // Somebody else's.
    mount.group("alone/tare-sandbox.77.0/host", &[("cgroup.procs", "7\n")]);
    let other = "0::/alone/tare-sandbox.77.0/host\n";
    assert_eq!(mount.find(other).unwrap().seat, Seat::InTheWay);
    // As in a session, where a shell is, too.
    mount.group(
        "user/session",
        &[("cgroup.procs", "5\n7\n"), ("cgroup.subtree_control", "")],
    );
    let why = mount.find("0::/user/session\n").unwrap_err();
    assert!(why.contains("/user/session holds other processes") && why.contains("Delegate=yes"));
    mount.group("user", &[("cgroup.subtree_control", BOTH)]);
    assert_eq!(
        mount.find("0::/user/session\n"),
        place("user", Seat::Anywhere)
    );
}

#[test]
fn a_container_may_see_a_part_of_a_hierarchy() {
    let mounts = "31 23 0:27 / /g/pids ro - cgroup cgroup rw,pids\n\
                  32 23 0:28 /a/b /g/memory rw - cgroup cgroup rw,memory\n\
                  33 23 0:29 /../.. /g/else rw - cgroup2 cgroup rw\n";
    let found = |place: &str, path: &str| below(Path::new(place), path, mounts);
    assert_eq!(found("/g/pids", "/a/b"), Ok("/g/pids/a/b".into()));
    assert_eq!(found("/g/memory", "/a/b/c"), Ok("/g/memory/c".into()));
    assert!(found("/g/memory", "/a/other").is_err());
    assert!(found("/g/else", "/").unwrap_err().contains("cgroupns"));
}
