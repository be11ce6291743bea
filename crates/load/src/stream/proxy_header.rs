//! The header that a proxy sends before a client's bytes (HAProxy's PROXY protocol, versions 1 and 2).

use std::net::SocketAddr;

use crate::spec::ProxyVersion;

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, a connection on behalf of another.
const PROXY: u8 = 0x21;

/// Append the header of a connection from `ends.0` to `ends.1`; of a socket without such addresses it
/// says that they are unknown.
pub fn write(version: ProxyVersion, ends: Option<(SocketAddr, SocketAddr)>, out: &mut Vec<u8>) {
    match version {
        ProxyVersion::V1 => {
            let line = match ends {
                None => "PROXY UNKNOWN\r\n".into(),
                Some((from, to)) => {
                    let family = if from.is_ipv4() { "TCP4" } else { "TCP6" };
                    let ports = format!("{} {}", from.port(), to.port());
                    format!("PROXY {family} {} {} {ports}\r\n", from.ip(), to.ip())
                }
            };
            out.extend_from_slice(line.as_bytes());
        }
        ProxyVersion::V2 => {
            let mut addresses = Vec::new();
            let family = match ends {
                None => 0x00,
                Some((SocketAddr::V4(from), SocketAddr::V4(to))) => {
                    addresses.extend_from_slice(&from.ip().octets());
                    addresses.extend_from_slice(&to.ip().octets());
                    0x11
                }
                Some((from, to)) => {
                    for end in [from, to] {
                        let ip = match end {
                            SocketAddr::V4(end) => end.ip().to_ipv6_mapped(),
                            SocketAddr::V6(end) => *end.ip(),
                        };
                        addresses.extend_from_slice(&ip.octets());
                    }
                    0x21
                }
            };
            if let Some((from, to)) = ends {
                addresses.extend_from_slice(&from.port().to_be_bytes());
                addresses.extend_from_slice(&to.port().to_be_bytes());
            }
            out.extend_from_slice(SIGNATURE);
            out.extend_from_slice(&[PROXY, family]);
            out.extend_from_slice(&(addresses.len() as u16).to_be_bytes());
            out.extend_from_slice(&addresses);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: ProxyVersion, ends: Option<(&str, &str)>) -> Vec<u8> {
        let mut out = Vec::new();
        let ends = ends.map(|(from, to)| (from.parse().unwrap(), to.parse().unwrap()));
        write(version, ends, &mut out);
        out
    }

    #[test]
    fn version_1_is_a_line() {
        let v1 = |ends| String::from_utf8(header(ProxyVersion::V1, ends)).unwrap();
        assert_eq!(
            v1(Some(("127.0.0.1:4321", "127.0.0.2:80"))),
            "PROXY TCP4 127.0.0.1 127.0.0.2 4321 80\r\n"
        );
        assert_eq!(
            v1(Some(("[::1]:1", "[::2]:2"))),
            "PROXY TCP6 ::1 ::2 1 2\r\n"
        );
        assert_eq!(v1(None), "PROXY UNKNOWN\r\n");
    }

    #[test]
    fn version_2_is_binary() {
        let v2 = |ends| header(ProxyVersion::V2, ends);
        let four = v2(Some(("127.0.0.1:258", "127.0.0.2:80")));
        let expected = [
            &SIGNATURE[..],
            &[0x21, 0x11, 0, 12, 127, 0, 0, 1, 127, 0, 0, 2, 1, 2, 0, 80],
        ];
        assert_eq!(four, expected.concat());
        let six = v2(Some(("[::1]:1", "[::2]:2")));
        assert_eq!((six.len(), six[13], six[15]), (16 + 36, 0x21, 36));
        assert_eq!(v2(None), [&SIGNATURE[..], &[0x21, 0, 0, 0]].concat());
    }
}
