/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the controller's memory by its name. */

#ifndef FILTER_SHM_MAP_H
#define FILTER_SHM_MAP_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter_shm.h"

/* The controller's memory, to be unmapped with its size; NULL, and a sentence in `why`, when it is
 * not there or not right. Called in nginx's master, so that the workers inherit the mapping and need
 * no right to open it. */
static inline struct filter_shm *
filter_shm_map(const char *name, char *why, size_t size)
{
    struct stat status;
    struct filter_shm *shm = MAP_FAILED;
    int fd = shm_open(name, O_RDWR, 0);

    if (fd == -1 && errno == ENOENT) {
        snprintf(why, size, "start the controller first: there is no shared memory \"%s\"; "
                 "run: filter-controller --shm %s --prefix /aaaa", name, name);
        return NULL;
    }
    if (fd == -1) {
        snprintf(why, size, "the shared memory \"%s\" cannot be opened (%s); run nginx as the user "
                 "of: filter-controller --shm %s --prefix /aaaa", name, strerror(errno), name);
        return NULL;
    }
    if (fstat(fd, &status) == 0 && status.st_size == (off_t) sizeof(*shm)) {
        shm = (struct filter_shm *) mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);

    if (shm != MAP_FAILED
        && __atomic_load_n(&shm->magic, __ATOMIC_ACQUIRE) == FILTER_SHM_MAGIC
        && shm->version == FILTER_SHM_VERSION)
    {
        return shm;
    }
    if (shm != MAP_FAILED) {
        munmap(shm, sizeof(*shm));
    }
    snprintf(why, size, "start the controller first: the shared memory \"%s\" does not have layout "
             "version %d; remove /dev/shm%s, then run: filter-controller --shm %s --prefix /aaaa",
             name, FILTER_SHM_VERSION, name, name);
    return NULL;
}

#endif
