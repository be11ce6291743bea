//! A process to look at, and the profiler that looks at it.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// Return true if this process may load BPF programs; say so if it may not.
pub fn permitted() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("not tested: BPF programs need root");
    }
    root
}

/// Look at a victim while it does what it is told. None, with a word of it, where BPF programs are not allowed.
pub fn profiled(victim: &mut Victim, commands: &[&str]) -> Option<Profile> {
    if !permitted() {
        return None;
    }
    let profiler = Profiler::of(victim);
    for command in commands {
        victim.does(command);
    }
    Some(profiler.end())
}

/// A running process that does what it is told.
pub struct Victim {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub program: PathBuf,
}

impl Victim {
    pub fn start() -> Self {
        Self::built(&[])
    }

    /// Compile and start it, with further options of the compiler.
    pub fn built(options: &[&str]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("victim-{}-{number}", std::process::id());
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O1", "-fno-omit-frame-pointer", "-pthread", "-o"])
            .arg(&program);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/victim/victim.c");
        let built = compiler.args(options).arg(source).status();
        assert!(built.expect("cc starts").success());
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("piped")),
            child,
            program,
        }
    }

    pub fn number(&self) -> u32 {
        self.child.id()
    }

    /// Give a command and wait until it is done.
    pub fn does(&mut self, command: &str) {
        let input = self.input.as_mut().expect("it lives");
        input.write_all(command.as_bytes()).expect("it listens");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        assert_eq!(answer, "done\n", "{command}");
    }

    /// End it, and wait until it has ended.
    pub fn dies(&mut self) {
        self.input = None;
        self.child.wait().expect("it ends");
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.dies();
        let _ = std::fs::remove_file(&self.program);
    }
}

/// The program with these arguments.
pub fn program(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare-profile"));
    command.args(arguments);
    command
}

/// A running profiler.
pub struct Profiler {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Profiler {
    /// Start it, and wait until it counts.
    pub fn begin(arguments: &[String]) -> Self {
        let mut child = program(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut profiler = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("piped")),
            child,
        };
        assert_eq!(profiler.event()["event"], "ready");
        profiler.say("begin\n");
        assert_eq!(profiler.event()["event"], "begun");
        profiler
    }

    /// Look at one victim under the role `sut`.
    pub fn of(victim: &Victim) -> Self {
        Self::begin(&role("sut", victim))
    }

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        input.write_all(line.as_bytes()).expect("it listens");
    }

    fn event(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Stop it by a line, and return the profile.
    pub fn end(mut self) -> Profile {
        self.say("end\n");
        self.profile()
    }

    /// Stop it by the end of its input, and return the profile.
    pub fn close(mut self) -> Profile {
        self.input = None;
        self.profile()
    }

    fn profile(mut self) -> Profile {
        let event = self.event();
        assert_eq!(event["event"], "profile");
        assert!(self.child.wait().expect("it ends").success());
        assert_eq!(event["lost"], 0);
        Profile(event)
    }
}

/// The option that gives a role one victim.
pub fn role(name: &str, victim: &Victim) -> Vec<String> {
    vec!["--role".into(), format!("{name}={}", victim.number())]
}

/// A finished profile.
pub struct Profile(pub Value);

impl Profile {
    /// A count of a role; 0 if it is not there.
    pub fn count(&self, role: &str, name: &str) -> u64 {
        self.0["roles"][role]["counts"][name].as_u64().unwrap_or(0)
    }

    /// The stacks of a role's samples or waits, as frames, with the rest of the entry.
    pub fn stacks(&self, role: &str, kind: &str) -> Vec<(Vec<&Value>, &Value)> {
        let frames = &self.0["frames"];
        let entries = self.0["roles"][role][kind].as_array().expect("a list");
        let stack = |entry: &Value| {
            let indices = entry["stack"].as_array().expect("a stack").clone();
            let frame = |index: Value| &frames[index.as_u64().expect("an index") as usize];
            indices.into_iter().map(frame).collect()
        };
        entries.iter().map(|entry| (stack(entry), entry)).collect()
    }

    /// The samples of a role whose stack has a frame of which `holds` is true.
    pub fn samples(&self, role: &str, holds: impl Fn(&Value) -> bool) -> u64 {
        self.stacks(role, "samples")
            .iter()
            .filter(|(stack, _)| stack.iter().any(|frame| holds(frame)))
            .map(|(_, entry)| entry["count"].as_u64().expect("a count"))
            .sum()
    }

    /// The samples of a role below a named function.
    pub fn samples_in(&self, role: &str, function: &str) -> u64 {
        self.samples(role, |frame| frame["name"] == function)
    }
}
