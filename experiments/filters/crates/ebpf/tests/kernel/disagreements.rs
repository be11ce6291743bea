//! Where the kernel's verifier and this project's have different opinions, and why.

/// Who alone accepts a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    Ours,
    Kernel,
}

/// A program of which the opinions differ.
pub struct Disagreement {
    pub program: &'static str,
    pub accepts: Accepts,
    /// The same as in the table of variants/ebpf/README.md.
    pub reason: &'static str,
}

pub const DISAGREEMENTS: &[Disagreement] = &[
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
        accepts: Accepts::Kernel,
        reason: "turns are looked at together, and what is exact in one is not in all",
    },
    Disagreement {
        program: "either",
        accepts: Accepts::Kernel,
        reason: "one call of bpf_loop has one function",
    },
    Disagreement {
        program: "each",
        accepts: Accepts::Kernel,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "jiffies",
        accepts: Accepts::Kernel,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "of_another",
        accepts: Accepts::Kernel,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "checksum",
        accepts: Accepts::Kernel,
        reason: "there is no such helper here",
    },
    Disagreement {
        program: "written",
        accepts: Accepts::Kernel,
        reason: "the path is nginx's and read-only",
    },
];
