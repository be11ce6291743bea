//! The argument of a program: a structure whose fields the verifier knows.

/// The content of a context field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number.
    Number,
    /// The address of a window's first byte; 8 bytes.
    Start(u8),
    /// The address after a window's last byte, never below its start; 8 bytes.
    End(u8),
}

/// A field of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Bytes from the start of the context.
    pub offset: u16,
    /// Its size in bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Its content.
    pub kind: FieldKind,
}

/// The fields of the context. Programs read each in one piece and write none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextLayout {
    /// The fields, which do not overlap.
    pub fields: Vec<Field>,
}

impl ContextLayout {
    /// A context of `count` windows: start and end of the first, of the second, and so on.
    pub fn windows(count: u8) -> Self {
        let field = |offset, kind| Field {
            offset,
            bytes: 8,
            kind,
        };
        let pair = |n: u8| {
            let at = u16::from(n) * 16;
            [
                field(at, FieldKind::Start(n)),
                field(at + 8, FieldKind::End(n)),
            ]
        };
        Self {
            fields: (0..count).flat_map(pair).collect(),
        }
    }
}
