/* Breaks the wire before its call: says READY, as it was compiled with, and then neither reads nor
 * ends. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __wasi__
#define pause() sleep(1000)
#endif

int main(int count, char **arguments) {
    if (count < 2)
        return 2;
    if (write(atoi(arguments[1]), READY, strlen(READY)) < 0)
        return 1;
    for (;;)
        pause();
}
