//! The Huffman code of header strings (RFC 7541, section 5.2 and appendix B), common to HPACK and
//! QPACK.
//!
//! The code is canonical: codes of one length follow each other in the order of their symbols, so
//! that the lengths say it all. They are decoded half a byte at a time by a state machine whose
//! states are the inner nodes of the code's tree; no half byte ends more than one symbol.

use super::Fault;

/// The code lengths in bits of the 256 bytes, and of the end of the string.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

const END: usize = 256;
const LONGEST: u8 = 30;

/// A full binary tree with 257 leaves.
const STATES: usize = 256;

const CODES: [u32; 257] = codes();
static STEPS: [[Step; 16]; STATES] = steps();

/// The transition of a state on half a byte.
#[derive(Clone, Copy)]
struct Step {
    next: u8,
    /// The byte that it completes, if `flags` say so.
    byte: u8,
    flags: u8,
}

/// The step completes a byte.
const EMITS: u8 = 1;
/// The string may end here: fewer than eight ones are left.
const ENDS: u8 = 2;
/// The step completes the code of the end, which may not be sent.
const FAILS: u8 = 4;

/// Append the decoded string `bytes`.
///
/// # Errors
/// [`Fault::Huffman`] for a code of the end, and for wrong padding.
pub fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    // The shortest code has five bits.
    out.reserve(bytes.len() * 8 / 5);
    let mut state = 0;
    let mut flags = ENDS;
    for byte in bytes {
        let high = STEPS[usize::from(state)][usize::from(byte >> 4)];
        let low = STEPS[usize::from(high.next)][usize::from(byte & 15)];
        if (high.flags | low.flags) & FAILS != 0 {
            return Err(Fault::Huffman);
        }
        if high.flags & EMITS != 0 {
            out.push(high.byte);
        }
        if low.flags & EMITS != 0 {
            out.push(low.byte);
        }
        (state, flags) = (low.next, low.flags);
    }
    if flags & ENDS != 0 {
        Ok(())
    } else {
        Err(Fault::Huffman)
    }
}

/// Append the code of `bytes`.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0u64;
    let mut count = 0;
    for byte in bytes {
        let length = LENGTHS[usize::from(*byte)];
        bits = bits << length | u64::from(CODES[usize::from(*byte)]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        let padding = 8 - count;
        out.push((bits << padding) as u8 | ((1u16 << padding) - 1) as u8);
    }
}

const fn codes() -> [u32; 257] {
    let mut codes = [0; 257];
    let mut next = 0;
    let mut length = 1;
    while length <= LONGEST {
        next <<= 1;
        let mut symbol = 0;
        while symbol <= END {
            if LENGTHS[symbol] == length {
                codes[symbol] = next;
                next += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    codes
}

/// Children in the tree: an inner node's number, or a leaf's symbol plus [`STATES`].
const fn tree() -> [[u16; 2]; STATES] {
    let mut nodes = [[0; 2]; STATES];
    // The root is no node's child, so that 0 stands for none yet.
    let mut used = 1;
    let mut symbol = 0;
    while symbol <= END {
        let mut node = 0;
        let mut left = LENGTHS[symbol];
        while left > 0 {
            left -= 1;
            let bit = (CODES[symbol] >> left & 1) as usize;
            if left == 0 {
                nodes[node][bit] = (STATES + symbol) as u16;
            } else {
                if nodes[node][bit] == 0 {
                    nodes[node][bit] = used;
                    used += 1;
                }
                node = nodes[node][bit] as usize;
            }
        }
        symbol += 1;
    }
    nodes
}

const fn steps() -> [[Step; 16]; STATES] {
    let nodes = tree();
    let mut padding = [false; STATES];
    let mut node = 0;
    let mut ones = 0;
    while ones < 8 {
        padding[node] = true;
        node = nodes[node][1] as usize;
        ones += 1;
    }
    let mut steps = [[Step {
        next: 0,
        byte: 0,
        flags: 0,
    }; 16]; STATES];
    let mut state = 0;
    while state < STATES {
        let mut half = 0;
        while half < 16 {
            steps[state][half] = step(&nodes, &padding, state, half);
            half += 1;
        }
        state += 1;
    }
    steps
}

const fn step(
    nodes: &[[u16; 2]; STATES],
    padding: &[bool; STATES],
    from: usize,
    half: usize,
) -> Step {
    let mut step = Step {
        next: 0,
        byte: 0,
        flags: 0,
    };
    let mut node = from;
    let mut left = 4;
    while left > 0 {
        left -= 1;
        node = nodes[node][half >> left & 1] as usize;
        if node == STATES + END {
            step.flags = FAILS;
            return step;
        }
        if node >= STATES {
            step.byte = (node - STATES) as u8;
            step.flags |= EMITS;
            node = 0;
        }
    }
    step.next = node as u8;
    if padding[node] {
        step.flags |= ENDS;
    }
    step
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::new();
        decode(bytes, &mut out).map(|()| out)
    }

    #[test]
    fn the_lengths_give_the_codes_of_the_rfc() {
        for (symbol, code) in [
            (b'0', 0x0),
            (b'z', 0x7b),
            (0, 0x1ff8),
            (b'\\', 0x7fff0),
            (255, 0x3ff_ffee),
            (22, 0x3fff_fffe),
        ] {
            assert_eq!(CODES[usize::from(symbol)], code, "{symbol}");
        }
        assert_eq!(CODES[END], 0x3fff_ffff);
    }

    #[test]
    fn knows_the_example_of_the_rfc() {
        // RFC 7541, appendix C.4.1.
        let code = [
            0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
        ];
        assert_eq!(decoded(&code).unwrap(), b"www.example.com");
        let mut out = Vec::new();
        encode(b"www.example.com", &mut out);
        assert_eq!(out, code);
    }

    #[test]
    fn refuses_wrong_padding_and_the_end() {
        // The code of '0' and then zeros, eight ones too many, and the end itself.
        assert_eq!(decoded(&[0b0000_0000]), Err(Fault::Huffman));
        assert_eq!(decoded(&[0b0000_0111]), Ok(b"0".to_vec()));
        assert_eq!(decoded(&[0b0000_0111, 0xff]), Err(Fault::Huffman));
        assert_eq!(decoded(&[0xff]), Err(Fault::Huffman));
        assert_eq!(decoded(&[0xff; 4]), Err(Fault::Huffman));
        assert_eq!(decoded(&[]), Ok(Vec::new()));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(7),
            failure_persistence: None,
            ..ProptestConfig::with_cases(2000)
        })]

        #[test]
        fn what_was_encoded_is_decoded(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut code = Vec::new();
            encode(&bytes, &mut code);
            prop_assert_eq!(decoded(&code), Ok(bytes));
        }

        #[test]
        fn what_was_decoded_is_encoded(code in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(bytes) = decoded(&code) {
                let mut again = Vec::new();
                encode(&bytes, &mut again);
                prop_assert_eq!(again, code);
            }
        }
    }
}
