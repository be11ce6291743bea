/* Tries to get out. {1: name of an attack, 2: a process that is not its own, 3: a secret file,
 * 4: a TCP port where somebody listens, 5: an abstract socket where somebody listens, 6: a folder}.
 * Answers {1: "open" when it got what it wanted or else "blocked", 2: what it saw}, unless the attack
 * is not to answer as it should. Nothing it does harms the host, even where it succeeds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "tare_udf.h"

#define FORKS_MAX 200
#define SECRET "tare-secret-of-the-caller-before"

typedef struct {
    tare_host *host;
    pid_t other;
    const char *file, *abstract, *folder;
    uint16_t port;
} target;

typedef struct {
    int open;
    char seen[256];
} verdict;

static verdict judge(long result) {
    verdict made = {result >= 0, ""};
    if (result < 0)
        snprintf(made.seen, sizeof made.seen, "%s", strerror(errno));
    return made;
}

static verdict read_file(target *at) { return judge(open(at->file, O_RDONLY)); }

static verdict stat_file(target *at) {
    struct stat found;
    return judge(stat(at->file, &found));
}

static verdict write_file(target *at) {
    char path[512];
    snprintf(path, sizeof path, "%s/written", at->folder);
    verdict there = judge(open(path, O_WRONLY | O_CREAT, 0600));
    if (there.open)
        unlink(path);
    return there;
}

static verdict write_anywhere(target *at) {
    static const char *const folders[] = {"/", "/tmp", "/dev", "/dev/shm", "/run", "/var/tmp", "/proc/self"};
    (void)at;
    for (size_t index = 0; index < sizeof folders / sizeof *folders; index++) {
        char path[64];
        snprintf(path, sizeof path, "%s/.tare-attack", folders[index]);
        int file = open(path, O_WRONLY | O_CREAT, 0600);
        if (file >= 0) {
            verdict there = {1, ""};
            snprintf(there.seen, sizeof there.seen, "%s", folders[index]);
            unlink(path);
            close(file);
            return there;
        }
    }
    return judge(-1);
}

static verdict inet(target *at) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(at->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    return judge(made < 0 ? -1 : connect(made, (struct sockaddr *)&address, sizeof address));
}

static verdict netlink(target *at) {
    (void)at;
    return judge(socket(AF_NETLINK, SOCK_RAW, 0));
}

static verdict vsock(target *at) {
    (void)at;
    return judge(socket(AF_VSOCK, SOCK_STREAM, 0));
}

static verdict packet(target *at) {
    (void)at;
    return judge(socket(AF_PACKET, SOCK_RAW, 0));
}

static verdict abstract_socket(target *at) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(at->abstract);
    if (length >= sizeof address.sun_path)
        return judge(-1);
    memcpy(address.sun_path + 1, at->abstract, length);
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return judge(made < 0 ? -1 : connect(made, (struct sockaddr *)&address, size));
}

static verdict other_process(target *at) { return judge(kill(at->other, 0)); }

static verdict kill_all(target *at) {
    (void)at;
    return judge(kill(-1, 0));
}

static verdict process_list(target *at) {
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

static verdict process_memory(target *at) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", at->other);
    return judge(open(path, O_RDONLY));
}

static verdict trace(target *at) {
    long done = ptrace(PTRACE_SEIZE, at->other, 0, 0);
    verdict made = judge(done);
    if (done == 0) {
        ptrace(PTRACE_INTERRUPT, at->other, 0, 0);
        waitpid(at->other, 0, 0);
        ptrace(PTRACE_DETACH, at->other, 0, 0);
    }
    return made;
}

static verdict read_other_memory(target *at) {
    char byte;
    struct iovec own = {&byte, 1}, its = {(void *)4096, 1};
    /* Nothing lies at that address, which only those are told who may read it. */
    errno = 0;
    syscall(SYS_process_vm_readv, at->other, &own, 1, &its, 1, 0);
    verdict made = judge(-1);
    made.open = errno == EFAULT;
    return made;
}

static verdict mount_over(target *at) {
    verdict made = judge(mount("none", at->folder, "tmpfs", 0, 0));
    if (made.open)
        umount2(at->folder, MNT_DETACH);
    return made;
}

static verdict new_root(target *at) { return judge(chroot(at->folder)); }

static verdict keyring(target *at) {
    (void)at;
    return judge(syscall(SYS_add_key, "user", "tare", "x", 1, -2 /* the process's */));
}

static verdict inherited_files(target *at) {
    verdict made = {0, "none"};
    for (int number = 0; number < 4096; number++) {
        char what[128] = "";
        if (number <= 3 || fcntl(number, F_GETFD) < 0)
            continue;
        made.open = 1;
        snprintf(made.seen, sizeof made.seen, "%d %s", number, what);
    }
    (void)at;
    return made;
}

static verdict join_namespace(target *at) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/uts", at->other);
    int file = open(path, O_RDONLY);
    if (file >= 0)
        return judge(setns(file, 0));
    long process = syscall(SYS_pidfd_open, at->other, 0);
    return judge(process < 0 ? -1 : setns((int)process, CLONE_NEWUTS));
}

static verdict user_namespace(target *at) {
    (void)at;
    return judge(unshare(CLONE_NEWUSER));
}

static verdict clone_namespace(target *at) {
    (void)at;
    long made = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (made == 0)
        _exit(0);
    return judge(made);
}

static verdict clone3_namespace(target *at) {
    uint64_t arguments[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0};
    (void)at;
    long made = syscall(SYS_clone3, arguments, sizeof arguments);
    if (made == 0)
        _exit(0);
    return judge(made);
}

static verdict file_handle(target *at) {
    uint32_t handle[64] = {128 /* bytes of room */};
    int mount_id;
    (void)at;
    return judge(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", handle, &mount_id, 0));
}

static verdict pass_descriptor(target *at) {
    int pair[2], passed = at->host->fd;
    char control[CMSG_SPACE(sizeof passed)] = {0}, byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(head), &passed, sizeof passed);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return judge(-1);
    return judge(sendmsg(pair[0], &message, 0));
}

static verdict bpf_map(target *at) {
    uint32_t attributes[32] = {2 /* an array */, 4, 4, 1};
    (void)at;
    return judge(syscall(SYS_bpf, 0, attributes, sizeof attributes));
}

static verdict io_ring(target *at) {
    char parameters[120] = {0};
    (void)at;
    return judge(syscall(SYS_io_uring_setup, 1, parameters));
}

static verdict fault_handler(target *at) {
    (void)at;
    return judge(syscall(SYS_userfaultfd, 1 /* user mode only */));
}

static verdict memory_file(target *at) {
    (void)at;
    return judge(memfd_create("tare", 0));
}

static verdict process_descriptor(target *at) { return judge(syscall(SYS_pidfd_open, at->other, 0)); }

static verdict performance_events(target *at) {
    uint32_t attributes[32] = {1 /* software */, sizeof attributes};
    (void)at;
    return judge(syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
}

static verdict load_module(target *at) {
    (void)at;
    errno = 0;
    long done = syscall(SYS_init_module, "", 0L, "");
    verdict made = judge(done);
    made.open = done >= 0 || errno == ENOEXEC;
    return made;
}

static verdict become_root(target *at) {
    (void)at;
    long done = getuid() == 0 ? 0 : setuid(0);
    return judge(done);
}

static verdict host_name(target *at) {
    char own[256] = "";
    (void)at;
    if (gethostname(own, sizeof own - 1) != 0)
        return judge(-1);
    return judge(sethostname(own, strlen(own)));
}

static verdict shared_memory(target *at) {
    int made = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    (void)at;
    if (made >= 0)
        shmctl(made, IPC_RMID, 0);
    return judge(made);
}

/* ELF that ends with 42. */
static const uint8_t ANSWER[] = {
    0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0, 0x78, 0, 0x40, 0, 0, 0, 0, 0,
    64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0,
    0x84, 0, 0, 0, 0, 0, 0, 0, 0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0,
    0xbf, 42, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05,
};

static verdict ended_with_42(pid_t child) {
    verdict made = {0, ""};
    int status = 0;
    waitpid(child, &status, 0);
    made.open = WIFEXITED(status) && WEXITSTATUS(status) == 42;
    snprintf(made.seen, sizeof made.seen, "status %#x", status);
    return made;
}

static verdict execute_memory(target *at) {
    static char *const none[] = {0};
    int file = memfd_create("tare", 0);
    (void)at;
    if (file < 0 || write(file, ANSWER, sizeof ANSWER) < 0)
        return judge(-1);
    pid_t child = fork();
    if (child == 0) {
        syscall(SYS_execveat, file, "", none, none, AT_EMPTY_PATH);
        _exit(1);
    }
    return child < 0 ? judge(-1) : ended_with_42(child);
}

static verdict execute_file(target *at) {
    char *const arguments[] = {"sh", "-c", "exit 42", 0}, *const none[] = {0};
    pid_t child = fork();
    (void)at;
    if (child == 0) {
        execve("/bin/sh", arguments, none);
        _exit(1);
    }
    return child < 0 ? judge(-1) : ended_with_42(child);
}

static verdict fork_bomb(target *at) {
    unsigned forks = 0;
    verdict made = {0, ""};
    (void)at;
    while (forks < FORKS_MAX) {
        pid_t child = fork();
        if (child < 0)
            break;
        if (child == 0)
            for (;;)
                pause();
        forks++;
    }
    made.open = forks == FORKS_MAX;
    snprintf(made.seen, sizeof made.seen, "%u processes", forks + 1);
    return made;
}

static verdict memory_bomb(target *at) {
    const size_t piece = 16 << 20;
    (void)at;
    for (size_t total = 0; total < (size_t)4 << 30; total += piece) {
        void *memory = mmap(0, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return judge(-1);
        memset(memory, 1, piece);
    }
    return judge(0);
}

static verdict shared_memory_bomb(target *at) {
    size_t size = (size_t)4 << 30;
    char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)at;
    if (memory == MAP_FAILED)
        return judge(-1);
    for (size_t byte = 0; byte < size; byte += 4096)
        memory[byte] = 1;
    return judge(0);
}

static verdict orphan(target *at) {
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

/* Leaves a secret wherever it can, for a later call to find. */
static verdict plant(target *at) {
    verdict made = {0, ""};
    for (int count = 0; count < 64; count++) {
        char *memory = malloc(1 << 20);
        for (size_t byte = 0; memory && byte + sizeof SECRET < 1 << 20; byte += sizeof SECRET)
            memcpy(memory + byte, SECRET, sizeof SECRET);
    }
    const char *const places[] = {"/tmp", "/dev/shm", "/", at->folder};
    for (int place = 0; place < 4; place++) {
        char path[512];
        snprintf(path, sizeof path, "%s/" SECRET, places[place]);
        int file = open(path, O_WRONLY | O_CREAT, 0666);
        if (file >= 0)
            made.open = 1;
        close(file);
    }
    int shared = shmget(0x74617265, 4096, IPC_CREAT | 0666);
    syscall(SYS_add_key, "user", SECRET, "x", 1, -4 /* the user's */);
    setenv(SECRET, SECRET, 1);
    made.open |= shared >= 0;
    return made;
}

static int holds_secret(const char *memory, size_t length) { return memmem(memory, length, SECRET, sizeof SECRET - 1) != 0; }

/* Looks for a secret that an earlier call left. */
static verdict seek(target *at) {
    verdict made = {0, "nothing"};
    const size_t size = 64 << 20;
    char *fresh = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *heap = malloc(1 << 20);
    char path[512], buffer[4096];
    /* The pattern itself is in this program, and on no other page. */
    if (fresh != MAP_FAILED && holds_secret(fresh, size))
        made = (verdict){1, "fresh memory"};
    if (heap && holds_secret(heap, 1 << 20))
        made = (verdict){1, "the heap"};
    const char *const places[] = {"/tmp", "/dev/shm", "/", at->folder};
    for (int place = 0; place < 4; place++) {
        snprintf(path, sizeof path, "%s/" SECRET, places[place]);
        if (access(path, F_OK) == 0)
            made = (verdict){1, "a file"};
        unlink(path);
    }
    int shared = shmget(0x74617265, 4096, 0);
    if (shared >= 0) {
        made = (verdict){1, "shared memory"};
        shmctl(shared, IPC_RMID, 0);
    }
    long key = syscall(SYS_request_key, "user", SECRET, 0, 0);
    if (key >= 0) {
        made = (verdict){1, "a key"};
        syscall(SYS_keyctl, 9 /* unlink */, key, -4);
    }
    ssize_t count = recv(at->host->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0 && holds_secret(buffer, (size_t)count))
        made = (verdict){1, "the socket"};
    return made;
}

/* Those that do not answer as they should: what they do is seen from outside. */
static _Noreturn verdict endless_loop(target *at) {
    (void)at;
    for (volatile unsigned count = 0;; count++)
        ;
}

static _Noreturn verdict hang(target *at) {
    (void)at;
    for (;;)
        pause();
}

static verdict crash(target *at) {
    (void)at;
    *(volatile int *)0 = 1;
    return judge(0);
}

static verdict leave(target *at) {
    (void)at;
    _exit(7);
}

static verdict wire(target *at, const void *bytes, size_t length) {
    tare_write(at->host->fd, bytes, length);
    return hang(at);
}

static verdict varint_overflow(target *at) { return wire(at, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10); }

static verdict length_over_limit(target *at) { return wire(at, "\xff\xff\xff\xff\x07", 5); }

static verdict half_response(target *at) {
    tare_write(at->host->fd, "\x64half", 5);
    _exit(0);
}

static _Noreturn verdict huge_response(target *at) {
    static char piece[1 << 16];
    tare_write(at->host->fd, "\x80\x80\x80\x80\x01", 5); /* 256 MiB */
    for (;;)
        tare_write(at->host->fd, piece, sizeof piece);
}

static verdict after_close(target *at) {
    shutdown(at->host->fd, SHUT_WR);
    close(at->host->fd);
    return hang(at);
}

static _Noreturn verdict callback_flood(target *at) {
    for (;;)
        tare_call(at->host, "echo", tare_text("x"));
}

static _Noreturn verdict deaf_callbacks(target *at) {
    static char piece[1 << 16];
    tare_message io = {0, 0, 0}, callback = {0, 0, 0};
    tare_put_bytes(&io, 4, (tare_bytes){(uint8_t *)piece, sizeof piece});
    tare_put_bytes(&callback, 1, tare_text("echo"));
    tare_put_bytes(&callback, 2, (tare_bytes){io.bytes, io.length});
    for (;;)
        tare_say_any(at->host->fd, "a.Callback", (tare_bytes){callback.bytes, callback.length});
}

static const struct {
    const char *name;
    verdict (*attack)(target *);
} ATTACKS[] = {
#define ATTACK(name) {#name, name}
    ATTACK(read_file),        ATTACK(stat_file),          ATTACK(write_file),        ATTACK(write_anywhere),
    ATTACK(inet),             ATTACK(netlink),            ATTACK(vsock),             ATTACK(packet),
    ATTACK(abstract_socket),  ATTACK(other_process),      ATTACK(kill_all),          ATTACK(process_list),
    ATTACK(process_memory),   ATTACK(trace),              ATTACK(read_other_memory), ATTACK(mount_over),
    ATTACK(new_root),         ATTACK(keyring),            ATTACK(inherited_files),   ATTACK(join_namespace),
    ATTACK(user_namespace),   ATTACK(clone_namespace),    ATTACK(clone3_namespace),  ATTACK(file_handle),
    ATTACK(pass_descriptor),  ATTACK(bpf_map),            ATTACK(io_ring),           ATTACK(fault_handler),
    ATTACK(memory_file),      ATTACK(process_descriptor), ATTACK(performance_events), ATTACK(load_module),
    ATTACK(become_root),      ATTACK(host_name),          ATTACK(shared_memory),     ATTACK(execute_memory),
    ATTACK(execute_file),     ATTACK(fork_bomb),          ATTACK(memory_bomb),       ATTACK(shared_memory_bomb),
    ATTACK(orphan),           ATTACK(plant),              ATTACK(seek),              ATTACK(endless_loop),
    ATTACK(hang),             ATTACK(crash),              ATTACK(leave),             ATTACK(varint_overflow),
    ATTACK(length_over_limit), ATTACK(half_response),     ATTACK(huge_response),     ATTACK(after_close),
    ATTACK(callback_flood),   ATTACK(deaf_callbacks),
};

static const char *text_in(tare_bytes request, unsigned field) {
    tare_bytes found = tare_field_bytes(request, field);
    char *text = calloc(found.length + 1, 1);
    if (text && found.length)
        memcpy(text, found.bytes, found.length);
    return text;
}

static void serve(tare_host *host, tare_bytes request) {
    target at = {.host = host, .other = (pid_t)tare_number(request, 2, 1), .port = (uint16_t)tare_number(request, 4, 0)};
    at.file = text_in(request, 3);
    at.abstract = text_in(request, 5);
    at.folder = text_in(request, 6);
    const char *name = text_in(request, 1);
    verdict made = {0, "no such attack"};
    int known = 0;
    for (size_t index = 0; index < sizeof ATTACKS / sizeof *ATTACKS; index++) {
        if (strcmp(ATTACKS[index].name, name) == 0) {
            made = ATTACKS[index].attack(&at);
            known = 1;
        }
    }
    tare_message response = {0, 0, 0};
    tare_put_bytes(&response, 1, tare_text(!known ? "unknown" : made.open ? "open" : "blocked"));
    tare_put_bytes(&response, 2, tare_text(made.seen));
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}

TARE_UDF(serve)
