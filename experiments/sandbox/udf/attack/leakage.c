/* What one call leaves for the next. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "attack.h"

#define SECRET "tare-secret-of-the-caller-before"

#ifdef __x86_64__
/* A register that neither the compiler nor the C library uses here. */
static void fill_registers(void) {
    __asm__ volatile("movdqu %0, %%xmm15" : : "m"(*(const char(*)[16])SECRET) : "xmm15");
}

static void keep_registers(char into[16]) {
    __asm__ volatile("movdqu %%xmm15, %0" : "=m"(*(char(*)[16])into));
}
#else
static void fill_registers(void) {}
static void keep_registers(char into[16]) { memset(into, 0, 16); }
#endif

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
    int shared = shmget(0x74617265, 4096, IPC_CREAT | 0666);
    syscall(SYS_add_key, "user", SECRET, "x", 1, -4 /* the user's */);
    setenv(SECRET, SECRET, 1);
    made.open |= shared >= 0;
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
