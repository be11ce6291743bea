//! The text for errors of TLS.

use rustls::{CertificateError, Error, PeerMisbehaved};

/// The text for a server that chose another protocol in ALPN, or none.
pub const OTHER_ALPN: &str = "the server did not choose the requested ALPN protocol";

/// The text for an alert of the server (RFC 8446 section 6, and RFC 5246 section 7.2).
pub fn alert(description: u8) -> &'static str {
    match description {
        0 => "TLS alert close_notify",
        10 => "TLS alert unexpected_message",
        20 => "TLS alert bad_record_mac",
        22 => "TLS alert record_overflow",
        40 => "TLS alert handshake_failure: the server accepts nothing that was offered",
        42 => "TLS alert bad_certificate",
        43 => "TLS alert unsupported_certificate",
        44 => "TLS alert certificate_revoked",
        45 => "TLS alert certificate_expired",
        46 => "TLS alert certificate_unknown",
        47 => "TLS alert illegal_parameter",
        48 => "TLS alert unknown_ca",
        49 => "TLS alert access_denied",
        50 => "TLS alert decode_error",
        51 => "TLS alert decrypt_error",
        70 => "TLS alert protocol_version: the server does not speak it",
        71 => "TLS alert insufficient_security",
        80 => "TLS alert internal_error",
        86 => "TLS alert inappropriate_fallback",
        90 => "TLS alert user_canceled",
        100 => "TLS alert no_renegotiation",
        109 => "TLS alert missing_extension",
        110 => "TLS alert unsupported_extension",
        112 => "TLS alert unrecognized_name: the server does not know the requested name",
        113 => "TLS alert bad_certificate_status_response",
        115 => "TLS alert unknown_psk_identity",
        116 => "TLS alert certificate_required: the server wants a client certificate",
        120 => {
            "TLS alert no_application_protocol: the server does not speak the requested protocol"
        }
        _ => "a TLS alert",
    }
}

/// The text for the failure of a handshake.
pub fn handshake(error: &Error) -> &'static str {
    match error {
        Error::AlertReceived(description) => alert(u8::from(*description)),
        Error::InvalidCertificate(error) => certificate(error),
        Error::InvalidMessage(_) => "the server's handshake is not TLS",
        Error::PeerIncompatible(_) => "the server supports no TLS that was offered",
        Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol)
        | Error::NoApplicationProtocol => OTHER_ALPN,
        Error::PeerMisbehaved(_) => "the server breaks the rules of the TLS handshake",
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "a TLS message out of turn"
        }
        Error::DecryptError => "a handshake record that cannot be decrypted",
        Error::PeerSentOversizedRecord => "a TLS record that is too long",
        _ => "the TLS handshake failed",
    }
}

fn certificate(error: &CertificateError) -> &'static str {
    type Why = CertificateError;
    match error {
        Why::Expired | Why::ExpiredContext { .. } => "the server's certificate has expired",
        Why::NotValidYet | Why::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet"
        }
        Why::UnknownIssuer => "the server's certificate was issued by none of the roots",
        Why::NotValidForName | Why::NotValidForNameContext { .. } => {
            "the server's certificate is for another name"
        }
        Why::BadSignature => "the signature of the server's certificate is wrong",
        Why::BadEncoding => "the server's certificate cannot be read",
        _ => "the server's certificate is not valid",
    }
}
