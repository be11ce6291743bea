//! One direction's protection of records: RFC 8446 section 5 for TLS 1.3, RFC 5246 section 6.2.3.3
//! with RFC 5288 (AES-GCM) and RFC 7905 (ChaCha20-Poly1305) for TLS 1.2.

use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

/// Bytes of a record's head: type, version, length.
pub const HEAD: usize = 5;
/// Most bytes of content in one record.
const MOST: usize = 1 << 14;
/// Most bytes that protection adds to a record, in TLS 1.3 and in 1.2.
const SLACK: [usize; 2] = [256, 2048];
const TAG: usize = 16;
/// Bytes of the nonce that TLS 1.2 writes before what it encrypted with AES-GCM.
const EXPLICIT: usize = 8;

/// The content types that matter once the handshake is done.
pub mod content {
    #![allow(missing_docs)]
    pub const ALERT: u8 = 21;
    pub const HANDSHAKE: u8 = 22;
    pub const DATA: u8 = 23;
}

/// The form of a protected record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// TLS 1.3: the content's type is encrypted with it.
    Tls13,
    /// TLS 1.2 with AES-GCM: a part of the nonce goes before the content.
    Tls12Explicit,
    /// TLS 1.2 with ChaCha20-Poly1305.
    Tls12,
}

/// One direction's key, and the number of records that it has protected.
#[derive(Debug)]
pub struct Protection {
    key: LessSafeKey,
    iv: [u8; aead::NONCE_LEN],
    sequence: u64,
    style: Style,
}

/// A record's content, decrypted where it was received.
#[derive(Debug, PartialEq, Eq)]
pub struct Content<'a> {
    /// Its type.
    pub kind: u8,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl Protection {
    /// The protection of `version` with the `secrets` of its handshake.
    ///
    /// # Errors
    /// When the cipher is unknown here.
    pub fn new(
        version: ProtocolVersion,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
    ) -> Result<Self, &'static str> {
        const UNKNOWN: &str = "the handshake negotiated an unsupported cipher";
        type Secrets = ConnectionTrafficSecrets;
        let explicit = !matches!(secrets, Secrets::Chacha20Poly1305 { .. });
        let (algorithm, key, iv) = match &secrets {
            Secrets::Aes128Gcm { key, iv } => (&aead::AES_128_GCM, key, iv),
            Secrets::Aes256Gcm { key, iv } => (&aead::AES_256_GCM, key, iv),
            Secrets::Chacha20Poly1305 { key, iv } => (&aead::CHACHA20_POLY1305, key, iv),
            _ => return Err(UNKNOWN),
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| UNKNOWN)?;
        Ok(Protection {
            key: LessSafeKey::new(key),
            iv: iv.as_ref().try_into().map_err(|_| UNKNOWN)?,
            sequence,
            style: match version {
                ProtocolVersion::TLSv1_3 => Style::Tls13,
                _ if explicit => Style::Tls12Explicit,
                _ => Style::Tls12,
            },
        })
    }

    /// The length of the first record in `bytes`, its head included; none while the head is not
    /// whole.
    ///
    /// # Errors
    /// When the bytes are no TLS record, or one that is too long.
    pub fn length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let Some(&[kind, major, _, high, low]) = bytes.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        if major != 3 || !(content::ALERT..=content::DATA).contains(&kind) {
            return Err("bytes that are not a TLS record");
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > MOST + SLACK[usize::from(self.style != Style::Tls13)] {
            return Err("a TLS record that is too long");
        }
        Ok(Some(HEAD + length))
    }

    /// Decrypt one whole record in place.
    ///
    /// # Errors
    /// When the peer did not protect it with this key as the next record.
    pub fn open<'a>(&mut self, record: &'a mut [u8]) -> Result<Content<'a>, &'static str> {
        const BROKEN: &str = "a TLS record that cannot be decrypted";
        let (head, body) = record.split_first_chunk_mut::<HEAD>().ok_or(BROKEN)?;
        let mut nonce = self.nonce();
        let content = match self.style {
            Style::Tls13 => {
                if head[0] != content::DATA {
                    return Err("a TLS record that is not encrypted");
                }
                let nonce = Nonce::assume_unique_for_key(nonce);
                let opened = self.key.open_in_place(nonce, Aad::from(*head), body);
                let padded = opened.map_err(|_| BROKEN)?;
                // Zeros after the content's type are padding (RFC 8446 section 5.4).
                let end = padded.iter().rposition(|byte| *byte != 0);
                let end = end.ok_or("a TLS record without content")?;
                Content {
                    kind: padded[end],
                    bytes: &padded[..end],
                }
            }
            Style::Tls12Explicit | Style::Tls12 => {
                let mut body = body;
                if self.style == Style::Tls12Explicit {
                    let (explicit, rest) =
                        body.split_first_chunk_mut::<EXPLICIT>().ok_or(BROKEN)?;
                    nonce[aead::NONCE_LEN - EXPLICIT..].copy_from_slice(explicit);
                    body = rest;
                }
                let length = body.len().checked_sub(TAG).ok_or(BROKEN)?;
                let aad = self.aad12(head[0], length);
                let nonce = Nonce::assume_unique_for_key(nonce);
                let opened = self.key.open_in_place(nonce, aad, body);
                Content {
                    kind: head[0],
                    bytes: opened.map_err(|_| BROKEN)?,
                }
            }
        };
        if content.bytes.len() > MOST {
            return Err("a TLS record that is too long");
        }
        self.sequence += 1;
        Ok(content)
    }

    /// Append `bytes` of a `kind` to `out`, in as many records as they need.
    ///
    /// # Errors
    /// When the cipher refuses them.
    pub fn seal(&mut self, kind: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
        for piece in bytes.chunks(MOST) {
            self.seal_one(kind, piece, out)
                .map_err(|_| "the cipher refused to encrypt")?;
        }
        Ok(())
    }

    fn seal_one(
        &mut self,
        kind: u8,
        piece: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ring::error::Unspecified> {
        let nonce = self.nonce();
        let (kind_outside, around) = match self.style {
            Style::Tls13 => (content::DATA, 1 + TAG),
            Style::Tls12Explicit => (kind, EXPLICIT + TAG),
            Style::Tls12 => (kind, TAG),
        };
        out.reserve(HEAD + piece.len() + around);
        let [high, low] = ((piece.len() + around) as u16).to_be_bytes();
        let head = [kind_outside, 3, 3, high, low];
        out.extend_from_slice(&head);
        if self.style == Style::Tls12Explicit {
            // Any value that never comes again will do; the number of the record is one.
            out.extend_from_slice(&nonce[aead::NONCE_LEN - EXPLICIT..]);
        }
        let start = out.len();
        out.extend_from_slice(piece);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = if self.style == Style::Tls13 {
            out.push(kind);
            let aad = Aad::from(head);
            self.key
                .seal_in_place_separate_tag(nonce, aad, &mut out[start..])?
        } else {
            let aad = self.aad12(kind, piece.len());
            self.key
                .seal_in_place_separate_tag(nonce, aad, &mut out[start..])?
        };
        out.extend_from_slice(tag.as_ref());
        self.sequence += 1;
        Ok(())
    }

    /// The number of the record, mixed into the initial vector (RFC 8446 section 5.3).
    fn nonce(&self) -> [u8; aead::NONCE_LEN] {
        let mut nonce = self.iv;
        let number = self.sequence.to_be_bytes();
        let last = nonce.iter_mut().rev().zip(number.iter().rev());
        last.for_each(|(byte, digit)| *byte ^= digit);
        nonce
    }

    /// The data that TLS 1.2 authenticates besides the content.
    fn aad12(&self, kind: u8, length: usize) -> Aad<[u8; 13]> {
        let mut bytes = [0; 13];
        bytes[..8].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[8..11].copy_from_slice(&[kind, 3, 3]);
        bytes[11..].copy_from_slice(&(length as u16).to_be_bytes());
        Aad::from(bytes)
    }
}
