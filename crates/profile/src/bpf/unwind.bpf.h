/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Follows the callers of user code: by the rules that src/unwind.rs reads of each file's .eh_frame, and where there
 * are none by frame pointers. */

#define MOST_MAPPINGS 256
#define MOST_TABLES 4096
/* Of a table's rows: 2^24 are more than a file of 1 GB has. */
#define SEARCH_STEPS 24
#define MAPPING_STEPS 8

/* How the canonical frame address (CFA) of a function's frame is found; Rule in src/unwind.rs. */
enum rule { FRAME_POINTER, FROM_STACK, FROM_FRAME, FROM_RAX, FROM_RSI, FROM_R11, SIGNAL, LAST, UNKNOWN };

/* From `begin` on, up to the next row. */
struct row {
	/* From the file's lowest address on. */
	__u32 begin;
	/* The CFA's distance from the register, in words. */
	__s16 cfa;
	__u8 rule;
	/* The distance of the saved frame pointer from the CFA, in words; 0 if it was not saved. */
	__s8 frame;
};

/* A range of code whose file has a table. */
struct mapping {
	__u64 start;
	__u64 end;
	/* The address of the file's lowest. */
	__u64 base;
	__u32 table;
	__u32 rows;
};

/* A process's mappings in the order of their addresses. */
struct memory {
	__u64 count;
	struct mapping mappings[MOST_MAPPINGS];
};

struct table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct row));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MOST_TABLES);
	__type(key, __u32);
	__array(values, struct table);
} unwinding SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MOST_PROCESSES);
	__type(key, __u32);
	__type(value, struct memory);
} memories SEC(".maps");

/* A frame, and the stack whose callers are followed. */
struct walk {
	struct stack *stack;
	struct memory *memory;
	struct registers at;
	/* The address is that of the next instruction, and not the one behind a call. */
	__u64 exact;
};

static __always_inline struct mapping *mapping_of(struct memory *memory, __u64 address)
{
	__u32 low = 0, high = memory->count, step;

	for (step = 0; step <= MAPPING_STEPS; step++) {
		__u32 middle = (low + high) / 2;
		struct mapping *mapping;

		/* The verifier wants to see the bound of the very register. */
		barrier_var(middle);
		if (low >= high || middle >= MOST_MAPPINGS)
			break;
		mapping = &memory->mappings[middle];
		if (address < mapping->start)
			high = middle;
		else if (address >= mapping->end)
			low = middle + 1;
		else
			return mapping;
	}
	return NULL;
}

/* The rule of the code at an address. */
static __always_inline struct row row_of(struct memory *memory, __u64 address)
{
	struct mapping *mapping = memory ? mapping_of(memory, address) : NULL;
	struct row found = { .rule = FRAME_POINTER }, *row;
	__u32 low = 0, high, step;
	void *table;

	if (!mapping)
		return found;
	table = bpf_map_lookup_elem(&unwinding, &mapping->table);
	if (!table)
		return found;
	address -= mapping->base;
	/* The first row that begins behind the address. */
	high = mapping->rows;
	for (step = 0; step <= SEARCH_STEPS && low < high; step++) {
		__u32 middle = (low + high) / 2;

		row = bpf_map_lookup_elem(table, &middle);
		if (!row)
			return found;
		if (row->begin > address) {
			high = middle;
		} else {
			low = middle + 1;
			found = *row;
		}
	}
	return found;
}

static __always_inline int read_word(__u64 *word, __u64 address)
{
	return bpf_probe_read_user(word, sizeof(*word), (void *)address);
}

/* Note a frame and go on to its caller. 1 at the end of the stack, and where it cannot be followed. */
static long follow(__u64 at, struct walk *walk)
{
	struct stack *stack = walk->stack;
	__u64 cfa, frame = walk->at.frame;
	struct row row;

	if (!stack || at >= DEEPEST)
		return 1;
	stack->frames[at] = walk->at.code;
	stack->length = at + 1;
	row = row_of(walk->memory, walk->at.code - !walk->exact);
	walk->exact = 0;
	switch (row.rule) {
	case FRAME_POINTER:
		/* Outermost frames have none. A leaf that uses the register for something else may have any value. */
		stack->whole = !frame && at;
		if (!frame || read_word(&walk->at.frame, frame))
			return 1;
		cfa = frame + 2 * sizeof(__u64);
		break;
	case FROM_STACK:
		cfa = walk->at.top + row.cfa * 8L;
		break;
	case FROM_FRAME:
		cfa = frame + row.cfa * 8L;
		break;
#if defined(__TARGET_ARCH_x86)
	/* Assembler code keeps the stack's top in registers that its own callees leave alone. */
	case FROM_RAX:
		cfa = walk->at.rax + row.cfa * 8L;
		break;
	case FROM_RSI:
		cfa = walk->at.rsi + row.cfa * 8L;
		break;
	case FROM_R11:
		cfa = walk->at.r11 + row.cfa * 8L;
		break;
	case SIGNAL:
		/* The top of the stack is a struct ucontext; these are the places of rbp, rip and rsp in it. */
		if (read_word(&walk->at.frame, walk->at.top + 120) || read_word(&walk->at.code, walk->at.top + 168) ||
		    read_word(&walk->at.top, walk->at.top + 160))
			return 1;
		walk->exact = 1;
		return 0;
#endif
	case LAST:
		stack->whole = 1;
		return 1;
	default:
		return 1;
	}
	/* Callers lie above. */
	if (cfa <= walk->at.top || read_word(&walk->at.code, cfa - sizeof(__u64)))
		return 1;
	if (row.rule != FRAME_POINTER && row.frame && read_word(&walk->at.frame, cfa + row.frame * 8L))
		return 1;
	walk->at.code = plain(walk->at.code);
	walk->at.top = cfa;
	stack->whole = !walk->at.code;
	return stack->whole;
}

/* Fill in the addresses of the current task's user stack. */
static __always_inline void user_stack(struct stack *stack, __u32 map_of)
{
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct walk walk = { .stack = stack, .exact = 1 };

	stack->length = 0;
	stack->whole = 0;
	walk.memory = bpf_map_lookup_elem(&memories, &map_of);
	user_registers(registers, &walk.at);
	/* A kernel's worker in the process has none. */
	if (walk.at.code)
		bpf_loop(DEEPEST, follow, &walk, 0);
}
