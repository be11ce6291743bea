//! Answers that are kept whole, so that those of several servers can be compared.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Most bytes of a body that are kept; its digest is that of all.
const LONGEST: usize = 1 << 20;

/// An answer as it comes.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    fields: Vec<(String, String)>,
    body: Vec<u8>,
    length: u64,
    hash: Sha256,
}

impl Draft {
    /// Keep a header, or a trailer.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        if !name.starts_with(b":") {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            self.fields.push((text(name), text(value)));
        }
    }

    /// Keep the next bytes of the body.
    pub fn body(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.hash.update(bytes);
        let room = LONGEST.saturating_sub(self.body.len());
        self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// An answer as the result has it.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    status: u16,
    headers: Vec<(String, String)>,
    length: u64,
    sha256: String,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<String>,
}

impl Kept {
    fn new(status: u16, draft: &Draft, sent: Option<&[u8]>) -> Self {
        let digest = draft.hash.clone().finalize();
        Kept {
            status,
            headers: draft.fields.clone(),
            length: draft.length,
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            body: STANDARD.encode(&draft.body),
            sent: sent.map(|bytes| STANDARD.encode(bytes)),
        }
    }
}

/// The place of the answer to one request.
#[derive(Clone, Debug, Default)]
pub struct Keeper(Arc<Mutex<Option<Kept>>>);

impl Keeper {
    /// Keep a whole answer.
    pub fn keep(&self, status: u16, draft: &Draft) {
        self.put(Kept::new(status, draft, None));
    }

    /// Keep the bytes that came for a message that was to come back, in `pieces`.
    pub fn keep_echo(&self, status: u16, sent: &[u8], pieces: [&[u8]; 2]) {
        let mut draft = Draft::default();
        pieces.iter().for_each(|piece| draft.body(piece));
        self.put(Kept::new(status, &draft, Some(sent)));
    }

    /// The answer, if it has come.
    pub fn kept(&self) -> Option<Kept> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn put(&self, kept: Kept) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }
}
