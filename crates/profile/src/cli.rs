//! The command line.

use std::fs;

use clap::Parser;

use crate::failure::Failure;
use crate::kernel_threads::kernel_threads;

/// The most roles that the BPF programs tell apart; ROLES in tables.bpf.h.
pub const MOST_ROLES: usize = 16;

/// Profile processes by role: JSON lines on standard output, "begin" and "end" on standard input.
#[derive(Debug, Parser)]
#[command(name = "tare-profile", version)]
pub struct Cli {
    /// A role's name and its processes. What they fork later belongs to the role too.
    #[arg(long = "role", value_name = "NAME=PID[,PID…]", required = true, value_parser = role)]
    pub roles: Vec<Role>,
    /// A role for all threads of the kernel.
    #[arg(long, value_name = "NAME")]
    pub kernel_threads: Option<String>,
    /// Samples per second on each CPU.
    #[arg(long, value_name = "HZ", default_value_t = 1999, value_parser = clap::value_parser!(u64).range(1..=50_000))]
    pub frequency: u64,
    /// Do not record where and how long tasks wait.
    #[arg(long)]
    pub no_waits: bool,
}

/// A role and the processes that it has at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name in the profile.
    pub name: String,
    /// The numbers of its processes.
    pub processes: Vec<u32>,
}

/// Read `NAME=PID[,PID…]`.
pub fn role(text: &str) -> Result<Role, String> {
    let (name, numbers) = text.split_once('=').ok_or("write NAME=PID")?;
    if name.is_empty() {
        return Err("the role has no name".into());
    }
    let processes = numbers
        .split(',')
        .map(|number| match number.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("{number:?} is no process number")),
        })
        .collect::<Result<_, _>>()?;
    Ok(Role {
        name: name.into(),
        processes,
    })
}

impl Cli {
    /// Return all roles. Roles and processes must be distinct, and each process that was given must exist.
    pub fn all_roles(&self) -> Result<Vec<Role>, Failure> {
        let mut roles = self.roles.clone();
        if let Some(name) = &self.kernel_threads {
            roles.push(Role {
                name: name.clone(),
                processes: kernel_threads()?,
            });
        }
        if roles.len() > MOST_ROLES {
            return Err(Failure::Usage(format!("more than {MOST_ROLES} roles")));
        }
        for (at, role) in roles.iter().enumerate() {
            if roles[..at].iter().any(|other| other.name == role.name) {
                return Err(Failure::Usage(format!(
                    "role {:?} is given twice",
                    role.name
                )));
            }
        }
        self.check()?;
        Ok(roles)
    }

    fn check(&self) -> Result<(), Failure> {
        let mut seen: Vec<(u32, &str)> = Vec::new();
        for role in &self.roles {
            for &process in &role.processes {
                if let Some((_, other)) = seen.iter().find(|(number, _)| *number == process) {
                    let both = format!(
                        "process {process} is given twice, in {other:?} and in {:?}",
                        role.name
                    );
                    return Err(Failure::Usage(both));
                }
                seen.push((process, &role.name));
                exists(process, &role.name)?;
            }
        }
        Ok(())
    }

    /// The nanoseconds that a sample stands for.
    pub fn period_ns(&self) -> u64 {
        1_000_000_000 / self.frequency
    }
}

/// Check that a process exists and is no thread.
fn exists(process: u32, role: &str) -> Result<(), Failure> {
    let gone = || Failure::Other(format!("role {role:?}: there is no process {process}"));
    let status = fs::read_to_string(format!("/proc/{process}/status")).map_err(|_| gone())?;
    let leader = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    match leader.and_then(|text| text.trim().parse::<u32>().ok()) {
        Some(leader) if leader == process => Ok(()),
        Some(leader) => Err(Failure::Other(format!(
            "role {role:?}: {process} is a thread of process {leader}; name the process"
        ))),
        None => Err(gone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(roles: &[&str]) -> Result<Cli, clap::Error> {
        let options = roles.iter().flat_map(|role| ["--role", role]);
        Cli::try_parse_from(["tare-profile"].into_iter().chain(options))
    }

    #[test]
    fn a_role_has_a_name_and_numbers() {
        let cli = parse(&["sut=12,13", "load=7"]).expect("valid");
        assert_eq!(cli.roles[0].processes, [12, 13]);
        assert_eq!(
            (cli.roles[1].name.as_str(), cli.period_ns()),
            ("load", 500_250)
        );
        for bad in ["sut", "=1", "sut=", "sut=1,", "sut=0", "sut=-1", "sut=x"] {
            assert!(parse(&[bad]).is_err(), "{bad}");
        }
        assert!(parse(&[]).is_err());
    }

    #[test]
    fn what_is_given_twice_is_named() {
        let own = std::process::id();
        let twice = parse(&[&format!("a={own}"), &format!("b={own}")]).expect("valid");
        let error = twice.all_roles().expect_err("twice");
        assert!(
            matches!(&error, Failure::Usage(text) if text.contains("\"a\" and in \"b\"")),
            "{error}"
        );
        let twice = parse(&[&format!("a={own}"), "a=1"]).expect("valid");
        assert!(matches!(twice.all_roles(), Err(Failure::Usage(_))));
    }

    #[test]
    fn a_process_that_does_not_exist_is_named() {
        let error = parse(&["a=4194305"])
            .expect("valid")
            .all_roles()
            .expect_err("no such process");
        assert_eq!(error.to_string(), "role \"a\": there is no process 4194305");
    }
}
