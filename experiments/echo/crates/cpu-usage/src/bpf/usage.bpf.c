// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Charges each CPU's time, from one event to the next, to its user: a process, kernel threads, softirq or
 * idle. The kernel's own accounting charges softirq time to the interrupted task. */

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define PF_KTHREAD 0x00200000
#define MOST_PROCESSES 16384

/* Keys of `used` that are no process. */
#define KERNEL_THREADS 0xfffffffe
#define SOFTIRQ 0xffffffff

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
} __attribute__((preserve_access_index));

struct usage {
	__u64 ns;
	__u64 switches;
};

struct cpu {
	__u64 since;
	__u64 events;
};

/* Number of a process -> its usage of this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, MOST_PROCESSES);
	__type(key, __u32);
	__type(value, struct usage);
} used SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

/* Nanoseconds since the last event of this CPU; this is one. 0 at the first. */
static __always_inline __u64 elapsed(void)
{
	__u64 now = bpf_ktime_get_ns(), since;
	__u32 zero = 0;
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!cpu)
		return 0;
	since = cpu->since;
	cpu->since = now;
	cpu->events++;
	return since ? now - since : 0;
}

static __always_inline void charge(__u32 owner, __u64 ns, __u64 switches)
{
	struct usage *usage = bpf_map_lookup_elem(&used, &owner);
	struct usage first = { .ns = ns, .switches = switches };

	if (!usage) {
		bpf_map_update_elem(&used, &owner, &first, BPF_ANY);
		return;
	}
	usage->ns += ns;
	usage->switches += switches;
}

static __always_inline void charge_task(struct task_struct *task, __u64 ns, __u64 switches)
{
	if (!task->pid)
		return;
	charge(task->flags & PF_KTHREAD ? KERNEL_THREADS : task->tgid, ns, switches);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, _Bool preempt, struct task_struct *previous)
{
	charge_task(previous, elapsed(), 1);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int vector)
{
	charge_task(bpf_get_current_task_btf(), elapsed(), 0);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int vector)
{
	charge(SOFTIRQ, elapsed(), 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
