//! The reasons why a connection ends.

use quinn_proto::{ConnectionError, TransportErrorCode as Code, VarInt};

use crate::protocol::{End, Failure};
use crate::stream::socket_error;

/// The end that the loss of a connection amounts to.
pub fn ending(reason: &ConnectionError, connected: bool, idle: bool) -> End {
    let unused = connected && idle;
    let why = match reason {
        ConnectionError::VersionMismatch => "the server supports no common version of QUIC",
        ConnectionError::TransportError(error) if !connected => failure(error.code),
        ConnectionError::TransportError(_) => "the server broke a rule of QUIC",
        ConnectionError::ConnectionClosed(close) if !connected => refusal(close.error_code),
        ConnectionError::ApplicationClosed(close) if unused && is_proper(close.error_code) => {
            return End::Proper;
        }
        ConnectionError::ConnectionClosed(close)
            if unused && close.error_code == Code::NO_ERROR =>
        {
            return End::Proper;
        }
        ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) => {
            "the server closed the connection"
        }
        ConnectionError::Reset => "the server no longer knows the connection",
        ConnectionError::TimedOut if unused => return End::Proper,
        ConnectionError::TimedOut => "the server sent nothing for too long",
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
            "QUIC gave up the connection"
        }
    };
    End::Broken(match connected {
        true => Failure::read(why),
        false => Failure::connect(why),
    })
}

/// Return true if a code of the application is none of an error: that of HTTP/3 (RFC 9114, section 8.1),
/// or the 0 of servers that give none.
fn is_proper(code: VarInt) -> bool {
    [0, 0x100].contains(&code.into_inner())
}

/// The text for this side's reason to end the handshake.
fn failure(code: Code) -> &'static str {
    // The alerts of TLS that are about certificates (RFC 8446, section 6.2).
    match u64::from(code).checked_sub(0x100) {
        Some(42..=46 | 48) => "the server's certificate was not accepted",
        _ => "the QUIC handshake failed",
    }
}

/// The text for the server's reason to end the handshake (RFC 9000, section 20.1).
fn refusal(code: Code) -> &'static str {
    match code {
        Code::NO_ERROR => "the server ended the QUIC handshake (NO_ERROR)",
        Code::INTERNAL_ERROR => "the server failed in the QUIC handshake (INTERNAL_ERROR)",
        Code::CONNECTION_REFUSED => "the server takes no more connections (CONNECTION_REFUSED)",
        Code::PROTOCOL_VIOLATION => "the server refused the QUIC handshake (PROTOCOL_VIOLATION)",
        Code::INVALID_TOKEN => "the server refused the QUIC handshake (INVALID_TOKEN)",
        code if (0x100..0x200).contains(&u64::from(code)) => {
            "the server refused the QUIC handshake by a TLS alert"
        }
        _ => "the server refused the QUIC handshake",
    }
}

/// The text for an error of a UDP socket.
pub fn unreachable(error: &std::io::Error) -> &'static str {
    let number = error.raw_os_error().unwrap_or_default();
    socket_error::reason(rustix::io::Errno::from_raw_os_error(number))
}

#[cfg(test)]
mod tests {
    use quinn_proto::{ApplicationClose, ConnectionClose};

    use super::*;

    fn why(code: Code, connected: bool) -> &'static str {
        let closed = ConnectionError::ConnectionClosed(ConnectionClose {
            error_code: code,
            frame_type: None,
            reason: "".into(),
        });
        match ending(&closed, connected, true) {
            End::Broken(failure) => failure.why,
            End::Proper => "proper",
        }
    }

    #[test]
    fn an_idle_connection_may_be_closed_but_not_with_an_error() {
        let closed = |code: u32, connected: bool| {
            let reason = ConnectionError::ApplicationClosed(ApplicationClose {
                error_code: VarInt::from_u32(code),
                reason: "".into(),
            });
            ending(&reason, connected, true) == End::Proper
        };
        assert!(closed(0x100, true) && closed(0, true));
        // H3_EXCESSIVE_LOAD, and a connection that was never made.
        assert!(!closed(0x107, true) && !closed(0x100, false));
        assert_eq!(why(Code::NO_ERROR, true), "proper");
    }

    #[test]
    fn a_refused_handshake_says_why() {
        assert!(why(Code::CONNECTION_REFUSED, false).contains("CONNECTION_REFUSED"));
        assert!(why(Code::crypto(40), false).contains("TLS alert"));
        assert!(why(Code::KEY_UPDATE_ERROR, false).contains("refused"));
        assert_eq!(
            why(Code::crypto(40), true),
            "the server closed the connection"
        );
    }
}
