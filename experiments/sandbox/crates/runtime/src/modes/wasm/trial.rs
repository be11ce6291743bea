//! The smallest module that can be a worker: what the mode is tried with before anything is loaded.

/// The functions that it imports have these names, of this module.
const IMPORTS: [&[u8]; 3] = [super::wasi::MODULE.as_bytes(), b"fd_read", b"fd_write"];

/// A read and a write of the channel, and the function that calls them, are of these types.
const TYPES: &[u8] = &[
    2, // of them
    0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f, // four i32 → i32
    0x60, 0, 0, // nothing → nothing
];

/// Function 2, which is neither imported, is of type 1.
const FUNCTIONS: &[u8] = &[1, 1];

/// One memory, of one page.
const MEMORIES: &[u8] = &[1, 0, 1];

const EXPORTS: &[u8] = b"\x02\x06memory\x02\x00\x06_start\x00\x02";

/// Code that sends its ready byte, reads once, answers with an empty response and ends: calls (3, buffer, 1,
/// 16) of fd_write, fd_read and fd_write.
const CODE: &[u8] = &[
    1, 35, 0, // one function, of 35 bytes, without locals
    0x41, 3, 0x41, 0, 0x41, 1, 0x41, 16, 0x10, 1, 0x1a, // i32.const …, call, drop
    0x41, 3, 0x41, 8, 0x41, 1, 0x41, 16, 0x10, 0, 0x1a, //
    0x41, 3, 0x41, 0, 0x41, 1, 0x41, 16, 0x10, 1, 0x1a, //
    0x0b,
];

/// At 0 a buffer of one byte at 32; at 8 one of 64 bytes at 64.
const DATA: &[u8] = &[
    1, 0, 0x41, 0, 0x0b, 13, 32, 0, 0, 0, 1, 0, 0, 0, 64, 0, 0, 0, 64,
];

/// A module of WASI preview 1.
pub fn module() -> Vec<u8> {
    let [from, names @ ..] = IMPORTS;
    let mut imports = vec![names.len() as u8];
    for name in names {
        for text in [from, name] {
            imports.push(text.len() as u8);
            imports.extend_from_slice(text);
        }
        // A function, of type 0.
        imports.extend_from_slice(&[0, 0]);
    }
    let mut file = b"\0asm\x01\0\0\0".to_vec();
    let sections: [(u8, &[u8]); 7] = [
        (1, TYPES),
        (2, &imports),
        (3, FUNCTIONS),
        (5, MEMORIES),
        (7, EXPORTS),
        (10, CODE),
        (11, DATA),
    ];
    for (number, content) in sections {
        file.extend_from_slice(&[number, content.len() as u8]);
        file.extend_from_slice(content);
    }
    file
}
