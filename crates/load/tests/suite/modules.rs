//! The modules of a crate form layers: no module names, by way of others, one that names it.

mod graph;
mod source;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use self::graph::Crate;

/// The folders that match a pattern of the workspace's `members`; `*` stands for any one name.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")];
    for part in pattern.split('/') {
        found = match part {
            "*" => found
                .iter()
                .filter_map(|folder| fs::read_dir(folder).ok())
                .flat_map(|entries| entries.map(|entry| entry.expect("a folder's entry").path()))
                .collect(),
            name => found.iter().map(|folder| folder.join(name)).collect(),
        };
    }
    found.retain(|folder| folder.join("Cargo.toml").is_file());
    found
}

/// The folders of the workspace's crates.
fn crates() -> Vec<PathBuf> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let text = fs::read_to_string(manifest).expect("the workspace's Cargo.toml");
    let line = text.lines().find(|line| line.starts_with("members = "));
    line.expect("members on one line")
        .split('"')
        .skip(1)
        .step_by(2)
        .flat_map(matching)
        .collect()
}

// `mod` and a mere `pub use` name nothing: a name reached through its parent counts for its own file.
#[test]
fn modules_form_layers() {
    let crates = crates();
    assert!(crates.len() > 10, "only {crates:?} found");
    let mut circles = String::new();
    for folder in crates {
        let modules = Crate::load(&folder.join("src"));
        assert!(modules.len() > 0, "{}: no source found", folder.display());
        for circle in modules.circles() {
            circles += &format!("{}:\n{circle}\n", folder.display());
        }
    }
    assert!(
        circles.is_empty(),
        "modules name each other in a circle; move what they share to a module of its own\n{circles}"
    );
}

/// The circle of a crate with these modules.
fn circle(files: &[(&str, &str)]) -> Option<String> {
    let own = |path: &str| {
        path.split("::")
            .filter(|name| !name.is_empty())
            .map(String::from)
            .collect()
    };
    let files: Vec<(Vec<String>, &str)> = files
        .iter()
        .map(|(path, text)| (own(path), *text))
        .collect();
    let files = files.iter().map(|(path, text)| (path.as_slice(), *text));
    Crate::of(files).circles().pop()
}

#[test]
fn a_circle_is_found_by_imports_and_by_paths() {
    let root = ("", "mod a; mod b; mod c;");
    let (one, two) = (
        ("a", "use crate::b::{X, Y};"),
        ("b", "fn f() { crate::c::g() }"),
    );
    assert_eq!(circle(&[root, one, two, ("c", "pub fn g() {}")]), None);
    for back in [
        "use super::a;",
        "use crate::{a as other, d};",
        "fn g() -> super::a::T {}",
    ] {
        let found = circle(&[root, one, two, ("c", back)]).expect(back);
        assert!(found.starts_with("  a -> b: a names b::"), "{found}");
        assert!(
            found.contains("\n  b -> c: b names c::g\n  c -> a: "),
            "{found}"
        );
    }
}

#[test]
fn comments_literals_and_tests_name_nothing() {
    for text in [
        "/// [`crate::a::X`] /* */\nfn f(x: &'static str) -> char { '\"' }",
        "/* /* */ use crate::a; */ const T: &str = \"use crate::a;\\\" crate::a::X\";",
        "const T: &[u8] = br#\"\" crate::a::X\"#; const C: u8 = b'\\'';",
        "#[cfg(test)]\n#[allow(x)]\nmod tests { use crate::a::X; fn f() { {} } }",
        "#[cfg(test)]\nuse crate::a::{X, Y};",
    ] {
        assert_eq!(
            circle(&[("a", "use crate::b::X;"), ("b", text)]),
            None,
            "{text}"
        );
        let also = format!("{text}\nuse crate::a;");
        assert!(
            circle(&[("a", "use crate::b::X;"), ("b", &also)]).is_some(),
            "{also}"
        );
    }
}

#[test]
fn a_parent_that_passes_names_on_is_not_their_place() {
    // A name counts for the file that defines it; the parent refers to it only where its own code does.
    let child = ("p::one", "use super::Shared;");
    let shared = ("p::shared", "pub struct Shared;");
    let parent = (
        "p",
        "mod one; mod shared; pub use self::one::One; pub use shared::Shared;",
    );
    assert_eq!(circle(&[parent, child, shared]), None);
    let uses = (
        "p",
        "mod one; mod shared; pub use self::one::One; struct Shared; fn f(_: One) {}",
    );
    let found = circle(&[uses, child]).expect("a circle");
    assert!(found.contains("p (its own file) -> p::one"), "{found}");
}

#[test]
fn folders_are_layers_too() {
    let files = [
        ("p::a", "use crate::q::x::X;"),
        ("q::y", "use crate::p::b::B;"),
        ("p::b", ""),
        ("q::x", ""),
        ("p", ""),
        ("q", ""),
    ];
    let found = circle(&files).expect("a circle");
    assert!(
        found.starts_with("  p -> q: p::a names q::x::X\n  q -> p: "),
        "{found}"
    );
}

#[test]
fn inline_modules_belong_to_their_file() {
    let files = [
        (
            "a",
            "const S: u8 = 1; mod inner { fn f() -> u8 { super::S } } use crate::b::B;",
        ),
        ("b", ""),
    ];
    assert_eq!(circle(&files), None);
}
