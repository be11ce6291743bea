/* Other processes: seeing, signalling, reading and tracing them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "attack.h"

verdict other_process(target *at) { return judge(kill(at->other, 0)); }

/* More than any process's number. */
enum { NOBODY = 1 << 28 };

/* Whether a process exists, by how signalling it fails. */
verdict probe_process(target *at) {
    verdict made = {0, ""};
    int there = syscall(SYS_tgkill, at->other, at->other, 0) < 0 ? errno : 0;
    int absent = syscall(SYS_tgkill, NOBODY, NOBODY, 0) < 0 ? errno : 0;
    made.open = there != absent;
    snprintf(made.seen, sizeof made.seen, "errno %d, of nobody %d", there, absent);
    return made;
}

/* The CPU time of a process, by the clock that it has. */
verdict foreign_clock(target *at) {
    struct timespec used;
    int clock = (int)(~(unsigned)at->other << 3 | 2 /* CPU time of a whole process */);
    return judge(syscall(SYS_clock_gettime, clock, &used));
}

/* A child of whoever started this process, who does not expect it. */
verdict sibling(target *at) {
    (void)at;
    long made = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (made == 0)
        _exit(0);
    return judge(made);
}

/* A life beyond that of the daemon. */
verdict outlive_host(target *at) {
    (void)at;
    return judge(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

verdict kill_all(target *at) {
    (void)at;
    return judge(kill(-1, 0));
}

verdict process_list(target *at) {
    DIR *folder = opendir("/proc");
    verdict made = {0, "no /proc"};
    (void)at;
    if (!folder)
        return made;
    unsigned others = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        others += atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid();
    closedir(folder);
    made.open = others > 0;
    snprintf(made.seen, sizeof made.seen, "%u others", others);
    return made;
}

verdict process_memory(target *at) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", at->other);
    return judge(open(path, O_RDONLY));
}

verdict trace(target *at) {
    long done = ptrace(PTRACE_SEIZE, at->other, 0, 0);
    verdict made = judge(done);
    if (done == 0) {
        ptrace(PTRACE_INTERRUPT, at->other, 0, 0);
        waitpid(at->other, 0, 0);
        ptrace(PTRACE_DETACH, at->other, 0, 0);
    }
    return made;
}

verdict read_other_memory(target *at) {
    char byte;
    struct iovec own = {&byte, 1}, its = {(void *)4096, 1};
    /* Nothing lies at that address, which only those are told who may read it. */
    errno = 0;
    syscall(SYS_process_vm_readv, at->other, &own, 1, &its, 1, 0);
    verdict made = judge(-1);
    made.open = errno == EFAULT;
    return made;
}

verdict process_descriptor(target *at) { return judge(syscall(SYS_pidfd_open, at->other, 0)); }

verdict orphan(target *at) {
    pid_t child = fork();
    (void)at;
    if (child == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                pause();
        _exit(0);
    }
    verdict made = {0, "left one behind"};
    return child < 0 ? judge(-1) : made;
}
