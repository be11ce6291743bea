//! Text with places for values: `${name}`, and `{key}` in a path.

use crate::keys::{Keys, PLACE};

/// The beginning of a value's place.
pub const OPEN: &str = "${";

/// Stands for [`OPEN`] itself.
const ESCAPED: &str = "$${";

/// A text, taken apart once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    /// The value of this number.
    Value(usize),
    /// The next object's number.
    Key,
}

/// The reason why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A place without a name that can be one, from its beginning on.
    NoName(String),
    /// A name without a value.
    Unknown(String),
}

impl From<&[u8]> for Template {
    /// Text without places.
    fn from(text: &[u8]) -> Self {
        let mut plain = Template::default();
        plain.text(text);
        plain
    }
}

impl Template {
    /// The template that `text` writes; `find` returns the number of a name's value.
    ///
    /// # Errors
    /// A [`Fault`] for the first place that has no value.
    pub fn parse(text: &[u8], mut find: impl FnMut(&str) -> Option<usize>) -> Result<Self, Fault> {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(dollar) = rest.iter().position(|byte| *byte == b'$') {
            template.text(&rest[..dollar]);
            rest = &rest[dollar..];
            if rest.starts_with(ESCAPED.as_bytes()) {
                template.text(OPEN.as_bytes());
                rest = &rest[ESCAPED.len()..];
            } else if let Some(inner) = rest.strip_prefix(OPEN.as_bytes()) {
                let end = inner.iter().position(|byte| *byte == b'}');
                let name = end.and_then(|end| std::str::from_utf8(&inner[..end]).ok());
                let name = name.filter(|name| is_name(name)).ok_or_else(|| {
                    let shown = &rest[..rest.len().min(20)];
                    Fault::NoName(String::from_utf8_lossy(shown).into_owned())
                })?;
                let value = find(name).ok_or_else(|| Fault::Unknown(name.into()))?;
                template.0.push(Piece::Value(value));
                rest = &inner[name.len() + 1..];
            } else {
                template.text(&rest[..1]);
                rest = &rest[1..];
            }
        }
        template.text(rest);
        Ok(template)
    }

    /// The same, with the first `{key}` of its text as the place of the object's number.
    #[must_use]
    pub fn with_key(self) -> Self {
        let mut pieces = self.0.into_iter();
        let mut found = Template::default();
        for piece in pieces.by_ref() {
            if let Piece::Text(text) = &piece
                && let Some(at) = text
                    .windows(PLACE.len())
                    .position(|part| part == PLACE.as_bytes())
            {
                found.text(&text[..at]);
                found.0.push(Piece::Key);
                found.text(&text[at + PLACE.len()..]);
                break;
            }
            found.0.push(piece);
        }
        found.0.extend(pieces);
        found
    }

    /// Append text as it is.
    pub fn text(&mut self, text: &[u8]) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.extend_from_slice(text),
            _ => self.0.push(Piece::Text(text.into())),
        }
    }

    /// Append another template.
    pub fn append(&mut self, other: Template) {
        for piece in other.0 {
            match piece {
                Piece::Text(text) => self.text(&text),
                piece => self.0.push(piece),
            }
        }
    }

    /// The numbers of its values.
    pub fn values(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(value) => Some(*value),
            _ => None,
        })
    }

    /// Its text, if it is always the same.
    pub fn plain(&self) -> Option<&[u8]> {
        // Neighbouring texts are one piece.
        match &self.0[..] {
            [] => Some(&[]),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The number of the value that it begins with, if it does.
    pub fn first(&self) -> Option<usize> {
        match self.0.first() {
            Some(Piece::Value(value)) => Some(*value),
            _ => None,
        }
    }

    /// Append the text with these `values`, and with the next of `keys`.
    pub fn write(&self, values: &[Vec<u8>], keys: &mut Keys, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Value(value) => out.extend_from_slice(&values[*value]),
                Piece::Key => {
                    out.extend_from_slice(itoa::Buffer::new().format(keys.draw()).as_bytes());
                }
            }
        }
    }

    /// Bytes of the text with these `values`; there must be no `{key}` in it.
    pub fn length(&self, values: &[Vec<u8>]) -> usize {
        let length = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Value(value) => values[*value].len(),
            Piece::Key => 0,
        };
        self.0.iter().map(length).sum()
    }
}

/// Return true if `name` can stand between the braces.
pub fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(text: &str, values: &[(&str, &str)]) -> Result<String, Fault> {
        let find = |name: &str| values.iter().position(|(other, _)| *other == name);
        let template = Template::parse(text.as_bytes(), find)?.with_key();
        let bytes: Vec<Vec<u8>> = values.iter().map(|(_, value)| (*value).into()).collect();
        let mut out = Vec::new();
        template.write(&bytes, &mut Keys::new(None, 1, 0, (0, 1)), &mut out);
        Ok(String::from_utf8(out).expect("text"))
    }

    #[test]
    fn names_are_replaced_by_values() {
        let values = [("a", "1"), ("long-name_2.x", "two"), ("key", "k")];
        for (text, wanted) in [
            ("", ""),
            ("plain $ {a} $a", "plain $ {a} $a"),
            ("${a}", "1"),
            ("<${a}${long-name_2.x}>", "<1two>"),
            ("$$ $${a} $$${a}", "$$ ${a} $${a}"),
            ("/${key}/{key}/{key}", "/k/0/{key}"),
        ] {
            assert_eq!(filled(text, &values).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_has_no_value_is_named() {
        let fault = |text| filled(text, &[("a", "1")]).unwrap_err();
        assert_eq!(fault("${b}"), Fault::Unknown("b".into()));
        for text in ["${", "${a", "${}", "${a b}", "${ä}"] {
            assert_eq!(fault(text), Fault::NoName(text.into()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(6), ..ProptestConfig::default() })]

        #[test]
        fn text_with_escapes_is_written_as_it_was(text in "[${}a]{0,12}", value in "[a-z$]{0,4}") {
            let escaped = text.replace(OPEN, ESCAPED);
            let written = filled(&format!("{escaped} ${{v}}"), &[("v", &value)]);
            prop_assert_eq!(written, Ok(format!("{text} {value}")));
        }

        #[test]
        fn a_length_is_that_of_the_text(text in "(x|\\$\\{v\\}|\\$\\$\\{|\\$){0,6}", value in "[a-z]{0,9}") {
            let template = Template::parse(text.as_bytes(), |name| (name == "v").then_some(0));
            let (template, values) = (template.unwrap(), [value.into_bytes()]);
            let mut out = Vec::new();
            template.write(&values, &mut Keys::new(None, 1, 0, (0, 1)), &mut out);
            prop_assert_eq!(template.length(&values), out.len());
        }
    }
}
