/* What could be done to a log that others say something in, too. */
#include <fcntl.h>

#include "attack.h"

/* Says something, and then tries to take back or see what was said before. */
verdict cut_log(target *at) {
    char seen[64];
    (void)at;
    tare_write(2, "said\n", 5);
    long done = ftruncate(2, 0) == 0 || lseek(2, 0, SEEK_SET) == 0 || read(2, seen, sizeof seen) > 0;
    return judge(done ? 0 : -1);
}

verdict babble(target *at) {
    static char piece[1 << 12];
    (void)at;
    for (;;)
        if (write(2, piece, sizeof piece) < 0)
            return hang(at);
}
