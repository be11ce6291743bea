//! Messages of a binary that calls back: the original's, with only the fields that matter here.

use prost::Message;

/// `google.protobuf.Any`: a message by the name of its type.
#[derive(Clone, PartialEq, Message)]
pub struct Any {
    /// Ends with the message's full name.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message, encoded.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// The last part of the type's name that makes an [`Any`] a callback.
const CALLBACK: &str = "Callback";
/// And the one that makes it an [`InMemory`].
const IN_MEMORY: &str = "InMemory";

impl Any {
    /// Return true if it holds a [`Callback`], of whatever package.
    pub fn is_callback(&self) -> bool {
        self.is(CALLBACK)
    }

    /// Return true if it holds an [`InMemory`], of whatever package.
    pub fn is_in_memory(&self) -> bool {
        self.is(IN_MEMORY)
    }

    fn is(&self, message: &str) -> bool {
        let name = self.type_url.rsplit('/').next().unwrap_or_default();
        name.rsplit('.').next() == Some(message)
    }
}

/// A binary's call of a host function, and the host's answer.
#[derive(Clone, PartialEq, Message)]
pub struct Callback {
    /// The function's name. The answer returns it unchanged.
    #[prost(string, tag = "1")]
    pub function_name: String,
    /// Input of the call, output of the answer.
    #[prost(message, optional, tag = "2")]
    pub io_proto: Option<Io>,
}

/// Input and output of a host function.
#[derive(Clone, PartialEq, Message)]
pub struct Io {
    /// The binary's argument.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub input_bytes: Option<Vec<u8>>,
    /// The host's result.
    #[prost(bytes = "vec", optional, tag = "8")]
    pub output_bytes: Option<Vec<u8>>,
    /// The errors, if there is no result.
    #[prost(string, repeated, tag = "9")]
    pub errors: Vec<String>,
}

/// A message that the response is in shared memory.
#[derive(Clone, PartialEq, Message)]
pub struct InMemory {
    /// The length in bytes.
    #[prost(uint64, tag = "1")]
    pub length: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_known_by_the_last_part_of_their_names() {
        let any = |type_url: &str| Any {
            type_url: type_url.into(),
            value: Vec::new(),
        };
        assert!(
            any("type.googleapis.com/privacy_sandbox.server_common.byob.Callback").is_callback()
        );
        assert!(any("Callback").is_callback());
        assert!(!any("type.googleapis.com/a.NotCallback").is_callback());
        assert!(!any("a.Callback/b.Response").is_callback());
        assert!(!any("").is_callback());
        assert!(any("type.googleapis.com/tare.InMemory").is_in_memory());
        assert!(!any("tare.InMemory").is_callback() && !any("Callback").is_in_memory());
    }
}
