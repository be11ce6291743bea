/* The attacks where there is no kernel to ask: through whatever WASI offers that comes near. What has
 * no such call at all cannot be imported either, which tests/contract/sandbox/test_sandbox_wasm.py
 * tries. */
#include <wasi/api.h>

#include "attack.h"

enum { DESCRIPTORS = 64 };

/* Open where any descriptor, taken for a folder, leads there. */
static verdict opened(const char *path, __wasi_oflags_t how, __wasi_rights_t rights) {
    verdict made = {0, ""};
    for (int folder = 0; folder < DESCRIPTORS; folder++) {
        __wasi_fd_t file;
        __wasi_errno_t error = __wasi_path_open(folder, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, path, how, rights, rights, 0, &file);
        made.open |= error == 0;
        if (folder == 3)
            snprintf(made.seen, sizeof made.seen, "errno %u", error);
    }
    return made;
}

static verdict either(verdict left, verdict right) { return left.open ? left : right; }

/* By its whole name, from where a folder may be, and by a way out of one. */
static verdict named(const char *path, __wasi_oflags_t how, __wasi_rights_t rights) {
    char up[512];
    snprintf(up, sizeof up, "../../../../../../../..%s", path);
    return either(opened(path, how, rights), either(opened(path + 1, how, rights), opened(up, how, rights)));
}

verdict read_file(target *at) { return named(at->file, 0, __WASI_RIGHTS_FD_READ); }

verdict stat_file(target *at) {
    verdict made = {0, ""};
    __wasi_filestat_t found;
    for (int folder = 0; folder < DESCRIPTORS; folder++) {
        __wasi_errno_t error = __wasi_path_filestat_get(folder, 0, at->file, &found);
        made.open |= error == 0;
        snprintf(made.seen, sizeof made.seen, "errno %u", error);
    }
    return made;
}

verdict write_file(target *at) {
    char path[512];
    snprintf(path, sizeof path, "%s/written", at->folder);
    return named(path, __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_WRITE);
}

static verdict first_opened(const char *const *folders, const char *name, __wasi_oflags_t how, __wasi_rights_t rights) {
    verdict made = {0, ""};
    for (; *folders; folders++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", *folders, name);
        made = either(made, named(path, how, rights));
    }
    return made;
}

verdict write_anywhere(target *at) {
    static const char *const folders[] = {"/", "/tmp", "/dev", "/dev/shm", "/run", "/var/tmp", "/proc/self", 0};
    (void)at;
    return first_opened(folders, ".tare-attack", __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_WRITE);
}

verdict write_library(target *at) {
    static const char *const folders[] = {"/lib", "/lib64", "/usr/lib", 0};
    (void)at;
    return first_opened(folders, ".tare-attack", __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_WRITE);
}

verdict kernel_files(target *at) {
    static const char *const folders[] = {"/proc", 0};
    (void)at;
    return either(first_opened(folders, "cmdline", 0, __WASI_RIGHTS_FD_READ), first_opened(folders, "interrupts", 0, __WASI_RIGHTS_FD_READ));
}

verdict execute_file(target *at) {
    (void)at;
    return named("/bin/sh", 0, __WASI_RIGHTS_FD_READ);
}

verdict process_list(target *at) {
    uint8_t entries[256];
    __wasi_size_t used;
    verdict made = named("/proc/1/stat", 0, __WASI_RIGHTS_FD_READ);
    (void)at;
    for (int folder = 0; folder < DESCRIPTORS; folder++)
        made.open |= __wasi_fd_readdir(folder, entries, sizeof entries, 0, &used) == 0;
    return made;
}

verdict process_memory(target *at) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", at->other);
    return named(path, 0, __WASI_RIGHTS_FD_READ);
}

verdict join_namespace(target *at) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/uts", at->other);
    return named(path, 0, __WASI_RIGHTS_FD_READ);
}

verdict inherited_files(target *at) {
    verdict made = {0, "none"};
    __wasi_fdstat_t found;
    __wasi_prestat_t before;
    (void)at;
    for (unsigned number = 3; number < 4096; number++) {
        if (__wasi_fd_prestat_get(number, &before) == 0 || (number > 3 && __wasi_fd_fdstat_get(number, &found) == 0)) {
            made.open = 1;
            snprintf(made.seen, sizeof made.seen, "%u", number);
        }
    }
    return made;
}

verdict file_handle(target *at) {
    __wasi_filestat_t found;
    verdict made = {0, ""};
    (void)at;
    for (int number = 0; number < DESCRIPTORS; number++)
        made.open |= __wasi_fd_filestat_get(number, &found) == 0;
    return made;
}

/* A connection from nowhere is the only socket that can be had. */
static verdict accepted(void) {
    verdict made = {0, ""};
    __wasi_fd_t connection;
    for (int number = 0; number < DESCRIPTORS; number++) {
        __wasi_errno_t error = __wasi_sock_accept(number, 0, &connection);
        made.open |= error == 0;
        snprintf(made.seen, sizeof made.seen, "errno %u", error);
    }
    return made;
}

#define SOCKETS(each) \
    each(inet) each(netlink) each(vsock) each(packet) each(abstract_socket) each(datagram_to_path) \
    each(datagram_to_abstract) each(probe_file) each(named_socket) each(out_of_band)
#define ACCEPTED(name) \
    verdict name(target *at) { \
        (void)at; \
        return accepted(); \
    }
SOCKETS(ACCEPTED)

verdict pass_descriptor(target *at) {
    verdict made = {0, ""};
    (void)at;
    for (int number = 4; number < DESCRIPTORS; number++)
        made.open |= __wasi_fd_renumber(3, number) == 0;
    return made;
}

__attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_raise"))) int32_t proc_raise(int32_t signal);

verdict kill_all(target *at) {
    verdict made = {proc_raise(9) == 0, ""};
    (void)at;
    return made;
}

/* The host as a helper: it is to read and write where this module may not. */
verdict read_other_memory(target *at) {
    const uint32_t end = (uint32_t)__builtin_wasm_memory_size(0) << 16;
    const __wasi_ciovec_t beyond[] = {{(uint8_t *)(end - 4), 8}, {(uint8_t *)0xfffffff0, 0xffffffff}, {(uint8_t *)end, 1}};
    verdict made = {0, ""};
    __wasi_size_t done;
    (void)at;
    for (size_t index = 0; index < sizeof beyond / sizeof *beyond; index++) {
        __wasi_ciovec_t mine = beyond[index];
        made.open |= __wasi_fd_write(1, &mine, 1, &done) == 0;
        made.open |= __wasi_fd_write(1, (const __wasi_ciovec_t *)(end - 4), 1, &done) == 0;
        made.open |= __wasi_random_get((uint8_t *)mine.buf, mine.buf_len) == 0;
    }
    made.open |= __wasi_clock_time_get(__WASI_CLOCKID_MONOTONIC, 0, (__wasi_timestamp_t *)(end - 4)) == 0;
    made.open |= __wasi_args_get((uint8_t **)0xfffffffc, (uint8_t *)0xfffffffc) == 0;
    made.open |= __wasi_poll_oneoff((const __wasi_subscription_t *)(end - 8), (__wasi_event_t *)(end - 8), 1, &done) == 0;
    made.open |= __wasi_poll_oneoff(0, 0, 0xffffffff, &done) == 0;
    return made;
}

#define ABSENT(each) \
    each(other_process) each(probe_process) each(foreign_clock) each(sibling) each(outlive_host) each(trace) each(mount_over) each(new_root) each(keyring) each(user_namespace) \
    each(clone_namespace) each(clone3_namespace) each(bpf_map) each(io_ring) each(fault_handler) \
    each(memory_file) each(process_descriptor) each(performance_events) each(load_module) \
    each(become_root) each(host_name) each(shared_memory) each(execute_memory) each(orphan) \
    each(cpu_bomb) each(leave_core) each(huge_pages) \
    each(interfaces)
#define NO_SUCH_CALL(name) \
    verdict name(target *at) { \
        (void)at; \
        return (verdict){0, "WASI has no such call"}; \
    }
ABSENT(NO_SUCH_CALL)

verdict fork_bomb(target *at) {
    (void)at;
    return (verdict){0, "1 processes"};
}

verdict memory_bomb(target *at) {
    const size_t pages = 256;
    verdict made = {1, ""};
    (void)at;
    for (unsigned count = 0; count < 255 && made.open; count++)
        made = judge((int32_t)__builtin_wasm_memory_grow(0, pages));
    return made;
}

verdict shared_memory_bomb(target *at) {
    (void)at;
    return judge((int32_t)__builtin_wasm_memory_grow(0, 60000));
}
