//! The words and signs of Rust source, without comments, literals and what only tests compile.

/// Split `text` into identifiers, `::` and single signs.
pub fn tokens(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let rest = &characters[at..];
        if let Some(length) = skipped(rest) {
            at += length;
            continue;
        }
        let length = match rest {
            [':', ':', ..] => 2,
            [first, ..] if is_word(*first) => word(rest),
            _ => 1,
        };
        if !rest[0].is_whitespace() {
            tokens.push(rest[..length].iter().collect());
        }
        at += length;
    }
    without_tests(&tokens)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn word(rest: &[char]) -> usize {
    rest.iter().take_while(|each| is_word(**each)).count()
}

/// The length of the comment or literal that `rest` begins with.
fn skipped(rest: &[char]) -> Option<usize> {
    match rest {
        ['/', '/', ..] => Some(rest.iter().take_while(|each| **each != '\n').count()),
        ['/', '*', ..] => Some(block_comment(rest)),
        ['"', ..] => Some(quoted(rest, '"')),
        ['\'', '\\', ..] => Some(quoted(rest, '\'')),
        ['\'', _, '\'', ..] => Some(3),
        // A lifetime.
        ['\'', ..] => Some(1 + word(&rest[1..])),
        [first, ..] if is_word(*first) => {
            let prefix = word(rest);
            let name: String = rest[..prefix].iter().collect();
            let hashes = rest[prefix..]
                .iter()
                .take_while(|each| **each == '#')
                .count();
            let opens = rest.get(prefix + hashes) == Some(&'"');
            match name.as_str() {
                "r" | "br" | "cr" if opens => Some(raw(rest, prefix, hashes)),
                "b" | "c" if opens && hashes == 0 => Some(prefix + quoted(&rest[prefix..], '"')),
                "b" if rest.get(prefix) == Some(&'\'') => {
                    Some(prefix + quoted(&rest[prefix..], '\''))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn block_comment(rest: &[char]) -> usize {
    let (mut at, mut depth) = (0, 0);
    loop {
        match &rest[at..] {
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            [] => return at,
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
}

fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn raw(rest: &[char], prefix: usize, hashes: usize) -> usize {
    let mut end = vec!['"'];
    end.resize(1 + hashes, '#');
    let begin = prefix + hashes + 1;
    let found = rest[begin..]
        .windows(end.len())
        .position(|each| each == end);
    found.map_or(rest.len(), |found| begin + found + end.len())
}

/// Leave out the items behind `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&ATTRIBUTE.map(String::from)) {
            at += ATTRIBUTE.len();
            at += item(&tokens[at..]);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// The length of the item that `tokens` begin with: to its `;`, or to the end of its braces.
fn item(tokens: &[String]) -> usize {
    let imports = tokens.iter().take(5).any(|token| token == "use");
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && (token == ";" || token == "}" && !imports) {
            return at + 1;
        }
    }
    tokens.len()
}
