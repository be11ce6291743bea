//! Memory maps of processes, and the files in them, kept open so that they outlive both.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use rustix::param::clock_ticks_per_second;

/// A file that is mapped into a process.
#[derive(Debug)]
pub struct Module {
    /// Its name without folders.
    pub name: String,
    /// Its device and inode.
    pub identity: (String, u64),
    file: File,
    path: PathBuf,
}

impl Module {
    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Return a path that leads to the file: its own, by which debug files are found, unless another file is there.
    pub fn path(&self) -> PathBuf {
        let same = |path: &Path| {
            let (there, here) = (fs::metadata(path).ok()?, self.file.metadata().ok()?);
            Some((there.dev(), there.ino()) == (here.dev(), here.ino()))
        };
        if same(&self.path) == Some(true) {
            return self.path.clone();
        }
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }
}

/// The content of an address range.
#[derive(Clone, Debug)]
pub enum Content {
    /// A part of a file.
    File(Rc<Module>),
    /// A file that cannot be opened, or memory with a name, such as `[vdso]`.
    Named(String),
    /// Memory without a name: a JIT's code.
    Anonymous,
}

/// A range of executable memory.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// The place in the file at which it begins.
    pub offset: u64,
    /// The code in it.
    pub content: Content,
}

/// Executable memory of a process, at the last look and before.
#[derive(Debug, Default)]
pub struct Memory {
    /// Newer ones first, so that they are found first.
    mappings: Vec<Mapping>,
    /// The process's number in its own PID namespace, by which perf maps are named.
    pub inner_number: Option<u32>,
    /// The time at which the process began.
    pub began: Option<SystemTime>,
    executions: u32,
}

impl Memory {
    /// The mappings, newer ones first.
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// The number of programs that the process had executed at the last look.
    pub fn executions(&self) -> u32 {
        self.executions
    }

    /// Return the mapping that holds an address.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let mut mappings = self.mappings.iter();
        mappings.find(|mapping| (mapping.start..mapping.end).contains(&address))
    }
}

/// Memory maps by process.
#[derive(Debug, Default)]
pub struct Memories {
    by_process: HashMap<u32, Memory>,
    modules: HashMap<(String, u64), Option<Rc<Module>>>,
}

impl Memories {
    /// Read a process's map if it is new or has executed a program since. Return true if it was read.
    pub fn note(&mut self, process: u32, executions: u32) -> bool {
        let known = self.by_process.get(&process);
        let new = known.is_none_or(|memory| memory.executions != executions);
        if new {
            self.look(process, executions);
        }
        new
    }

    /// Read the maps of all known processes that live: they may have loaded libraries since.
    pub fn look_again(&mut self) {
        let known = self.by_process.iter();
        let known: Vec<(u32, u32)> = known
            .map(|(&process, memory)| (process, memory.executions))
            .collect();
        for (process, executions) in known {
            self.look(process, executions);
        }
    }

    /// All processes that were looked at.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Memory)> {
        self.by_process
            .iter()
            .map(|(&process, memory)| (process, memory))
    }

    /// The memory of a process, if it lived long enough to be looked at.
    pub fn get(&self, process: u32) -> Option<&Memory> {
        self.by_process.get(&process)
    }

    fn look(&mut self, process: u32, executions: u32) {
        let Ok(text) = fs::read_to_string(format!("/proc/{process}/maps")) else {
            return;
        };
        let mut found: Vec<Mapping> = text
            .lines()
            .filter_map(Line::parse)
            .map(|line| self.mapping(process, &line))
            .collect();
        let memory = self.by_process.entry(process).or_default();
        found.append(&mut memory.mappings);
        let mut mappings: Vec<Mapping> = Vec::new();
        for mapping in found {
            let same = |other: &Mapping| (other.start, other.end) == (mapping.start, mapping.end);
            if !mappings.iter().any(same) {
                mappings.push(mapping);
            }
        }
        memory.mappings = mappings;
        memory.executions = executions;
        memory.inner_number = inner_number(process).or(memory.inner_number);
        memory.began = began(process).or(memory.began);
    }

    fn mapping(&mut self, process: u32, line: &Line<'_>) -> Mapping {
        Mapping {
            start: line.start,
            end: line.end,
            offset: line.offset,
            content: self.content(process, line),
        }
    }

    fn content(&mut self, process: u32, line: &Line<'_>) -> Content {
        if line.path.starts_with('[') && !line.path.starts_with("[anon:") {
            return Content::Named(line.path.into());
        }
        // A JIT's memory may be an unnamed or a forgotten file in memory.
        if line.inode == 0 || line.path.starts_with("/memfd:") || line.path.starts_with("/dev/zero")
        {
            return Content::Anonymous;
        }
        let path = line.path.strip_suffix(" (deleted)").unwrap_or(line.path);
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        let key = (line.device.to_owned(), line.inode);
        let module = self.modules.entry(key).or_insert_with(|| {
            let identity = (line.device.to_owned(), line.inode);
            let range = format!("/proc/{process}/map_files/{:x}-{:x}", line.start, line.end);
            let named = || File::open(format!("/proc/{process}/root{}", line.path)).ok();
            // Another file may have taken the place of the one that is mapped.
            let same = |file: &File| file.metadata().is_ok_and(|found| found.ino() == line.inode);
            let file = File::open(range).ok().or_else(|| named().filter(same))?;
            Some(Rc::new(Module {
                name: name.clone(),
                identity,
                file,
                path: path.into(),
            }))
        });
        module.clone().map_or(Content::Named(name), Content::File)
    }
}

/// A line of /proc/PID/maps (proc_pid_maps(5)).
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    start: u64,
    end: u64,
    offset: u64,
    device: &'a str,
    inode: u64,
    path: &'a str,
}

impl<'a> Line<'a> {
    /// Read a line about executable memory.
    fn parse(line: &'a str) -> Option<Self> {
        let mut rest = line;
        let mut next = || {
            let (word, more) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = more;
            word
        };
        let (range, rights, offset, device, inode) = (next(), next(), next(), next(), next());
        let (start, end) = range.split_once('-')?;
        let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
        rights.contains('x').then_some(Self {
            start: hexadecimal(start)?,
            end: hexadecimal(end)?,
            offset: hexadecimal(offset)?,
            device,
            inode: inode.parse().ok()?,
            path: rest.trim_start(),
        })
    }
}

fn began(process: u32) -> Option<SystemTime> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_ascii_whitespace().nth(19)?.parse().ok()?;
    let kernel = fs::read_to_string("/proc/stat").ok()?;
    let boot = kernel
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?;
    let seconds = boot.trim().parse::<u64>().ok()? + ticks / clock_ticks_per_second();
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

fn inner_number(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_executable_memory_are_read() {
        let line = "55a0-55b0 r-xp 00001000 fe:00 1234      /usr/bin/a b (deleted)";
        let found = Line::parse(line).expect("executable");
        assert_eq!(
            (found.start, found.end, found.offset),
            (0x55a0, 0x55b0, 0x1000)
        );
        assert_eq!(
            (found.device, found.inode, found.path),
            ("fe:00", 1234, "/usr/bin/a b (deleted)")
        );
        let anonymous = Line::parse("7f00-7f01 rwxp 00000000 00:00 0 ").expect("executable");
        assert_eq!((anonymous.inode, anonymous.path), (0, ""));
        for other in [
            "55a0-55b0 rw-p 0 fe:00 1 /a",
            "",
            "x-y r-xp 0 0 0",
            "1 r-xp 0 0 0",
        ] {
            assert_eq!(Line::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_is_not_taken_for_the_mapped_one_whose_place_it_has() {
        let program = std::env::current_exe().expect("its path");
        let inode = fs::metadata(&program).expect("it is there").ino();
        let content = |path: &str, inode| {
            // No memory is mapped there, so that its range leads to no file.
            let line = Line {
                start: 1,
                end: 2,
                offset: 0,
                device: "fe:00",
                inode,
                path,
            };
            Memories::default().content(std::process::id(), &line)
        };
        let path = program.display().to_string();
        let own = content(&path, inode);
        assert!(matches!(&own, Content::File(_)), "{own:?}");
        let replaced = content(&path, inode + 1);
        assert!(matches!(&replaced, Content::Named(_)), "{replaced:?}");
        let deleted = content(&format!("{path} (deleted)"), inode);
        assert!(matches!(&deleted, Content::Named(_)), "{deleted:?}");
    }

    #[test]
    fn this_process_is_found_in_its_own_memory() {
        let mut memories = Memories::default();
        let own = std::process::id();
        memories.note(own, 0);
        let here = this_process_is_found_in_its_own_memory as fn() as usize as u64;
        let mapping = memories
            .get(own)
            .and_then(|memory| memory.find(here))
            .expect("mapped");
        let Content::File(module) = &mapping.content else {
            panic!("{mapping:?}");
        };
        let program = std::env::current_exe().expect("its path");
        assert_eq!(module.path(), program);
        let began = memories.get(own).and_then(|memory| memory.began);
        let ago = began.expect("it runs").elapsed().expect("not to come");
        assert!(ago < Duration::from_secs(3600), "{ago:?}");
    }
}
