//! The smallest binary that can be a worker: what a mode is tried with before anything is loaded.

use crate::binary::MACHINE;

const BASE: u64 = 0x40_0000;
const HEADERS: usize = 64 + 56;

/// Code that sends its ready byte, reads once, answers with an empty response and ends.
#[cfg(target_arch = "x86_64")]
const CODE: &[u8] = &[
    0x6a, 0x00, // push 0
    0x48, 0x89, 0xe6, // mov rsi, rsp
    0xba, 0x01, 0x00, 0x00, 0x00, // mov edx, 1
    0xbf, 0x03, 0x00, 0x00, 0x00, // mov edi, 3
    0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, write
    0x0f, 0x05, // syscall
    0x48, 0x8d, 0x74, 0x24, 0x80, // lea rsi, [rsp - 128]
    0xba, 0x40, 0x00, 0x00, 0x00, // mov edx, 64
    0x31, 0xc0, // xor eax, eax (read)
    0x0f, 0x05, // syscall
    0x48, 0x89, 0xe6, // mov rsi, rsp
    0xba, 0x01, 0x00, 0x00, 0x00, // mov edx, 1
    0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, write
    0x0f, 0x05, // syscall
    0x31, 0xff, // xor edi, edi
    0xb8, 0xe7, 0x00, 0x00, 0x00, // mov eax, exit_group
    0x0f, 0x05, // syscall
];

#[cfg(target_arch = "aarch64")]
const CODE: &[u8] = &[
    0xff, 0x43, 0x00, 0xd1, // sub sp, sp, #16
    0xff, 0x03, 0x00, 0x39, // strb wzr, [sp]
    0xe1, 0x03, 0x00, 0x91, // mov x1, sp
    0x22, 0x00, 0x80, 0xd2, // mov x2, #1
    0x60, 0x00, 0x80, 0xd2, // mov x0, #3
    0x08, 0x08, 0x80, 0xd2, // mov x8, write
    0x01, 0x00, 0x00, 0xd4, // svc #0
    0xe1, 0x03, 0x01, 0xd1, // sub x1, sp, #64
    0x02, 0x08, 0x80, 0xd2, // mov x2, #64
    0x60, 0x00, 0x80, 0xd2, // mov x0, #3
    0xe8, 0x07, 0x80, 0xd2, // mov x8, read
    0x01, 0x00, 0x00, 0xd4, // svc #0
    0xe1, 0x03, 0x00, 0x91, // mov x1, sp
    0x22, 0x00, 0x80, 0xd2, // mov x2, #1
    0x60, 0x00, 0x80, 0xd2, // mov x0, #3
    0x08, 0x08, 0x80, 0xd2, // mov x8, write
    0x01, 0x00, 0x00, 0xd4, // svc #0
    0x00, 0x00, 0x80, 0xd2, // mov x0, #0
    0xc8, 0x0b, 0x80, 0xd2, // mov x8, exit_group
    0x01, 0x00, 0x00, 0xd4, // svc #0
];

/// A static ELF file for this machine.
pub fn binary() -> Vec<u8> {
    let size = (HEADERS + CODE.len()) as u64;
    let mut file = Vec::with_capacity(size as usize);
    file.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    for half in [2u16, MACHINE.0] {
        file.extend_from_slice(&half.to_le_bytes());
    }
    file.extend_from_slice(&1u32.to_le_bytes());
    for long in [BASE + HEADERS as u64, 64, 0] {
        file.extend_from_slice(&long.to_le_bytes());
    }
    file.extend_from_slice(&0u32.to_le_bytes());
    for half in [64u16, 56, 1, 0, 0, 0] {
        file.extend_from_slice(&half.to_le_bytes());
    }
    // One segment, readable and executable.
    for word in [1u32, 5] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    for long in [0, BASE, BASE, size, size, 0x1000] {
        file.extend_from_slice(&long.to_le_bytes());
    }
    file.extend_from_slice(CODE);
    file
}
