//! The cookies of one user.

use super::set_cookie::SetCookie;
use crate::time::seconds_since_1970;

/// Most bytes of a cookie's name and value, as in browsers; a longer one is left out.
const LONGEST: usize = 4096;

/// Most cookies, as in browsers; beyond, the oldest goes.
const MOST: usize = 180;

/// The cookies of one user of one host: all of them go with every request.
#[derive(Clone, Debug, Default)]
pub struct Jar {
    /// Names and values, in the order in which they were first set.
    cookies: Vec<(Vec<u8>, Vec<u8>)>,
    /// The value of a request's header; empty without cookies.
    header: Vec<u8>,
}

impl Jar {
    /// Take the values of `Set-Cookie` headers.
    pub fn take<'a>(&mut self, headers: impl Iterator<Item = &'a [u8]>) {
        let mut changed = false;
        for header in headers {
            let cookie = SetCookie::parse(header, seconds_since_1970);
            changed |= cookie.is_some_and(|cookie| self.set(&cookie));
        }
        if changed {
            self.compose();
        }
    }

    /// The value of a request's `Cookie` header; empty without cookies.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// Drop all cookies.
    pub fn clear(&mut self) {
        self.cookies.clear();
        self.header.clear();
    }

    /// Set or delete a cookie; return true if that changed anything.
    fn set(&mut self, cookie: &SetCookie<'_>) -> bool {
        let known = self
            .cookies
            .iter()
            .position(|(name, _)| name == cookie.name);
        match known {
            Some(index) if cookie.gone => {
                self.cookies.remove(index);
            }
            None if cookie.gone => return false,
            _ if cookie.name.len() + cookie.value.len() > LONGEST => return false,
            Some(index) => {
                let value = &mut self.cookies[index].1;
                if value == cookie.value {
                    return false;
                }
                value.clear();
                value.extend_from_slice(cookie.value);
            }
            None => {
                if self.cookies.len() == MOST {
                    self.cookies.remove(0);
                }
                self.cookies.push((cookie.name.into(), cookie.value.into()));
            }
        }
        true
    }

    fn compose(&mut self) {
        self.header.clear();
        for (name, value) in &self.cookies {
            let before: &[u8] = match self.header.is_empty() {
                true => b"",
                false => b"; ",
            };
            for part in [before, name, b"=", value] {
                self.header.extend_from_slice(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(headers: &[&str]) -> String {
        let mut jar = Jar::default();
        for header in headers {
            jar.take([header.as_bytes()].into_iter());
        }
        String::from_utf8_lossy(jar.header()).into_owned()
    }

    #[test]
    fn cookies_are_set_changed_and_deleted() {
        assert_eq!(after(&[]), "");
        let two = ["a=1; Path=/", "b=2"];
        assert_eq!(after(&two), "a=1; b=2");
        assert_eq!(after(&[&two[..], &["a=3"]].concat()), "a=3; b=2");
        let gone = "a=; Max-Age=0";
        assert_eq!(after(&[&two[..], &[gone]].concat()), "b=2");
        assert_eq!(after(&["a=1", gone]), "");
        assert_eq!(
            after(&["a=1", "b=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]),
            "a=1"
        );
    }

    #[test]
    fn a_server_cannot_fill_the_memory() {
        let long = format!("a={}", "x".repeat(LONGEST));
        assert_eq!(after(&[&long]), "");
        let many: Vec<String> = (0..=MOST).map(|number| format!("c{number}=x")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let header = after(&many);
        assert!(header.starts_with("c1=x; ") && header.ends_with("; c180=x"));
    }
}
