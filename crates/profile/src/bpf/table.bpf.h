/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* How a table of the BPF programs is declared. */

#define TABLE(name, kind, entries, from, to)                                                         \
	struct {                                                                                     \
		__uint(type, BPF_MAP_TYPE_##kind);                                                   \
		__uint(max_entries, entries);                                                        \
		__type(key, from);                                                                   \
		__type(value, to);                                                                   \
	} name SEC(".maps")
