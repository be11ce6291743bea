//! Names whole stacks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use super::frames::{Frame, Frames, Kind};
use super::perf_map::PerfMap;
use super::symbols::Symbols;
use crate::kernel::{Place, Record, Stack, Sum, Why};
use crate::memory::{Content, Memories, Memory};

/// The module of an address that no memory has.
const NOWHERE: &str = "[unmapped]";

/// Stacks with their sums by role and reason, and the frames that they are made of.
#[derive(Debug)]
pub struct Named {
    /// The frames by index.
    pub frames: Vec<Frame>,
    /// Role, reason and stack, root first.
    pub places: BTreeMap<(u32, Why, Vec<u32>), Sum>,
}

/// A place of code, whatever process it was found in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Code {
    Kernel(u64),
    File(PathBuf, String, u64),
    Vdso(u64),
    /// Known without symbols: name and module, or module and place.
    Jit(String),
    Nameless(String, u64),
    /// A caller that could not be found, or is no code.
    Cut,
}

/// Give names to all stacks of a record.
pub fn name(record: &Record, memories: &Memories) -> Named {
    let mut finder = Finder {
        memories,
        perf_maps: HashMap::new(),
    };
    let none = Stack::default();
    let stack = |key| record.stacks.get(&key).unwrap_or(&none);
    let codes: Vec<(Vec<Code>, Vec<Code>)> = record
        .places
        .iter()
        .map(|(place, _)| {
            let user = finder.user(place, stack(place.user));
            (user, kernel(&stack(place.kernel).frames, place.why))
        })
        .collect();
    let names = names(
        codes
            .iter()
            .flat_map(|(user, kernel)| user.iter().chain(kernel)),
    );
    let mut frames = Frames::default();
    let mut places = BTreeMap::new();
    for ((place, sum), (user, kernel)) in record.places.iter().zip(&codes) {
        let stack = indices(&mut frames, &names, user, kernel, place);
        let total: &mut Sum = places.entry((place.role, place.why, stack)).or_default();
        total.count += sum.count;
        total.ns += sum.ns;
    }
    Named {
        frames: frames.into_all(),
        places,
    }
}

struct Finder<'a> {
    memories: &'a Memories,
    perf_maps: HashMap<u32, PerfMap>,
}

impl Finder<'_> {
    /// The process that was looked at while it had the memory map that a stack is of.
    fn mapped(&self, place: &Place) -> u32 {
        let executions = |process| self.memories.get(process).map(Memory::executions);
        match (executions(place.process), executions(place.map_of)) {
            // It may end before it is looked at.
            (None, _) => place.map_of,
            // A child that was looked at only when it had executed a program.
            (Some(own), Some(parents)) if own > parents => place.map_of,
            _ => place.process,
        }
    }

    fn user(&mut self, place: &Place, found: &Stack) -> Vec<Code> {
        let process = self.mapped(place);
        let addresses = found.frames.iter().enumerate();
        // A return address may lie behind the caller's last instruction.
        let before = |(at, &address): (usize, &u64)| {
            if at == 0 {
                address
            } else {
                address.saturating_sub(1)
            }
        };
        let mut stack: Vec<Code> = addresses
            .map(|each| self.code(process, before(each)))
            .collect();
        let nowhere = |code: &Code| matches!(code, Code::Nameless(module, _) if module == NOWHERE);
        if let Some(at) = stack.iter().skip(1).position(nowhere) {
            stack.truncate(1 + at);
            stack.push(Code::Cut);
        } else if !found.whole && !stack.is_empty() {
            stack.push(Code::Cut);
        }
        stack
    }

    fn code(&mut self, process: u32, address: u64) -> Code {
        let Some(memory) = self.memories.get(process) else {
            return Code::Nameless("[gone]".into(), address);
        };
        let Some(mapping) = memory.find(address) else {
            return Code::Nameless(NOWHERE.into(), address);
        };
        let offset = address - mapping.start + mapping.offset;
        match &mapping.content {
            Content::File(module) => Code::File(module.path(), module.name.clone(), offset),
            Content::Named(name) if name == "[vdso]" => Code::Vdso(offset),
            Content::Named(name) => Code::Nameless(name.clone(), offset),
            Content::Anonymous => {
                let maps = self.perf_maps.entry(process);
                let map = maps.or_insert_with(|| PerfMap::of(process, memory));
                match map.find(address) {
                    Some(name) => Code::Jit(name.into()),
                    None => Code::Nameless("[anon]".into(), address - mapping.start),
                }
            }
        }
    }
}

fn kernel(addresses: &[u64], why: Why) -> Vec<Code> {
    let exact = |at| at == 0 && why == Why::Running;
    let addresses = addresses.iter().enumerate();
    let before = |(at, &address): (usize, &u64)| {
        if exact(at) {
            address
        } else {
            address.saturating_sub(1)
        }
    };
    addresses.map(|each| Code::Kernel(before(each))).collect()
}

/// Name all places of code, each file's at once.
fn names<'a>(codes: impl Iterator<Item = &'a Code>) -> HashMap<Code, Vec<String>> {
    let codes: BTreeSet<&Code> = codes.collect();
    let symbols = Symbols::new();
    let mut files: BTreeMap<(&PathBuf, &String), Vec<u64>> = BTreeMap::new();
    let (mut kernel, mut vdso) = (Vec::new(), Vec::new());
    for code in codes {
        match code {
            Code::Kernel(address) => kernel.push(*address),
            Code::Vdso(offset) => vdso.push(*offset),
            Code::File(path, module, offset) => {
                files.entry((path, module)).or_default().push(*offset)
            }
            Code::Jit(_) | Code::Nameless(..) | Code::Cut => (),
        }
    }
    let mut found = HashMap::new();
    let mut keep =
        |code: Code, names: Option<Vec<String>>| names.map(|names| found.insert(code, names));
    for (address, names) in kernel.iter().zip(symbols.of_kernel(&kernel)) {
        keep(Code::Kernel(*address), names);
    }
    for (offset, names) in vdso.iter().zip(symbols.of_vdso(&vdso)) {
        keep(Code::Vdso(*offset), names);
    }
    for ((path, module), offsets) in files {
        for (offset, names) in offsets.iter().zip(symbols.of_file(path.clone(), &offsets)) {
            keep(Code::File(path.clone(), module.clone(), *offset), names);
        }
    }
    found
}

/// The indices of a stack's frames, root first.
fn indices(
    frames: &mut Frames,
    names: &HashMap<Code, Vec<String>>,
    user: &[Code],
    kernel: &[Code],
    place: &Place,
) -> Vec<u32> {
    let mut stack = Vec::new();
    for code in user.iter().rev() {
        stack.extend(
            named(code, names)
                .into_iter()
                .map(|frame| frames.index(frame)),
        );
    }
    let mut inner: Vec<Frame> = kernel
        .iter()
        .rev()
        .flat_map(|code| named(code, names))
        .collect();
    if place.why != Why::Running {
        // The programs that record a wait stand on top of what waits.
        let own = |frame: &Frame| {
            ["bpf_", "__bpf_", "__traceiter_"]
                .iter()
                .any(|own| frame.name.starts_with(own))
        };
        while inner.last().is_some_and(own) {
            inner.pop();
        }
    }
    stack.extend(inner.into_iter().map(|frame| frames.index(frame)));
    stack
}

fn named(code: &Code, names: &HashMap<Code, Vec<String>>) -> Vec<Frame> {
    let (module, offset, kind) = match code {
        Code::Kernel(address) => ("kernel", *address, Kind::Kernel),
        Code::File(_, module, offset) => (module.as_str(), *offset, Kind::User),
        Code::Vdso(offset) => ("[vdso]", *offset, Kind::User),
        Code::Jit(name) => {
            return vec![Frame {
                name: name.clone(),
                module: "[jit]".into(),
                kind: Kind::User,
            }];
        }
        Code::Nameless(module, offset) => return vec![Frame::unnamed(module, *offset)],
        Code::Cut => return vec![Frame::cut()],
    };
    let Some(names) = names.get(code) else {
        return vec![Frame::unnamed(module, offset)];
    };
    let frame = |name: &String| Frame {
        name: name.clone(),
        module: module.into(),
        kind,
    };
    names.iter().map(frame).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, id};

    use super::*;

    #[test]
    fn a_child_has_its_parents_code_until_it_executes_a_program() {
        let mut memories = Memories::default();
        let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
        memories.note(id(), 0);
        memories.note(child.id(), 1);
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        let mut finder = Finder {
            memories: &memories,
            perf_maps: HashMap::new(),
        };
        let here = a_child_has_its_parents_code_until_it_executes_a_program as fn() as usize;
        let stack = Stack {
            frames: vec![here as u64],
            whole: true,
        };
        let place = Place {
            user: 1,
            kernel: 0,
            process: child.id(),
            map_of: id(),
            role: 0,
            why: Why::Running,
        };
        let found = finder.user(&place, &stack);
        let program = std::env::current_exe().expect("its path");
        let [Code::File(path, ..)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(*path, program);
    }
}
