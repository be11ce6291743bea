//! A look at a worker from outside, before its binary is called: is it confined as promised?

use std::fs;

/// The evidence of a worker's confinement in /proc.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// It can gain no privileges, and its system calls are filtered.
    pub filtered: bool,
    /// It has no capability, nor can get one.
    pub no_capabilities: bool,
    /// It runs as a user other than the host's.
    pub other_user: bool,
    /// Namespaces that must not be the host's, by their names in /proc.
    pub namespaces: &'static [&'static str],
}

impl Evidence {
    /// Compare it with the process `pid`.
    ///
    /// # Errors
    ///
    /// The missing part, in words.
    pub fn check(&self, pid: i32) -> Result<(), String> {
        let read = |what: &str| {
            let file = format!("/proc/{pid}/{what}");
            fs::read_to_string(&file)
                .map_err(|error| format!("cannot verify the isolation: {file}: {error}"))
        };
        let status = read("status")?;
        let field = |name: &str| {
            let value = status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value
                .unwrap_or_default()
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let promise = |holds: bool, what: &str| {
            if holds {
                Ok(())
            } else {
                Err(format!("the worker is not isolated as promised: {what}"))
            }
        };
        if self.filtered {
            promise(field("NoNewPrivs") == "1", "it could gain privileges")?;
            promise(field("Seccomp") == "2", "its system calls are not filtered")?;
        }
        if self.no_capabilities {
            for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
                promise(
                    field(set).bytes().all(|digit| digit == b'0'),
                    &format!("it has capabilities ({set})"),
                )?;
            }
        }
        if self.other_user {
            promise(
                field("Uid") != "0" && field("Gid") != "0",
                "it runs as root",
            )?;
        }
        for name in self.namespaces {
            let of = |owner: &str| {
                let file = format!("/proc/{owner}/ns/{name}");
                fs::read_link(&file).map_err(|error| {
                    format!("cannot verify the isolation: {file}: {error}; it takes CAP_SYS_PTRACE")
                })
            };
            let differs = of("self")? != of(&pid.to_string())?;
            promise(differs, &format!("it shares the host's namespace {name}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_confined_is_refused() {
        let own = std::process::id() as i32;
        assert_eq!(Evidence::default().check(own), Ok(()));
        let shared = Evidence {
            namespaces: &["mnt"],
            ..Evidence::default()
        };
        assert!(shared.check(own).unwrap_err().contains("namespace mnt"));
        let filtered = Evidence {
            filtered: true,
            ..Evidence::default()
        };
        assert!(filtered.check(own).is_err());
        assert!(Evidence::default().check(i32::MAX).is_err());
    }
}
