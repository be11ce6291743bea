//! Tests of control groups.

use super::*;

#[test]
fn the_own_groups_are_found_in_either_version() {
    let root = std::env::temp_dir().join(format!("sandbox-groups-{}", std::process::id()));
    let (one, two) = (root.join("one"), root.join("two"));
    for folder in [one.join("memory/a/b"), one.join("pids/c"), two.join("d")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(two.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
    let own = "9:name=systemd:/\n8:pids:/c\n4:memory:/a/b\n0::/d\n";
    let found = parents(&one, own, "").unwrap();
    assert_eq!(
        found,
        (
            Version::One,
            vec![one.join("memory/a/b"), one.join("pids/c")]
        )
    );
    assert_eq!(
        parents(&two, own, "").unwrap(),
        (Version::Two, vec![two.join("d")])
    );
    assert!(parents(&root, own, "").unwrap_err().contains("memory"));
    fs::remove_dir_all(root).unwrap();
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
