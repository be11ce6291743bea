//! Files that two options name.

use crate::common::program::{File, load, program, text};
use crate::common::{OK, Server, Then};

/// Nothing listens there: what is refused sends nothing.
const URL: &str = "http://127.0.0.1:1/";

fn assert_refused(arguments: &[&str], words: &str) {
    let output = program(&[&[URL, "-d", "100ms"], arguments].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(words), "{arguments:?}: {said}");
}

#[test]
fn one_file_is_not_written_by_two_options() {
    let file = File::new("twice");
    let options = ["--series", "--csv", "--hdr-log", "--times"];
    for (index, first) in options.iter().enumerate() {
        for second in &options[index + 1..] {
            let both = [first, file.name(), second, file.name()];
            let words = format!(
                "{second}: {first} writes {}, too; name another",
                file.name()
            );
            assert_refused(&both, &words);
            assert!(!file.0.exists(), "{both:?}");
        }
    }
    let (folder, name) = file.name().rsplit_once('/').expect("a folder");
    let other = format!(
        "{folder}/./../{}/{name}",
        folder.rsplit('/').next().expect("a name")
    );
    assert_refused(&["--csv", file.name(), "--series", &other], "writes ");
    std::fs::write(&file.0, "kept").expect("a file");
    let link = File::new("link");
    std::os::unix::fs::symlink(&file.0, &link.0).expect("a link");
    assert_refused(&["--csv", file.name(), "--series", link.name()], "writes ");
    assert_eq!(file.text(), "kept");
}

#[test]
fn a_file_that_is_read_is_not_written() {
    let file = File::holding("read", "/\n");
    for (option, more) in [
        ("--requests", &[][..]),
        ("--replay", &[]),
        ("--body-file", &[]),
        ("--roots", &[]),
        ("--cert", &[]),
        ("--key", &["--cert", "/nonexistent"]),
    ] {
        let arguments = [&[option, file.name(), "--csv", file.name()], more].concat();
        assert_refused(
            &arguments,
            &format!("--csv: {option} reads {}", file.name()),
        );
    }
    let profile = format!("file:{}", file.name());
    let changes = ["--rate", "5", "--profile", &profile, "--times", file.name()];
    assert_refused(&changes, "--times: --profile reads ");
    assert_eq!(file.text(), "/\n");
}

#[test]
fn a_device_takes_what_several_options_write() {
    let server = Server::always(OK, || Then::Keep);
    let null = ["--csv", "/dev/null", "--series", "/dev/null", "-d", "100ms"];
    let output = load(&server, &null);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn standard_output_has_the_result_alone() {
    for option in ["--series", "--csv", "--hdr-log", "--times"] {
        let words = format!(
            "{option}: \"-\" is no file, and the result goes to standard output; name a file"
        );
        assert_refused(&[option, "-"], &words);
    }
    assert!(!std::path::Path::new("-").exists());
}
