/* SPDX-License-Identifier: Apache-2.0 */
/* Tries, from outside, everything on the memory that the filter library erim protects, and prints a
 * line for each attempt: what it was, and what came of it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SEGV_PKUERR
#define SEGV_PKUERR 4
#endif

struct region {
    volatile char *start, *end;
};

static struct region regions[16];
static int region_count;
static int (*initialize)(const char *);
static int (*filter)(const char *, size_t);
static volatile char *target;
static const unsigned char *gates[16];
static int gate_count;
static uint32_t open_rights;

/* The mappings that have a key of their own. */
static void
find_regions(void)
{
    char line[512];
    unsigned long start = 0, end = 0;
    FILE *file = fopen("/proc/self/smaps", "r");

    while (fgets(line, sizeof(line), file) != NULL) {
        int key;
        unsigned long from, to;
        char space;

        if (sscanf(line, "%lx-%lx%c", &from, &to, &space) == 3) {
            start = from;
            end = to;
        } else if (sscanf(line, "ProtectionKey: %d", &key) == 1 && key != 0 && region_count < 16) {
            regions[region_count++] = (struct region){(char *) start, (char *) end};
            open_rights = ~(3u << (2 * key));
        }
    }
    fclose(file);
}

static int
find_gates(struct dl_phdr_info *object, size_t size, void *data)
{
    (void) size;
    if (strstr(object->dlpi_name, data) == NULL) {
        return 0;
    }
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const unsigned char *code = (const unsigned char *) object->dlpi_addr + part->p_vaddr;

        for (size_t at = 0; part->p_type == PT_LOAD && (part->p_flags & PF_X)
             && at + 3 <= part->p_memsz; at++) {
            if (memcmp(code + at, "\x0f\x01\xef", 3) == 0 && gate_count < 16) {
                gates[gate_count++] = code + at;
            }
        }
    }
    return 0;
}

static void
on_fault(int number, siginfo_t *info, void *context)
{
    (void) context;
    _exit(number == SIGILL ? 3 : number == SIGSEGV && info->si_code == SEGV_PKUERR ? 2 : 4);
}

/* In a process of its own: what became of `act`. */
static void
attempt(const char *what, void (*act)(void))
{
    static const char *const outcomes[] = {"SUCCEEDED", "refused", "SEGV_PKUERR", "SIGILL", "other fault"};
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGILL, &action, NULL);
        sigaction(SIGBUS, &action, NULL);
        act();
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("%s: %s\n", what, WIFEXITED(status) && WEXITSTATUS(status) < 5
           ? outcomes[WEXITSTATUS(status)] : "killed");
}

static void do_read(void) { (void) *target; }
static void do_write(void) { *target = 1; }
static void on_signal(int number) { (void) number; do_read(); }
static void *in_thread(void *nothing) { do_read(); return nothing; }

static void
do_read_in_handler(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
}

static void
do_read_in_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
}

static void
do_write_by_kernel(void)
{
    int ends[2];

    if (pipe(ends) == 0 && write(ends[1], "x", 1) == 1 && read(ends[0], (char *) target, 1) == -1
        && errno == EFAULT) {
        _exit(1);
    }
}

static void
do_read_by_kernel(void)
{
    int ends[2];

    if (pipe(ends) == 0 && write(ends[1], (char *) target, 1) == -1 && errno == EFAULT) {
        _exit(1);
    }
}

static void
do_initialize(void)
{
    if (initialize("/bbbb") != 0) {
        _exit(1);
    }
}

/* The filter would answer whether its own memory begins with the prefix. */
static void
do_filter_domain(void)
{
    if (filter((const char *) target, 64) != 1) {
        _exit(1);
    }
}

static const unsigned char *jump_to;
static uint32_t jump_rights;

/* Jumps to a WRPKRU with rights of our own, and comes back, if at all, by the gate's return; then
 * reads. */
static void
do_jump(void)
{
    uint32_t rights = jump_rights;

    __asm__ volatile(
        "lea 1f(%%rip), %%r8\n\t"
        "push %%r8\n\t"
        "push %%rbx\n\tpush %%r12\n\tpush %%r13\n\t"
        "xor %%ecx, %%ecx\n\txor %%edx, %%edx\n\t"
        "xor %%edi, %%edi\n\txor %%esi, %%esi\n\t"
        "jmp *%1\n"
        "1:"
        : "+a"(rights) : "r"(jump_to)
        : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    do_read();
}

int
main(int argc, char **argv)
{
    char what[128];
    void *library = dlopen(argv[argc - 1], RTLD_NOW);

    if (library == NULL) {
        return 2;
    }
    initialize = (int (*)(const char *)) dlsym(library, "module_initialize");
    filter = (int (*)(const char *, size_t)) dlsym(library, "module_url_filter_n");
    if (initialize("/aaaa") != 0) {
        return 1;
    }
    printf("accepts: %d, rejects: %d\n", filter("/aaaa/b", 7), filter("/aaa", 4));
    find_regions();
    dl_iterate_phdr(find_gates, "url_filter.so");
    printf("regions: %d, gates: %d\n", region_count, gate_count);

    for (int i = 0; i < region_count; i++) {
        volatile char *places[] = {regions[i].start, regions[i].start + 192, regions[i].end - 1};

        for (size_t place = 0; place < sizeof(places) / sizeof(*places); place++) {
            target = places[place];
            attempt("read", do_read);
            attempt("write", do_write);
        }
    }
    target = regions[0].start;
    attempt("read in a signal handler", do_read_in_handler);
    attempt("read in another thread", do_read_in_thread);
    attempt("read by the kernel", do_read_by_kernel);
    attempt("write by the kernel", do_write_by_kernel);
    attempt("initialize in a worker", do_initialize);
    attempt("filter the domain", do_filter_domain);
    for (int i = 0; i < gate_count; i++) {
        jump_to = gates[i];
        jump_rights = 0;
        snprintf(what, sizeof(what), "jump to gate %d with all rights", i);
        attempt(what, do_jump);
        jump_rights = 0x55555554u & open_rights;
        snprintf(what, sizeof(what), "jump to gate %d with the domain's", i);
        attempt(what, do_jump);
    }
    printf("accepts: %d, rejects: %d\n", filter("/aaaa/b", 7), filter("/aaa", 4));
    return 0;
}
