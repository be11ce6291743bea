/* What one call leaves for the next: a module has nothing but its memory, and its line. */
#include <fcntl.h>

#include "attack.h"

#define SECRET "tare-secret-of-the-caller-before"

static char planted[1 << 16];

verdict plant(target *at) {
    (void)at;
    snprintf(planted, sizeof planted, "%s", SECRET);
    for (int count = 0; count < 16; count++) {
        char *memory = malloc(1 << 20);
        for (size_t byte = 0; memory && byte + sizeof SECRET < 1 << 20; byte += sizeof SECRET)
            memcpy(memory + byte, SECRET, sizeof SECRET);
    }
    for (int stream = 0; stream < 4; stream++)
        fcntl(stream, F_SETFL, O_APPEND | O_NONBLOCK);
    return (verdict){0, "in its memory"};
}

verdict hold(target *at) {
    plant(at);
    return hang(at);
}

/* The pattern itself is in this module's data, once. */
verdict seek(target *at) {
    unsigned found = 0;
    const size_t more = 32 << 20;
    (void)at;
    if (!malloc(more))
        return (verdict){1, "no memory to look at"};
    const char *end = (const char *)((size_t)__builtin_wasm_memory_size(0) << 16);
    for (const char *each = (const char *)16; each + sizeof SECRET < end; each++)
        found += memcmp(each, SECRET, sizeof SECRET - 1) == 0;
    verdict made = {found > 1, ""};
    snprintf(made.seen, sizeof made.seen, "%u times", found);
    for (int stream = 0; stream < 4; stream++) {
        int flags = fcntl(stream, F_GETFL);
        if (flags >= 0 && flags & (O_APPEND | O_NONBLOCK))
            made = (verdict){1, "flags of a stream"};
    }
    return made;
}
