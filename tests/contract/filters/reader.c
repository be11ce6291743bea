/* SPDX-License-Identifier: Apache-2.0 */
/* reader SHM GENERATION URI: matches the URI until that generation is in force; prints how often it
 * was accepted. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "filter_shm.h"

int
main(int argc, char **argv)
{
    unsigned long accepted = 0;
    uint64_t last = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    int fd = argc == 4 ? shm_open(argv[1], O_RDONLY, 0) : -1;
    struct filter_shm *shm = mmap(NULL, sizeof(*shm), PROT_READ, MAP_SHARED, fd, 0);

    if (shm == MAP_FAILED) {
        perror("reader");
        return 1;
    }
    while (__atomic_load_n(&shm->generation, __ATOMIC_RELAXED) < last) {
        accepted += filter_shm_match(shm, argv[3], strlen(argv[3]));
    }
    printf("%lu\n", accepted);
    return 0;
}
