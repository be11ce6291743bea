//! A request's headers, as a spec writes them: an object of texts, or of lists of texts.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The values of one name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Several(Vec<String>),
}

struct Headers;

impl<'de> Visitor<'de> for Headers {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of names, each with a text or a list of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut headers = Vec::new();
        while let Some((name, values)) = map.next_entry::<String, Values>()? {
            match values {
                Values::One(value) => headers.push((name, value)),
                Values::Several(values) => {
                    headers.extend(values.into_iter().map(|value| (name.clone(), value)));
                }
            }
        }
        Ok(headers)
    }
}

/// Read names and values, in the order in which they are written.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
    from.deserialize_map(Headers)
}
