//! The paths that the filter is asked about.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::slice;

const PAGE: usize = 4096;

/// A path of some length, and the answer that it must get.
pub struct Case {
    /// `accept` or `reject`, and how many bytes.
    pub name: String,
    /// The answer that is right.
    pub accept: bool,
    /// At the start of a page, so that nothing depends on where it happens to lie.
    pub path: &'static [u8],
}

/// `accept` and `reject` of each length, where a path of that length can be either.
pub fn cases(prefix: &[u8], lengths: &[usize]) -> Vec<Case> {
    let mut found = Vec::new();
    for &length in lengths {
        if length >= prefix.len() {
            found.push(case(path(prefix, length), true));
        }
        if !prefix.is_empty() {
            let mut other = path(prefix, length);
            // Behind the slash, with which every path begins.
            let at = usize::from(prefix.len() > 1);
            if let Some(byte) = other.get_mut(at) {
                *byte = if prefix[at] == b'!' { b'?' } else { b'!' };
            }
            if length < prefix.len() || other[at] != prefix[at] {
                found.push(case(other, false));
            }
        }
    }
    found
}

/// The prefix, cut or filled up.
fn path(prefix: &[u8], length: usize) -> Vec<u8> {
    let filled = prefix
        .iter()
        .copied()
        .chain(b"/index.html".iter().copied().cycle());
    filled.take(length).collect()
}

fn case(path: Vec<u8>, accept: bool) -> Case {
    let layout = Layout::from_size_align(path.len() + 1, PAGE).expect("a page is a power of two");
    // SAFETY: the layout is not empty; the memory holds the path and a zero, which ends it for
    // filters that want a terminator, and is never given back.
    let placed = unsafe {
        let memory = alloc_zeroed(layout);
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        memory.copy_from_nonoverlapping(path.as_ptr(), path.len());
        slice::from_raw_parts(memory, path.len())
    };
    let kind = if accept { "accept" } else { "reject" };
    Case {
        name: format!("{kind}_{}", path.len()),
        accept,
        path: placed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(prefix: &[u8], lengths: &[usize]) -> Vec<(String, Vec<u8>)> {
        let made = cases(prefix, lengths);
        for case in &made {
            assert_eq!(case.path.starts_with(prefix), case.accept);
            assert_eq!(case.path.as_ptr() as usize % PAGE, 0);
        }
        made.into_iter()
            .map(|case| (case.name, case.path.to_vec()))
            .collect()
    }

    #[test]
    fn both_answers_where_both_can_be() {
        let expected: Vec<(String, Vec<u8>)> = [
            ("reject_1", "/"),
            ("accept_3", "/ab"),
            ("reject_3", "/!b"),
            ("accept_6", "/ab/in"),
            ("reject_6", "/!b/in"),
        ]
        .map(|(name, path)| (name.to_owned(), path.as_bytes().to_vec()))
        .to_vec();
        assert_eq!(named(b"/ab", &[1, 3, 6]), expected);
    }

    #[test]
    fn an_empty_prefix_rejects_nothing() {
        assert_eq!(named(b"", &[2]), [("accept_2".to_owned(), b"/i".to_vec())]);
    }

    #[test]
    fn a_prefix_of_one_byte() {
        let names: Vec<_> = named(b"/", &[1, 2])
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["accept_1", "reject_1", "accept_2", "reject_2"]);
    }
}
