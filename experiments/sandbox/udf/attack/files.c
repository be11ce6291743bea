/* The host's files, and files that are already open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attack.h"

verdict read_file(target *at) { return judge(open(at->file, O_RDONLY)); }

verdict stat_file(target *at) {
    struct stat found;
    return judge(stat(at->file, &found));
}

verdict write_file(target *at) {
    char path[512];
    snprintf(path, sizeof path, "%s/written", at->folder);
    verdict there = judge(open(path, O_WRONLY | O_CREAT, 0600));
    if (there.open)
        unlink(path);
    return there;
}

/* The first of a folder's files that can be opened, and is taken away again if it was made. */
static verdict first_opened(const char *const *folders, const char *name, int how) {
    for (; *folders; folders++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", *folders, name);
        /* Some filters let this one through, which tools need, and not open. */
        int file = openat(AT_FDCWD, path, how, 0600);
        if (file >= 0) {
            verdict there = {1, ""};
            snprintf(there.seen, sizeof there.seen, "%s", path);
            if (how & O_CREAT)
                unlink(path);
            close(file);
            return there;
        }
    }
    return judge(-1);
}

verdict write_anywhere(target *at) {
    static const char *const folders[] = {"/", "/tmp", "/dev", "/dev/shm", "/run", "/var/tmp", "/proc/self", 0};
    (void)at;
    return first_opened(folders, ".tare-attack", O_WRONLY | O_CREAT);
}

/* Folders that a root may show for programs that are not static. */
verdict write_library(target *at) {
    static const char *const folders[] = {"/lib", "/lib64", "/usr/lib", 0};
    (void)at;
    return first_opened(folders, ".tare-attack", O_WRONLY | O_CREAT);
}

/* What the kernel says of the host, not of a process. */
verdict kernel_files(target *at) {
    static const char *const folders[] = {"/proc", 0}, *const files[] = {"cmdline", "stat", "interrupts", "config.gz"};
    verdict made = {0, ""};
    (void)at;
    for (size_t index = 0; index < sizeof files / sizeof *files && !made.open; index++)
        made = first_opened(folders, files[index], O_RDONLY);
    return made;
}

verdict inherited_files(target *at) {
    verdict made = {0, "none"};
    for (int number = 0; number < 4096; number++) {
        if (number <= 3 || fcntl(number, F_GETFD) < 0)
            continue;
        made.open = 1;
        snprintf(made.seen, sizeof made.seen, "%d", number);
    }
    (void)at;
    return made;
}

verdict file_handle(target *at) {
    uint32_t handle[64] = {128 /* bytes of room */};
    int mount_id;
    (void)at;
    return judge(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", handle, &mount_id, 0));
}

verdict memory_file(target *at) {
    (void)at;
    return judge(memfd_create("tare", 0));
}
