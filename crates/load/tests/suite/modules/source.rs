//! The declarations, imports and names of one file.

use super::tokens::tokens;

/// The segments of a path, from the crate's root on.
pub type Path = Vec<String>;

/// One file's references to other modules.
#[derive(Debug, Default)]
pub struct Source {
    /// Paths that its code names, imports included.
    pub named: Vec<Path>,
    /// Names that it passes on by `pub use`, and the paths that they stand for.
    pub passed_on: Vec<(String, Path)>,
}

/// One `use`: the name that it brings, and the path that the name stands for.
struct Import {
    name: String,
    path: Path,
    public: bool,
}

/// Read the file of `module`, whose code is `text`.
pub fn read(module: &[String], text: &str) -> Source {
    let tokens = tokens(text);
    let children: Vec<String> = (tokens.windows(3))
        .filter(|three| three[0] == "mod" && three[2] == ";")
        .map(|three| three[1].clone())
        .collect();
    // Inline modules, by the depth of braces in which each begins.
    let mut inline: Vec<(usize, String)> = Vec::new();
    let (mut imports, mut names, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    let (mut at, mut depth) = (0, 0);
    while at < tokens.len() {
        let here: Path = (module.iter().cloned())
            .chain(inline.iter().map(|(_, name)| name.clone()))
            .collect();
        let token = tokens[at].as_str();
        let length = match token {
            // `use<…>` in a type captures lifetimes.
            "use" if tokens.get(at + 1).is_none_or(|next| next != "<") => {
                let end = tokens[at..].iter().position(|token| token == ";");
                let end = at + end.unwrap_or(tokens.len() - at);
                let public = at > 0 && (tokens[at - 1] == "pub" || is_restricted(&tokens[..at]));
                let mut tree = tokens[at + 1..end].iter().peekable();
                let mut flat = Vec::new();
                flatten(&mut tree, &[], &mut flat);
                imports.extend(flat.into_iter().map(|(path, name)| Import {
                    name,
                    path: absolute(&path, &here, &children),
                    public: public && inline.is_empty(),
                }));
                end - at
            }
            "mod" if tokens.get(at + 2).is_some_and(|next| next == "{") => {
                inline.push((depth, tokens[at + 1].clone()));
                2
            }
            "{" => {
                depth += 1;
                1
            }
            "}" => {
                depth -= 1;
                inline.retain(|(begin, _)| *begin < depth);
                1
            }
            _ if begins_path(&tokens, at) => {
                let path = path(&tokens[at..]);
                let length = 2 * path.len() - 1;
                paths.push((path, here));
                length
            }
            _ => {
                names.push(token.to_string());
                1
            }
        };
        at += length;
    }
    let mut source = Source::default();
    for (path, here) in paths {
        let alias = imports.iter().find(|import| import.name == path[0]);
        names.push(path[0].clone());
        source.named.push(match alias {
            Some(import) => [&import.path[..], &path[1..]].concat(),
            None => absolute(&path, &here, &children),
        });
    }
    for Import { name, path, public } in imports {
        // A name that is only passed on is not used here.
        if !public || names.contains(&name) {
            source.named.push(path.clone());
        }
        if public {
            source.passed_on.push((name, path));
        }
    }
    source
}

/// Return true if `before` ends with `pub(…)`.
fn is_restricted(before: &[String]) -> bool {
    let open = before.iter().rposition(|token| token == "(");
    before.last().is_some_and(|last| last == ")")
        && open.is_some_and(|open| open > 0 && before[open - 1] == "pub")
}

fn begins_path(tokens: &[String], at: usize) -> bool {
    let follows = at > 0 && (tokens[at - 1] == "::" || tokens[at - 1] == "in");
    let is_word = tokens[at]
        .chars()
        .all(|each| each.is_alphanumeric() || each == '_');
    !follows && is_word && tokens.get(at + 1).is_some_and(|next| next == "::")
}

/// The segments of the path that `tokens` begin with.
fn path(tokens: &[String]) -> Path {
    let is_word = |token: &&String| {
        token
            .chars()
            .all(|each| each.is_alphanumeric() || each == '_')
    };
    let mut path = vec![tokens[0].clone()];
    for two in tokens[1..].chunks_exact(2) {
        match (two[0].as_str(), Some(&two[1]).filter(is_word)) {
            ("::", Some(segment)) => path.push(segment.clone()),
            _ => break,
        }
    }
    path
}

/// Resolve `crate`, `self`, `super` and the file's own children; other paths leave the crate.
fn absolute(path: &[String], here: &[String], children: &[String]) -> Path {
    let mut base = here.to_vec();
    let mut rest = path;
    match path.first().map(String::as_str) {
        Some("crate") => (base, rest) = (Vec::new(), &path[1..]),
        Some("self") => rest = &path[1..],
        Some("super") => {}
        Some(head) if children.iter().any(|child| child == head) => {}
        _ => return vec!["::".into()],
    }
    while rest.first().is_some_and(|segment| segment == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    base
}

type Tree<'a> = std::iter::Peekable<std::slice::Iter<'a, String>>;

/// Flatten one tree of `use` into the paths that it names, and the names that they get.
fn flatten(tree: &mut Tree, prefix: &[String], out: &mut Vec<(Path, String)>) {
    let mut path = prefix.to_vec();
    while let Some(token) = tree.next() {
        match token.as_str() {
            "::" => {}
            "{" => {
                while tree.peek().is_some_and(|next| *next != "}") {
                    flatten(tree, &path, out);
                }
                tree.next();
                path.clear();
            }
            "as" => {
                let name = tree.next().cloned().unwrap_or_default();
                out.push((std::mem::take(&mut path), name));
            }
            "," => break,
            "self" if !path.is_empty() => {}
            segment => path.push(segment.into()),
        }
        if tree.peek().is_some_and(|next| *next == "}") {
            break;
        }
    }
    if let Some(name) = path.last().cloned() {
        out.push((path, name));
    }
}
