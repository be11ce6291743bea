//! Any bytes are refused in words as a guest's program, or placed within its memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sandbox_runtime::modes::kvm::elf::Image;
use sandbox_runtime::modes::kvm::{load, room};

const MEMORY: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    match Image::read(bytes, room(MEMORY)) {
        Err(why) => assert!(!why.is_empty()),
        Ok(image) => {
            for segment in &image.segments {
                let pages = segment.pages();
                assert!(pages.start >= room(MEMORY).start && pages.end <= room(MEMORY).end);
                assert!(segment.file.end <= bytes.len() && segment.file.len() as u64 <= segment.size);
            }
            let (guest, stack) = load(&image, bytes, MEMORY, [7; 16]).expect("memory for a guest");
            assert!(guest.memory.find(stack, 8, true).is_some() && stack % 16 == 0);
        }
    }
});
