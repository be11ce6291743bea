//! The frames of a profile: each function of each module once.

use std::collections::HashMap;

use serde::Serialize;

/// The origin of a frame's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A named function of a process.
    User,
    /// A function of the kernel.
    Kernel,
    /// An address without a name.
    Unnamed,
    /// Stands for the callers that could not be followed.
    Cut,
}

/// A function, or an address that has no name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Frame {
    /// The function, or "+0x…", the place in its module's file.
    pub name: String,
    /// The file's name, "kernel", "[jit]", "[anon]" or "[gone]".
    pub module: String,
    /// The origin of its name.
    pub kind: Kind,
}

impl Frame {
    /// The root of a stack whose further callers are unknown.
    pub fn cut() -> Self {
        Self {
            name: "…".into(),
            module: String::new(),
            kind: Kind::Cut,
        }
    }

    /// An address without a name.
    pub fn unnamed(module: &str, offset: u64) -> Self {
        Self {
            name: format!("+{offset:#x}"),
            module: module.into(),
            kind: Kind::Unnamed,
        }
    }
}

/// All frames, in the order in which they were first met.
#[derive(Debug, Default)]
pub struct Frames {
    all: Vec<Frame>,
    known: HashMap<Frame, u32>,
}

impl Frames {
    /// Return a frame's index.
    pub fn index(&mut self, frame: Frame) -> u32 {
        *self.known.entry(frame).or_insert_with_key(|frame| {
            self.all.push(frame.clone());
            self.all.len() as u32 - 1
        })
    }

    /// Return the frames by index.
    pub fn into_all(self) -> Vec<Frame> {
        self.all
    }
}
