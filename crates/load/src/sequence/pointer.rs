//! JSON pointers (RFC 6901), followed without making the rest of the document.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A pointer to one value of a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// The pointer that `text` writes; none if it is no pointer.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Pointer(Vec::new()));
        }
        let tokens = text.strip_prefix('/')?.split('/').map(|token| {
            let rest = token.replace("~0", "").replace("~1", "");
            // First ~1, so that ~01 is ~1.
            (!rest.contains('~')).then(|| token.replace("~1", "/").replace("~0", "~"))
        });
        tokens.collect::<Option<_>>().map(Pointer)
    }

    /// Append the value that it points to in `body`: a string's text, or a number or boolean as it is
    /// written. Return false if there is no such value, or the body is not JSON.
    pub fn find(&self, body: &[u8], out: &mut Vec<u8>) -> bool {
        let mut json = serde_json::Deserializer::from_slice(body);
        let found = Seek(&self.0).deserialize(&mut json);
        let Ok(Some(raw)) = found.and_then(|found| json.end().map(|()| found)) else {
            return false;
        };
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'"') => match serde_json::from_str::<Text<'_>>(text) {
                Ok(Text(text)) => out.extend_from_slice(text.as_bytes()),
                Err(_) => return false,
            },
            Some(b'{' | b'[' | b'n') | None => return false,
            Some(_) => out.extend_from_slice(text.as_bytes()),
        }
        true
    }
}

/// A string, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Looks for the value at the end of these names.
struct Seek<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => serde::Deserialize::deserialize(json).map(Some),
            [name, rest @ ..] => json.deserialize_any(Inside(name, rest)),
        }
    }
}

/// Looks for a name in a value, and for the rest of the names in what it finds.
struct Inside<'p>(&'p str, &'p [String]);

impl<'de> Visitor<'de> for Inside<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Is(self.0))? {
            // Of one name twice, the first.
            if is_it && found.is_none() {
                found = map.next_value_seed(Seek(self.1))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let plain = self.0 == "0" || !self.0.starts_with(['0', '+']);
        let index: Option<usize> = self.0.parse().ok().filter(|_| plain);
        for _ in 0..index.unwrap_or(0) {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = match index {
            Some(_) => seq.next_element_seed(Seek(self.1))?.flatten(),
            None => None,
        };
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Compares a key with a name.
struct Is<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn find(pointer: &str, body: &str) -> Option<String> {
        let mut out = Vec::new();
        let pointer = Pointer::parse(pointer).expect("a pointer");
        let found = pointer.find(body.as_bytes(), &mut out);
        found.then(|| String::from_utf8(out).expect("text"))
    }

    #[test]
    fn the_values_of_the_rfc_are_found() {
        let body = r#" {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4,
                       "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8} "#;
        for (pointer, value) in [
            ("/foo/0", "bar"),
            ("/foo/1", "baz"),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/c%d", "2"),
            ("/e^f", "3"),
            ("/g|h", "4"),
            ("/i\\j", "5"),
            ("/k\"l", "6"),
            ("/ ", "7"),
            ("/m~0n", "8"),
        ] {
            assert_eq!(find(pointer, body).as_deref(), Some(value), "{pointer}");
        }
        for pointer in [
            "", "/foo", "/foo/2", "/foo/-", "/foo/00", "/foo/+1", "/x", "/a~1b/0",
        ] {
            assert_eq!(find(pointer, body), None, "{pointer}");
        }
    }

    #[test]
    fn values_are_as_they_are_written() {
        for (body, value) in [
            ("12345678901234567890123", Some("12345678901234567890123")),
            ("1.50", Some("1.50")),
            ("true", Some("true")),
            (r#""a\u00e4\n\"""#, Some("aä\n\"")),
            ("\"\"", Some("")),
            ("null", None),
            ("[1]", None),
            ("{}", None),
            ("", None),
            ("1 2", None),
            ("{\"a\": 1", None),
        ] {
            assert_eq!(find("", body).as_deref(), value, "{body}");
        }
        assert_eq!(find("/a", r#"{"a": 1, "b": }"#), None);
        assert_eq!(find("/a", r#"{"a": 1, "a": 2}"#).as_deref(), Some("1"));
        assert!(
            !Pointer::parse("")
                .unwrap()
                .find(b"\"\xff\"", &mut Vec::new())
        );
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        for text in ["a", "a/b", "/~", "/~2", "/a~"] {
            assert_eq!(Pointer::parse(text), None, "{text}");
        }
    }

    /// Any JSON of few names, so that pointers find something.
    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a~/\"\\n]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[ab~/0]{0,2}", inner), 0..4)
                    .prop_map(|pairs| { Value::Object(pairs.into_iter().collect()) }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..ProptestConfig::default() })]

        #[test]
        fn it_finds_what_serde_finds(
            json in json(), names in prop::collection::vec("[ab~/012]{0,2}", 0..4),
        ) {
            let escaped = |name: &String| "/".to_string() + &name.replace('~', "~0").replace('/', "~1");
            let pointer: String = names.iter().map(escaped).collect();
            let wanted = match json.pointer(&pointer) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
                _ => None,
            };
            prop_assert_eq!(find(&pointer, &json.to_string()), wanted);
        }
    }
}
