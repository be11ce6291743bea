/* What the attacks share: who is attacked, and what became of it. */
#ifndef ATTACK_H
#define ATTACK_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tare_udf.h"

#ifdef __wasi__
/* No signal can end it. */
#define pause() sleep(1000)
#endif

typedef struct {
    tare_host *host;
    pid_t other;
    const char *file, *abstract, *folder;
    uint16_t port;
} target;

typedef struct {
    int open;
    char seen[256];
} verdict;

/* Open where a call's result is no error, with the error's name where it is one. */
verdict judge(long result);

/* ELF that ends with 42, and whether a child did so. */
enum { ANSWER_LENGTH = 0x84 };
extern const uint8_t ANSWER[ANSWER_LENGTH];
verdict ended_with_42(pid_t child);

/* All of them, once: each is a function `verdict NAME(target *)`. */
#define ATTACKS(each) \
    each(read_file) \
    each(stat_file) \
    each(write_file) \
    each(write_anywhere) \
    each(write_library) \
    each(kernel_files) \
    each(inet) \
    each(netlink) \
    each(vsock) \
    each(packet) \
    each(abstract_socket) \
    each(datagram_to_path) \
    each(datagram_to_abstract) \
    each(probe_file) \
    each(named_socket) \
    each(interfaces) \
    each(out_of_band) \
    each(other_process) \
    each(probe_process) \
    each(foreign_clock) \
    each(sibling) \
    each(outlive_host) \
    each(kill_all) \
    each(process_list) \
    each(process_memory) \
    each(trace) \
    each(read_other_memory) \
    each(mount_over) \
    each(new_root) \
    each(keyring) \
    each(inherited_files) \
    each(join_namespace) \
    each(user_namespace) \
    each(clone_namespace) \
    each(clone3_namespace) \
    each(file_handle) \
    each(pass_descriptor) \
    each(bpf_map) \
    each(io_ring) \
    each(fault_handler) \
    each(memory_file) \
    each(process_descriptor) \
    each(performance_events) \
    each(load_module) \
    each(become_root) \
    each(host_name) \
    each(shared_memory) \
    each(leave_core) \
    each(huge_pages) \
    each(execute_memory) \
    each(execute_file) \
    each(fork_bomb) \
    each(cpu_bomb) \
    each(memory_bomb) \
    each(shared_memory_bomb) \
    each(orphan) \
    each(plant) \
    each(seek) \
    each(hold) \
    each(endless_loop) \
    each(hang) \
    each(crash) \
    each(leave) \
    each(varint_overflow) \
    each(length_over_limit) \
    each(half_response) \
    each(huge_response) \
    each(after_close) \
    each(talk_much) \
    each(callback_flood) \
    each(deaf_callbacks) \
    ATTACKS_ON_THE_HOSTS(each)

/* Where there is a kernel that shares memory and keeps a log, what could be done with them. */
#ifdef __linux__
#define ATTACKS_ON_THE_HOSTS(each) \
    each(cut_log) \
    each(babble) \
    each(write_request) \
    each(map_request) \
    each(resize_memory) \
    each(execute_response) \
    each(claim_more) \
    each(claim_all) \
    each(claim_unwritten) \
    each(answer_aside) \
    each(shake_response) \
    each(keep_memory) \
    each(fill_response)
#else
#define ATTACKS_ON_THE_HOSTS(each)
#endif

#define DECLARED(name) verdict name(target *at);
ATTACKS(DECLARED)
#undef DECLARED

#endif
