//! Where the kernel's verifier or PREVAIL and this project's have different opinions, and why.

/// Who alone accepts a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    Ours,
    Other,
}

/// A program of which the opinions differ.
pub struct Disagreement {
    pub program: &'static str,
    pub accepts: Accepts,
    /// The same as in the table of variants/ebpf/README.md.
    pub reason: &'static str,
}

/// With the kernel.
pub const KERNEL: &[Disagreement] = &[
    Disagreement {
        program: "signed_index",
        accepts: Accepts::Ours,
        reason: "the kernel has no distance of two addresses in 32 bits",
    },
    Disagreement {
        program: "upper_first",
        accepts: Accepts::Ours,
        reason: "the kernel has no distance of two addresses in 32 bits",
    },
    Disagreement {
        program: "looked_up",
        accepts: Accepts::Ours,
        reason: "the kernel has no distance of two addresses in 32 bits",
    },
    Disagreement {
        program: "clamped",
        accepts: Accepts::Ours,
        reason: "the kernel forgets a bound of 32 bits in 64",
    },
    Disagreement {
        program: "constant_key",
        accepts: Accepts::Ours,
        reason: "the kernel asks for a comparison with null although the array has the key",
    },
    Disagreement {
        program: "double_slash",
        accepts: Accepts::Ours,
        reason: "the kernel looks at each turn by itself, and at no more than it has room for",
    },
    Disagreement {
        program: "extension",
        accepts: Accepts::Ours,
        reason: "the kernel looks at each turn by itself, and at no more than it has room for",
    },
    Disagreement {
        program: "way_up",
        accepts: Accepts::Ours,
        reason: "the kernel looks at each turn by itself, and at no more than it has room for",
    },
    Disagreement {
        program: "typed",
        accepts: Accepts::Ours,
        reason: "the kernel looks at each turn by itself, and at no more than it has room for",
    },
    Disagreement {
        program: "long_loop",
        accepts: Accepts::Ours,
        reason: "the kernel looks at each turn by itself, and at no more than it has room for",
    },
    Disagreement {
        program: "latest_per_cpu",
        accepts: Accepts::Ours,
        reason: "the kernel takes a turn that changes maps only for the same again",
    },
    Disagreement {
        program: "suffix",
        accepts: Accepts::Ours,
        reason: "the kernel does not know that there are as many bytes before an address as it was moved by",
    },
    Disagreement {
        program: "starred",
        accepts: Accepts::Ours,
        reason: "the kernel does not know that there are as many bytes before an address as it was moved by",
    },
    Disagreement {
        program: "by_name",
        accepts: Accepts::Ours,
        reason: "memcmp is no helper of the kernel",
    },
    Disagreement {
        program: "any_result",
        accepts: Accepts::Ours,
        reason: "any number but 0 ends bpf_loop here; the kernel asks for 0 or 1",
    },
    Disagreement {
        program: "unrolled",
        accepts: Accepts::Other,
        reason: "turns are looked at together, and what is exact in one is not in all",
    },
    Disagreement {
        program: "either",
        accepts: Accepts::Other,
        reason: "one call of bpf_loop has one function",
    },
    Disagreement {
        program: "each",
        accepts: Accepts::Other,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "jiffies",
        accepts: Accepts::Other,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "of_another",
        accepts: Accepts::Other,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "checksum",
        accepts: Accepts::Other,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "written",
        accepts: Accepts::Other,
        reason: "the path is nginx's and read-only",
    },
];

/// With PREVAIL 0.2.6.
pub const PREVAIL: &[Disagreement] = &[
    Disagreement {
        program: "signed_index",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no distance of two addresses in 32 bits",
    },
    Disagreement {
        program: "upper_first",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no distance of two addresses in 32 bits",
    },
    Disagreement {
        program: "looked_up",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no distance of two addresses in 32 bits",
    },
    Disagreement {
        program: "sum",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no distance of two addresses in 32 bits",
    },
    Disagreement {
        program: "reserved",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no distance of two addresses in 32 bits",
    },
    Disagreement {
        program: "from_path",
        accepts: Accepts::Ours,
        reason: "PREVAIL forgets bounds with a sign in 32 bits",
    },
    Disagreement {
        program: "constant_key",
        accepts: Accepts::Ours,
        reason: "PREVAIL asks for a comparison with null although the array has the key",
    },
    Disagreement {
        program: "substring",
        accepts: Accepts::Ours,
        reason: "PREVAIL loses the bound of an index that a loop adds to an address",
    },
    Disagreement {
        program: "event",
        accepts: Accepts::Ours,
        reason: "PREVAIL loses the bound of an index that a loop adds to an address",
    },
    Disagreement {
        program: "escaped",
        accepts: Accepts::Ours,
        reason: "PREVAIL loses the bound of an index that a loop adds to an address",
    },
    Disagreement {
        program: "decoded",
        accepts: Accepts::Ours,
        reason: "PREVAIL loses the bound of an index that a loop adds to an address",
    },
    Disagreement {
        program: "by_helper",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no bpf_strncmp",
    },
    Disagreement {
        program: "dots",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no functions that helpers call",
    },
    Disagreement {
        program: "stopped",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no functions that helpers call",
    },
    Disagreement {
        program: "square",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no functions that helpers call",
    },
    Disagreement {
        program: "counted_up",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no functions that helpers call",
    },
    Disagreement {
        program: "any_result",
        accepts: Accepts::Ours,
        reason: "PREVAIL has no functions that helpers call",
    },
    Disagreement {
        program: "jiffies",
        accepts: Accepts::Other,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "of_another",
        accepts: Accepts::Other,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "checksum",
        accepts: Accepts::Other,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "written",
        accepts: Accepts::Other,
        reason: "the path is nginx's and read-only",
    },
];
