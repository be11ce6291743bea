/* More processes or memory than a call may have. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "attack.h"

#define FORKS_MAX 200

verdict fork_bomb(target *at) {
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

verdict memory_bomb(target *at) {
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

verdict shared_memory_bomb(target *at) {
    size_t size = (size_t)4 << 30;
    char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)at;
    if (memory == MAP_FAILED)
        return judge(-1);
    for (size_t byte = 0; byte < size; byte += 4096)
        memory[byte] = 1;
    return judge(0);
}

/* CPU time beyond the limit of one process: each of these has its own. */
verdict cpu_bomb(target *at) {
    for (int count = 0; count < 8; count++) {
        pid_t child = fork();
        if (child < 0)
            return judge(-1);
        if (child == 0)
            endless_loop(at);
    }
    return hang(at);
}
