//! PREVAIL, a verifier for eBPF programs on Windows and Linux, by its command.

use std::process::{Command, Stdio};

/// The command, unless the environment says another one.
fn command() -> Command {
    let named = std::env::var("FILTER_EBPF_PREVAIL");
    Command::new(named.unwrap_or_else(|_| "prevail".to_owned()))
}

/// Say whether it is installed, and why not.
pub fn allowed() -> Result<(), String> {
    let asked = command().arg("--version").stdout(Stdio::null()).status();
    asked
        .map(|_| ())
        .map_err(|error| format!("no prevail: {error}"))
}

/// Say whether it accepts the program in a section, and why not.
pub fn accepts(object: &[u8], section: &str) -> Result<(), String> {
    // It knows programs for packets by the name of their section, of which this has the length.
    let (ours, theirs) = (b"filter/", b"xdp////");
    let mut named = object.to_vec();
    let places: Vec<usize> = (0..named.len().saturating_sub(ours.len()))
        .filter(|&at| named[at..].starts_with(ours))
        .collect();
    for at in places {
        named[at..at + ours.len()].copy_from_slice(theirs);
    }
    let path = std::env::temp_dir().join(format!("ebpf-prevail-{}.o", std::process::id()));
    std::fs::write(&path, named).map_err(|error| error.to_string())?;
    let section = section.replace("filter/", "xdp////");
    let output = command().arg("-f").arg(&path).arg(section).output();
    std::fs::remove_file(&path).map_err(|error| error.to_string())?;
    let text = output.map_err(|error| error.to_string())?.stdout;
    let text = String::from_utf8_lossy(&text).replace('\n', " ");
    if text.starts_with("PASS") {
        return Ok(());
    }
    Err(text)
}
