//! The header by which an answer says whether a cache had it.

use std::sync::Arc;

use http::HeaderName;

use crate::spec::SpecError;

/// The header's name in lower case, if one is looked for.
#[derive(Clone, Debug, Default)]
pub struct CacheHeader(Option<Arc<str>>);

impl CacheHeader {
    /// Look for the header `name`, if there is one.
    ///
    /// # Errors
    /// A [`SpecError`] when it is no header name.
    pub fn new(name: Option<&str>) -> Result<Self, SpecError> {
        let Some(name) = name else {
            return Ok(CacheHeader::default());
        };
        let valid = HeaderName::try_from(name).map_err(|_| {
            let found = format!("{name:?} is not a header name");
            SpecError::new("cache_header", found, "write it as X-Cache")
        })?;
        Ok(CacheHeader(Some(valid.as_str().into())))
    }

    /// Return true if a field says that a cache had the answer, that is if its value has `hit` in it
    /// anywhere; none if it is another field.
    pub fn hit(&self, name: &[u8], value: &[u8]) -> Option<bool> {
        let own = self.0.as_deref()?;
        name.eq_ignore_ascii_case(own.as_bytes()).then(|| {
            let mut words = value.windows(3);
            words.any(|word| word.eq_ignore_ascii_case(b"hit"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_known_in_the_words_of_several_caches() {
        let cache = CacheHeader::new(Some("X-Cache")).unwrap();
        for (value, hit) in [
            ("HIT", true),
            ("Hit from cloudfront", true),
            ("TCP_HIT:10", true),
            ("edge; hit; ttl=30", true),
            ("MISS", false),
            ("edge; fwd=miss", false),
            ("", false),
        ] {
            assert_eq!(
                cache.hit(b"x-cache", value.as_bytes()),
                Some(hit),
                "{value}"
            );
            assert_eq!(cache.hit(b"X-CACHE", value.as_bytes()), Some(hit));
        }
        assert_eq!(cache.hit(b"age", b"hit"), None);
        assert_eq!(CacheHeader::default().hit(b"x-cache", b"HIT"), None);
        assert!(CacheHeader::new(Some("X Cache")).is_err());
    }
}
