//! The URL that is measured.

use std::net::{SocketAddr, ToSocketAddrs};

use http::Uri;

use crate::spec::SpecError;

/// Where a URL points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Host and port as they are written in the URL.
    pub authority: String,
    /// Path and query.
    pub path: String,
    host: String,
    port: u16,
}

impl Target {
    /// Takes `url` apart.
    ///
    /// # Errors
    /// A [`SpecError`] when it is no `http://` URL.
    pub fn parse(url: &str) -> Result<Self, SpecError> {
        let expected = "expected http://HOST[:PORT]/PATH";
        let error = |why: String| SpecError::new("url", format!("{url:?} {why}"), expected);
        let uri: Uri = url
            .parse()
            .map_err(|why| error(format!("is no URL ({why})")))?;
        if uri.scheme_str() != Some("http") {
            return Err(error("has no scheme that is known here".into()));
        }
        let authority = uri.authority().ok_or_else(|| error("has no host".into()))?;
        if authority.as_str().contains('@') {
            return Err(error("has a user name in it, which is not sent".into()));
        }
        let host = authority.host();
        Ok(Target {
            authority: authority.to_string(),
            path: uri
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .to_string(),
            // An IPv6 literal resolves without its brackets.
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_string(),
            port: authority.port_u16().unwrap_or(80),
        })
    }

    /// The first address that the host's name stands for.
    ///
    /// # Errors
    /// A [`SpecError`] when it stands for none.
    pub fn resolve(&self) -> Result<SocketAddr, SpecError> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        found
            .ok()
            .and_then(|mut addresses| addresses.next())
            .ok_or_else(|| {
                let found = format!("the host {:?} has no address", self.host);
                SpecError::new("url", found, "check the name, or write an address")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_urls_apart() {
        let target = Target::parse("http://[::1]:8080/a/b?c=%20d").unwrap();
        assert_eq!(target.authority, "[::1]:8080");
        assert_eq!(target.path, "/a/b?c=%20d");
        assert_eq!(target.resolve().unwrap(), "[::1]:8080".parse().unwrap());
        let target = Target::parse("http://127.0.0.1").unwrap();
        assert_eq!(target.path, "/");
        assert_eq!(target.resolve().unwrap(), "127.0.0.1:80".parse().unwrap());
    }

    #[test]
    fn says_what_is_wrong_with_a_url() {
        for url in [
            "",
            "127.0.0.1:80",
            "/path",
            "https://a/",
            "http://a b/",
            "http://u@a/",
        ] {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.starts_with("url: "), "{error}");
        }
    }
}
