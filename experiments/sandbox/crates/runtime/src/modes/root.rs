//! Takes a thread out of the host's namespaces and gives it an empty root. Only this thread, and
//! what it starts, is changed: the kernel keeps both for each thread.

use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

/// The folder on which the new root is mounted before it becomes the root: it must exist.
const PLACE: &str = "/proc";

/// Give the thread namespaces of its own (flags of unshare).
///
/// # Errors
///
/// Which step failed and why.
pub fn leave(flags: i32) -> Result<(), String> {
    // SAFETY: changes this thread alone.
    if unsafe { libc::unshare(flags | libc::CLONE_FS) } != 0 {
        return Err(format!(
            "namespaces of its own: {}",
            std::io::Error::last_os_error()
        ));
    }
    Ok(())
}

/// Make the thread's root an empty file system, which is to be made read-only by
/// [`read_only`] or by each worker. The thread must have a mount namespace of its own.
///
/// # Errors
///
/// Which step failed and why.
pub fn become_empty() -> Result<(), String> {
    let step = |what: &'static str| move |error: Errno| format!("an empty root: {what}: {error}");
    let closed = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(step("make mounts private"))?;
    mount(
        "tmpfs",
        PLACE,
        "tmpfs",
        closed,
        c"size=4k,nr_inodes=2,mode=0555",
    )
    .map_err(step("mount it"))?;
    chdir(PLACE).map_err(step("enter it"))?;
    pivot_root(".", ".").map_err(step("make it the root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(step("take the old root away"))?;
    chdir("/").map_err(step("enter it"))
}

/// Make the thread's root read-only.
///
/// # Errors
///
/// The reason, in words.
pub fn read_only() -> Result<(), String> {
    let closed = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount_remount("/", closed, c"").map_err(|error| format!("a read-only root: {error}"))
}

/// Take away every capability that a later exec could give back.
///
/// # Errors
///
/// The reason, in words.
pub fn drop_bounding_set() -> Result<(), String> {
    for capability in 0..64 {
        // SAFETY: numbers only; changes this thread alone.
        let left = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        if left != 0 {
            let error = std::io::Error::last_os_error();
            // The kernel knows fewer.
            if error.raw_os_error() == Some(libc::EINVAL) && capability > 0 {
                break;
            }
            return Err(format!("drop the bounding set: {error}"));
        }
    }
    Ok(())
}
