//! The references between the modules of a crate, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path as Folder;

use super::source::{Path, Source, read};

/// The files of one crate by their modules' paths.
#[derive(Debug, Default)]
pub struct Crate(BTreeMap<Path, Source>);

/// Siblings, each with those that it names and one example of files that do.
type Layer = BTreeMap<String, BTreeMap<String, String>>;

impl Crate {
    /// Read all files below `folder`, the `src` of a crate, but `tests.rs`, by convention a module of
    /// tests; `src/bin` has crates of its own.
    pub fn load(folder: &Folder) -> Self {
        let mut texts = Vec::new();
        collect(folder, &[], &mut texts);
        let texts = texts
            .iter()
            .map(|(path, text)| (path.as_slice(), text.as_str()));
        Self::of(texts)
    }

    /// The crate of these modules, each with its code.
    pub fn of<'a>(texts: impl Iterator<Item = (&'a [String], &'a str)>) -> Self {
        let mut files: BTreeMap<Path, Source> = BTreeMap::new();
        for (path, text) in texts {
            let mut source = read(path, text);
            // A crate may have two roots: lib.rs and main.rs.
            let known = files.entry(path.to_vec()).or_default();
            known.named.append(&mut source.named);
            known.passed_on.append(&mut source.passed_on);
        }
        Crate(files)
    }

    /// The number of modules.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// One circle of each layer that has any, a line for each step.
    pub fn circles(&self) -> Vec<String> {
        self.layers().values().filter_map(circle).collect()
    }

    /// Group the references by the folder in which both ends lie: there, each end is a file or a
    /// folder as a whole, and a `mod.rs` is a file beside its children.
    fn layers(&self) -> BTreeMap<Path, Layer> {
        let mut layers: BTreeMap<Path, Layer> = BTreeMap::new();
        for (from, source) in &self.0 {
            for named in &source.named {
                let Some(to) = self.resolve(named, 0).filter(|to| to != from) else {
                    continue;
                };
                let common = (from.iter().zip(&to)).take_while(|(a, b)| a == b).count();
                let end = |path: &Path| match path.get(common) {
                    Some(_) => path[..=common].join("::"),
                    None => format!("{} (its own file)", shown(&path[..common])),
                };
                let example = format!("{} names {}", shown(from), shown(named));
                let layer = layers.entry(to[..common].to_vec()).or_default();
                let steps = layer.entry(end(from)).or_default();
                steps.entry(end(&to)).or_insert(example);
            }
        }
        layers
    }

    /// The module in which the last name of `path` is defined; none outside the crate.
    fn resolve(&self, path: &[String], depth: usize) -> Option<Path> {
        if path.first().is_some_and(|head| head == "::") || depth > 10 {
            return None;
        }
        let mut at = 0;
        while at < path.len() && self.0.contains_key(&path[..=at]) {
            at += 1;
        }
        let found = self.0.get(&path[..at])?;
        let passed_on = path.get(at).and_then(|name| {
            let same = |(known, _): &&(String, Path)| known == name;
            found.passed_on.iter().find(same)
        });
        let further = passed_on.and_then(|(_, target)| {
            let whole = [&target[..], &path[at + 1..]].concat();
            self.resolve(&whole, depth + 1)
        });
        Some(further.unwrap_or_else(|| path[..at].to_vec()))
    }
}

fn shown(path: &[String]) -> String {
    if path.is_empty() {
        return "crate".into();
    }
    path.join("::")
}

/// Walk along the references until a sibling comes again.
fn circle(layer: &Layer) -> Option<String> {
    let mut done = BTreeSet::new();
    layer
        .keys()
        .find_map(|start| walk(layer, start, &mut Vec::new(), &mut done))
}

fn walk<'a>(
    layer: &'a Layer,
    from: &'a str,
    way: &mut Vec<(&'a str, &'a str)>,
    done: &mut BTreeSet<&'a str>,
) -> Option<String> {
    if let Some(begin) = way.iter().position(|(name, _)| *name == from) {
        let steps = way[begin..]
            .iter()
            .zip(way[begin + 1..].iter().map(|(name, _)| name).chain([&from]));
        let lines = steps.map(|((from, example), to)| format!("  {from} -> {to}: {example}\n"));
        return Some(lines.collect());
    }
    if !done.contains(from) {
        for (to, example) in layer.get(from).into_iter().flatten() {
            way.push((from, example));
            let found = walk(layer, to, way, done);
            way.pop();
            if found.is_some() {
                return found;
            }
        }
        done.insert(from);
    }
    None
}

fn collect(folder: &Folder, module: &[String], texts: &mut Vec<(Path, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let file = entry.expect("an entry of the folder").path();
        let stem = file
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let below = [module, std::slice::from_ref(&stem)].concat();
        if file.is_dir() {
            if below != ["bin"] {
                collect(&file, &below, texts);
            }
        } else if file.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            let root = module.is_empty() && (stem == "lib" || stem == "main");
            let path = if root || stem == "mod" {
                module.to_vec()
            } else {
                below
            };
            texts.push((path, fs::read_to_string(&file).expect("a readable file")));
        }
    }
}
