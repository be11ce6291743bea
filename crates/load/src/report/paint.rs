//! Colours for terminals.

use std::io::IsTerminal;

/// Marks text by colour and weight, or leaves it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint(pub bool);

impl Paint {
    /// Colours if `to` is a terminal that takes them (<https://no-color.org>).
    pub fn of(to: &impl IsTerminal) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        Paint(to.is_terminal() && !unwanted && !dumb)
    }

    /// The figures that matter most.
    pub fn bold(self, text: &str) -> String {
        self.mark("1", text)
    }

    /// Failures and remedies.
    pub fn warn(self, text: &str) -> String {
        self.mark("33", text)
    }

    /// Bars.
    pub fn bar(self, text: &str) -> String {
        self.mark("36", text)
    }

    fn mark(self, code: &str, text: &str) -> String {
        match self.0 {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_terminal_gets_no_colour() {
        assert_eq!(
            Paint::of(&std::fs::File::open("/dev/null").unwrap()),
            Paint(false)
        );
        assert_eq!(Paint(false).warn("a"), "a");
        assert_eq!(Paint(true).warn("a"), "\x1b[33ma\x1b[0m");
    }
}
