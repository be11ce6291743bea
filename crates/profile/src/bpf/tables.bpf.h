/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the BPF programs share with src/kernel/layout.rs, and what they read of the kernel. */

#include "table.bpf.h"

#define ROLES 16
#define DEEPEST 127
#define MOST_PROCESSES 65536
#define MOST_TASKS 65536
#define MOST_STACKS 16384
#define MOST_PLACES 32768

/* A stack's key where the table of stacks is full. */
#define LOST 1

/* What a role's counts are; those below OTHER_SYSCALL are system calls by number. */
#define OTHER_SYSCALL 511
#define SWITCH_VOLUNTARY 512
#define SWITCH_INVOLUNTARY 513
#define FAULT_USER 514
#define FAULT_KERNEL 515
#define WAKEUP_SENT 516
#define WAKEUP_REMOTE 517
#define BYTES_READ 518
#define BYTES_WRITTEN 519
#define PACKETS_SENT 520
#define CPU_NS 521
#define SOFTIRQ 522
#define SOFTIRQS 10
#define COUNTS 532

/* Why a task was where it was found. */
enum why { RUNNING, BLOCKED, QUEUED, PREEMPTED };

#define TASK_DEAD 0x80

struct thread_info {
	__u32 status;
	__u32 cpu;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
} __attribute__((preserve_access_index));

struct control {
	__u64 began;
	__u32 counting;
	__u32 waits;
};

struct process {
	__u32 role;
	/* The process whose memory map it has: its own, or its parent's as long as it executed nothing. */
	__u32 map_of;
	__u32 executions;
};

struct stack {
	__u32 length;
	/* Not 0 if its last frame has no caller. */
	__u32 whole;
	__u64 frames[DEEPEST];
};

struct place {
	__u64 user;
	__u64 kernel;
	__u32 tgid;
	__u32 map_of;
	__u32 role;
	__u32 why;
};

struct sum {
	__u64 count;
	__u64 ns;
};

struct wait {
	struct place place;
	__u64 since;
	__u64 woken;
};

struct cpu {
	/* When its last task began to run. */
	__u64 since;
	/* Not 0 while a user stack is read, which may fault. */
	__u64 reading;
};

struct waker {
	__u32 role;
	__u32 cpu;
};

TABLE(control, ARRAY, 1, __u32, struct control);
TABLE(lost, ARRAY, 1, __u32, __u64);
TABLE(processes, HASH, MOST_PROCESSES, __u32, struct process);
TABLE(stacks, HASH, MOST_STACKS, __u64, struct stack);
TABLE(places, HASH, MOST_PLACES, struct place, struct sum);
TABLE(waits, HASH, MOST_TASKS, __u32, struct wait);
/* A wake-up in progress: the woken task's number -> who wakes it. */
TABLE(wakers, LRU_HASH, MOST_TASKS, __u32, struct waker);
TABLE(counts, PERCPU_ARRAY, ROLES *COUNTS, __u32, __u64);
TABLE(cpus, PERCPU_ARRAY, 1, __u32, struct cpu);
TABLE(buffers, PERCPU_ARRAY, 2, __u32, struct stack);
/* Number of a system call -> BYTES_READ, BYTES_WRITTEN or 0. */
TABLE(families, ARRAY, OTHER_SYSCALL, __u32, __u32);

static __always_inline struct control *control_of(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

/* Count what finds no room. */
static __always_inline void lose(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&lost, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline struct cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/* The registers by which callers are found. */
struct registers {
	/* The instruction. */
	__u64 code;
	/* The stack's lowest word. */
	__u64 top;
	__u64 frame;
#if defined(__TARGET_ARCH_x86)
	__u64 rax;
	__u64 rsi;
	__u64 r11;
#endif
};

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2
struct pt_regs {
	unsigned long bp;
	unsigned long r11;
	unsigned long ax;
	unsigned long si;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
} __attribute__((preserve_access_index));

static __always_inline _Bool is_32_bit(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->thread_info.status & TS_COMPAT;
}

static __always_inline __u32 syscall_number(struct pt_regs *registers)
{
	return registers->orig_ax;
}

static __always_inline void user_registers(struct pt_regs *from, struct registers *to)
{
	to->code = from->ip;
	to->top = from->sp;
	to->frame = from->bp;
	to->rax = from->ax;
	to->rsi = from->si;
	to->r11 = from->r11;
}

static __always_inline __u64 plain(__u64 address)
{
	return address;
}
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
};

struct pt_regs {
	struct user_pt_regs user_regs;
	int syscallno;
} __attribute__((preserve_access_index));

static __always_inline _Bool is_32_bit(void)
{
	return 0;
}

static __always_inline __u32 syscall_number(struct pt_regs *registers)
{
	return registers->syscallno;
}

static __always_inline void user_registers(struct pt_regs *from, struct registers *to)
{
	to->code = from->user_regs.pc;
	to->top = from->user_regs.sp;
	to->frame = from->user_regs.regs[29];
}

/* Return addresses may be signed in the bits that addresses do not use (pointer authentication). */
static __always_inline __u64 plain(__u64 address)
{
	return address & ((1UL << 48) - 1);
}
#endif
