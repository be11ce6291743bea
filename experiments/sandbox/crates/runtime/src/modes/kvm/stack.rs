//! A program's initial stack: arguments, no environment, and the auxiliary vector (System V ABI for
//! x86-64).

use super::elf::Image;

/// Bytes of randomness that a C library expects.
const RANDOM: usize = 16;

/// The bytes that end at `top`, and the address of the first, where the stack pointer is to be.
pub fn build(image: &Image, top: u64, user: u64, random: [u8; RANDOM]) -> (Vec<u8>, u64) {
    let mut texts = Vec::new();
    let mut text = |bytes: &[u8]| {
        let at = texts.len() as u64;
        texts.extend_from_slice(bytes);
        at
    };
    // Offsets from where the texts will begin.
    let (name, socket, random) = (text(b"udf\0"), text(b"3\0"), text(&random));
    let start = (top - texts.len() as u64) & !15;
    let auxiliary = [
        (libc::AT_PHDR, image.headers),
        (libc::AT_PHENT, 56),
        (libc::AT_PHNUM, image.header_count),
        (libc::AT_PAGESZ, super::areas::PAGE),
        (libc::AT_BASE, 0),
        (libc::AT_ENTRY, image.entry),
        (libc::AT_UID, user),
        (libc::AT_EUID, user),
        (libc::AT_GID, user),
        (libc::AT_EGID, user),
        (libc::AT_SECURE, 0),
        (libc::AT_CLKTCK, 100),
        (libc::AT_RANDOM, start + random),
        (libc::AT_EXECFN, start + name),
        (libc::AT_NULL, 0),
    ];
    let arguments = [2, start + name, start + socket, 0];
    let no_environment = [0];
    let pairs = auxiliary.iter().flat_map(|(kind, value)| [*kind, *value]);
    let words: Vec<u64> = arguments
        .into_iter()
        .chain(no_environment)
        .chain(pairs)
        .collect();
    let pointer = (start - 8 * words.len() as u64) & !15;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize((start - pointer) as usize, 0);
    bytes.extend_from_slice(&texts);
    bytes.resize((top - pointer) as usize, 0);
    (bytes, pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_finds_its_arguments_and_its_randomness() {
        let bytes = crate::trial::binary();
        let image = Image::read(&bytes, 0x1_0000..1 << 30).unwrap();
        let top = 0x2000_0000;
        let (stack, pointer) = build(&image, top, 65534, *b"0123456789abcdef");
        assert_eq!((pointer % 16, pointer + stack.len() as u64), (0, top));
        let word = |index: usize| {
            let at = 8 * index;
            u64::from_le_bytes(stack[at..at + 8].try_into().unwrap())
        };
        let text = |address: u64, length: usize| &stack[(address - pointer) as usize..][..length];
        assert_eq!(word(0), 2);
        assert_eq!(text(word(1), 4), b"udf\0");
        assert_eq!(text(word(2), 2), b"3\0");
        assert_eq!((word(3), word(4)), (0, 0));
        let random = (5..)
            .step_by(2)
            .find(|index| word(*index) == libc::AT_RANDOM)
            .unwrap();
        assert_eq!(text(word(random + 1), 16), b"0123456789abcdef");
    }
}
