//! Why a connection ends.

use quinn_proto::ConnectionError;

use crate::protocol::{End, Failure};

/// What the loss of a connection means.
pub fn ending(reason: &ConnectionError, connected: bool, idle: bool) -> End {
    let why = match reason {
        ConnectionError::VersionMismatch => {
            "the server knows no version of QUIC that is known here"
        }
        ConnectionError::TransportError(_) if !connected => "the QUIC handshake failed",
        ConnectionError::TransportError(_) => "the server broke a rule of QUIC",
        ConnectionError::ConnectionClosed(_) if !connected => {
            "the server refused the QUIC handshake"
        }
        ConnectionError::ApplicationClosed(_) if idle => return End::Proper,
        ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) => {
            "the server closed the connection"
        }
        ConnectionError::Reset => "the server knows the connection no more",
        ConnectionError::TimedOut if idle && connected => return End::Proper,
        ConnectionError::TimedOut => "the server said nothing for too long",
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
            "QUIC gave the connection up"
        }
    };
    End::Broken(match connected {
        true => Failure::read(why),
        false => Failure::connect(why),
    })
}
