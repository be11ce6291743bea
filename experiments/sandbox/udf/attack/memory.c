/* What could be done to the memory that a call shares with the host. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attack.h"

static int starts(int file) { return lseek(file, 0, SEEK_SET) == 0; }

verdict write_request(target *at) { return judge(starts(at->host->request) ? write(at->host->request, "x", 1) : -1); }

/* If the mapping is made before it is refused, its use ends the process. */
verdict map_request(target *at) {
    char *memory = mmap(0, 1, PROT_READ | PROT_WRITE, MAP_SHARED, at->host->request, 0), first = 0;
    if (memory == MAP_FAILED)
        return judge(-1);
    pid_t child = fork();
    if (child == 0) {
        *(volatile char *)memory = 'x';
        _exit(0);
    }
    if (child < 0 || waitpid(child, 0, 0) < 0 || !starts(at->host->request) || read(at->host->request, &first, 1) != 1)
        return judge(-1);
    return (verdict){first == 'x', "mapped"};
}

/* Open when either file can be made shorter or longer. */
verdict resize_memory(target *at) {
    const int files[] = {at->host->request, at->host->response};
    verdict made = {0, ""};
    for (int index = 0; index < 2; index++) {
        off_t length = lseek(files[index], 0, SEEK_END);
        int done = ftruncate(files[index], 0) == 0 || ftruncate(files[index], length + 4096) == 0;
        int longer = lseek(files[index], 0, SEEK_END) == length && write(files[index], "x", 1) == 1;
        made.open |= done || longer;
        snprintf(made.seen, sizeof made.seen, "%s", strerror(errno));
    }
    return made;
}

/* A program in the response's memory. */
verdict execute_response(target *at) {
    static char *const none[] = {0};
    fchmod(at->host->response, 0777);
    if (!starts(at->host->response) || write(at->host->response, ANSWER, ANSWER_LENGTH) < 0)
        return judge(-1);
    pid_t child = fork();
    if (child == 0) {
        syscall(SYS_execveat, at->host->response, "", none, none, AT_EMPTY_PATH);
        _exit(1);
    }
    return child < 0 ? judge(-1) : ended_with_42(child);
}

static verdict claim(target *at, uint64_t length) {
    tare_message said = {0, 0, 0};
    tare_put_number(&said, 1, length);
    tare_say_any(at->host->fd, "a.InMemory", (tare_bytes){said.bytes, said.length});
    return hang(at);
}

/* One byte more than there is room for. */
verdict claim_more(target *at) { return claim(at, (uint64_t)lseek(at->host->response, 0, SEEK_END) + 1); }

verdict claim_all(target *at) { return claim(at, UINT64_MAX); }

/* As long as it may be, and never written. */
verdict claim_unwritten(target *at) { return claim(at, (uint64_t)lseek(at->host->response, 0, SEEK_END)); }

/* On the socket, though it has said that it shares memory. */
verdict answer_aside(target *at) {
    tare_say_any(at->host->fd, "a.Response", tare_text("aside"));
    return hang(at);
}

static int shaken;

static void *shake(void *unused) {
    (void)unused;
    for (;;) {
        fallocate(shaken, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
        if (ftruncate(shaken, 0) == 0 || !starts(shaken) || write(shaken, "xxxxxxxx", 8) < 0)
            return 0;
    }
}

/* Changes the response while the host takes it. */
verdict shake_response(target *at) {
    pthread_t thread;
    shaken = at->host->response;
    pthread_create(&thread, 0, shake, 0);
    return claim(at, 1 << 20);
}

/* Leaves processes behind that have the files, one of which has mapped them. */
verdict keep_memory(target *at) {
    verdict made = {0, "kept"};
    for (int count = 0; count < 2; count++) {
        pid_t child = fork();
        if (child < 0)
            return judge(-1);
        if (child == 0) {
            setsid();
            char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, at->host->response, 0);
            for (;;)
                if (memory != MAP_FAILED)
                    ++((volatile char *)memory)[4095];
        }
    }
    return made;
}

/* More than its memory may be, in pages that count as its own wherever they are mapped. */
verdict fill_response(target *at) {
    static char piece[1 << 20];
    ssize_t taken = starts(at->host->response) ? 1 : -1;
    while (taken > 0)
        taken = write(at->host->response, piece, sizeof piece);
    return judge(-1);
}
