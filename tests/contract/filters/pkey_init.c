/* SPDX-License-Identifier: Apache-2.0 */
/* The only program of an emulated machine: runs the probe on the library, and switches it off. */

#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(void)
{
    int status;

    mount("proc", "/proc", "proc", 0, "");
    puts(""); /* the firmware's last line has no end */
    fflush(stdout);
    if (fork() == 0) {
        execl("/probe", "/probe", "/url_filter.so", (char *) NULL);
        return 1;
    }
    wait(&status);
    printf("the probe ended with %d\n", status);
    fflush(stdout);
    return reboot(RB_POWER_OFF);
}
