/* What one call leaves for the next. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attack.h"

#define SECRET "tare-secret-of-the-caller-before"

#ifdef __x86_64__
/* The data segment of Linux, which nobody needs to load in 64-bit mode. */
enum { SEGMENT = 0x2b };

/* Registers that neither the compiler nor the C library uses here. */
static void fill_registers(void) {
    __asm__ volatile("movdqu %0, %%xmm15" : : "m"(*(const char(*)[16])SECRET) : "xmm15");
    __asm__ volatile("mov %0, %%es; mov %0, %%gs" : : "r"((uint16_t)SEGMENT));
}

static int has_segment(void) {
    uint16_t es, gs;
    __asm__ volatile("mov %%es, %0; mov %%gs, %1" : "=r"(es), "=r"(gs));
    return es == SEGMENT || gs == SEGMENT;
}

static void keep_registers(char into[16]) {
    __asm__ volatile("movdqu %%xmm15, %0" : "=m"(*(char(*)[16])into));
}
#else
static void fill_registers(void) {}
static int has_segment(void) { return 0; }
static void keep_registers(char into[16]) { memset(into, 0, 16); }
#endif

#define SECOND 0x74617265 /* a time, a lock's place, and a key */
#define FLAGS (O_APPEND | O_NONBLOCK)
#define STREAMS 3

/* A byte of a file that nobody else locks. */
static struct flock place(short kind) { return (struct flock){.l_type = kind, .l_start = SECOND, .l_len = 1}; }

static void set_time(int stream, struct timespec changed) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, changed};
    futimens(stream, times);
}

/* What stays with an open file, or with what is behind it, others see who have it too. */
static void mark_streams(void) {
    for (int stream = 0; stream < STREAMS; stream++) {
        struct flock lock = place(F_WRLCK);
        fcntl(stream, F_SETFL, FLAGS);
        fcntl(stream, F_SETSIG, SIGURG);
        fcntl(stream, F_OFD_SETLK, &lock);
        set_time(stream, (struct timespec){.tv_sec = SECOND});
    }
}

/* What is marked on a stream; the marks are taken off. */
static const char *mark_on(int stream) {
    const char *found = 0;
    struct flock lock = place(F_WRLCK), none = place(F_UNLCK);
    struct stat file;
    int flags = fcntl(stream, F_GETFL);
    if (flags >= 0 && flags & FLAGS)
        found = "flags of a stream";
    if (fcntl(stream, F_GETSIG) == SIGURG)
        found = "the signal of a stream";
    if (fcntl(stream, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        found = "a lock on a stream";
    if (fstat(stream, &file) == 0 && file.st_mtim.tv_sec == SECOND)
        found = "the time of a stream";
    fcntl(stream, F_SETFL, 0);
    fcntl(stream, F_SETSIG, 0);
    fcntl(stream, F_OFD_SETLK, &none);
    if (found)
        set_time(stream, (struct timespec){.tv_nsec = UTIME_NOW});
    return found;
}

/* Signals its presence to callers at the same time. */
verdict hold(target *at) {
    for (int stream = 0; stream < STREAMS; stream++) {
        struct flock lock = place(F_WRLCK);
        fcntl(stream, F_SETLK, &lock);
    }
    mark_streams();
    return hang(at);
}

/* Leaves a secret wherever it can, for a later call to find. */
verdict plant(target *at) {
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
    int shared = shmget(SECOND, 4096, IPC_CREAT | 0666);
    syscall(SYS_add_key, "user", SECRET, "x", 1, -4 /* the user's */);
    setenv(SECRET, SECRET, 1);
    made.open |= shared >= 0;
    for (size_t byte = 0; at->host->response >= 0 && byte < 1 << 20; byte += sizeof SECRET)
        if (write(at->host->response, SECRET, sizeof SECRET) < 0)
            break;
    mark_streams();
    fill_registers();
    return made;
}

static int holds_secret(const char *memory, size_t length) { return memmem(memory, length, SECRET, sizeof SECRET - 1) != 0; }

/* Looks for a secret that an earlier call left. */
verdict seek(target *at) {
    verdict made = {0, "nothing"};
    const size_t size = 64 << 20;
    char *fresh = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *heap = malloc(1 << 20);
    char path[512], buffer[4096], registers[16];
    keep_registers(registers);
    if (memcmp(registers, SECRET, sizeof registers) == 0)
        made = (verdict){1, "a register"};
    if (has_segment())
        made = (verdict){1, "a segment register"};
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
    int shared = shmget(SECOND, 4096, 0);
    if (shared >= 0) {
        made = (verdict){1, "shared memory"};
        shmctl(shared, IPC_RMID, 0);
    }
    long key = syscall(SYS_request_key, "user", SECRET, 0, 0);
    if (key >= 0) {
        made = (verdict){1, "a key"};
        syscall(SYS_keyctl, 9 /* unlink */, key, -4);
    }
    for (int stream = 0; stream < STREAMS; stream++) {
        const char *mark = mark_on(stream);
        if (mark) {
            made.open = 1;
            snprintf(made.seen, sizeof made.seen, "%s", mark);
        }
    }
    const int files[] = {at->host->request, at->host->response};
    for (int file = 0; file < 2; file++) {
        off_t end = lseek(files[file], 0, SEEK_END);
        size_t seen = end < 1 << 20 ? (size_t)end : 1 << 20;
        char *memory = end <= 0 ? MAP_FAILED : mmap(0, seen, PROT_READ, MAP_PRIVATE, files[file], 0);
        if (memory != MAP_FAILED && holds_secret(memory, seen))
            made = (verdict){1, "shared memory of a call"};
    }
    ssize_t count = recv(at->host->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0 && holds_secret(buffer, (size_t)count))
        made = (verdict){1, "the socket"};
    return made;
}
