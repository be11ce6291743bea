/* Interfaces of the kernel that a function has no use for. */
#define _GNU_SOURCE
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "attack.h"

verdict keyring(target *at) {
    (void)at;
    return judge(syscall(SYS_add_key, "user", "tare", "x", 1, -2 /* the process's */));
}

verdict bpf_map(target *at) {
    uint32_t attributes[32] = {2 /* an array */, 4, 4, 1};
    (void)at;
    return judge(syscall(SYS_bpf, 0, attributes, sizeof attributes));
}

verdict io_ring(target *at) {
    char parameters[120] = {0};
    (void)at;
    return judge(syscall(SYS_io_uring_setup, 1, parameters));
}

verdict fault_handler(target *at) {
    (void)at;
    return judge(syscall(SYS_userfaultfd, 1 /* user mode only */));
}

verdict performance_events(target *at) {
    uint32_t attributes[32] = {1 /* software */, sizeof attributes};
    (void)at;
    return judge(syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
}

verdict load_module(target *at) {
    (void)at;
    errno = 0;
    long done = syscall(SYS_init_module, "", 0L, "");
    verdict made = judge(done);
    made.open = done >= 0 || errno == ENOEXEC;
    return made;
}

verdict shared_memory(target *at) {
    int made = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    (void)at;
    if (made >= 0)
        shmctl(made, IPC_RMID, 0);
    return judge(made);
}

/* Given to the host's program for cores if it crashes, which a limit of 1 byte prevents and 0 does not. */
verdict leave_core(target *at) {
    const struct rlimit none = {0, 0};
    (void)at;
    return judge(setrlimit(RLIMIT_CORE, &none));
}

/* Pages that the host has set aside for others, and that count as no group's memory. */
verdict huge_pages(target *at) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB;
    (void)at;
    return judge(mmap(0, 2 << 20, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ? -1 : 0);
}
