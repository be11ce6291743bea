/* Other namespaces, another root, another user. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "attack.h"

verdict mount_over(target *at) {
    verdict made = judge(mount("none", at->folder, "tmpfs", 0, 0));
    if (made.open)
        umount2(at->folder, MNT_DETACH);
    return made;
}

verdict new_root(target *at) { return judge(chroot(at->folder)); }

verdict join_namespace(target *at) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/uts", at->other);
    int file = open(path, O_RDONLY);
    if (file >= 0)
        return judge(setns(file, 0));
    long process = syscall(SYS_pidfd_open, at->other, 0);
    return judge(process < 0 ? -1 : setns((int)process, CLONE_NEWUTS));
}

verdict user_namespace(target *at) {
    (void)at;
    return judge(unshare(CLONE_NEWUSER));
}

verdict clone_namespace(target *at) {
    (void)at;
    long made = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (made == 0)
        _exit(0);
    return judge(made);
}

verdict clone3_namespace(target *at) {
    uint64_t arguments[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0};
    (void)at;
    long made = syscall(SYS_clone3, arguments, sizeof arguments);
    if (made == 0)
        _exit(0);
    return judge(made);
}

verdict become_root(target *at) {
    (void)at;
    long done = getuid() == 0 ? 0 : setuid(0);
    return judge(done);
}

verdict host_name(target *at) {
    char own[256] = "";
    (void)at;
    if (gethostname(own, sizeof own - 1) != 0)
        return judge(-1);
    return judge(sethostname(own, strlen(own)));
}
