use super::*;

use std::fs;

use serde_json::Value;

fn log(name: &str, rate: u32) -> (Audit, PathBuf) {
    let path = std::env::temp_dir().join(format!("tare-audit-{name}-{}.log", std::process::id()));
    let options = Options {
        audit: Some(path.clone()),
        audit_mb: 1,
        audit_rate: rate,
    };
    let file = options.file().unwrap();
    (options.begin(file).unwrap(), path)
}

fn read(path: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    fs::remove_file(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn records_come_in_their_order_and_the_last_says_that_none_was_dropped() {
    let (audit, path) = log("order", 1000);
    for number in 0..100 {
        audit.note(|| Event::of("call", json!({"n": number})));
    }
    audit.end();
    let records = read(&path);
    assert_eq!(records.len(), 101);
    for (number, record) in records[..100].iter().enumerate() {
        assert_eq!(
            (&record["n"], &record["seq"]),
            (&json!(number), &json!(number + 1))
        );
    }
    let last = &records[100];
    assert_eq!(
        (&last["event"], &last["dropped"]),
        (&json!("end"), &json!(0))
    );
}

#[test]
fn what_is_beyond_the_rate_is_dropped_and_counted_and_calls_do_not_take_the_rest_of_it() {
    let (audit, path) = log("rate", 5);
    // How many go through depends on how long this takes: none is lost uncounted.
    for _ in 0..100_000 {
        audit.note(|| Event::of("call", json!({})));
    }
    audit.note(|| Event::of("kill", json!({})));
    audit.end();
    let records = read(&path);
    let count = |event: &str| {
        records
            .iter()
            .filter(|record| record["event"] == event)
            .count() as u64
    };
    assert_eq!(count("kill"), 1);
    let last = records.last().unwrap();
    assert_eq!(last["event"], "end");
    assert_eq!(count("call") + last["dropped"].as_u64().unwrap(), 100_000);
    let numbered = records.len() as u64 + last["dropped"].as_u64().unwrap();
    assert_eq!(last["seq"], numbered);
}

#[test]
fn no_flood_hides_an_event_of_another_kind() {
    let (audit, path) = log("flood", 5);
    for _ in 0..1000 {
        audit.note(|| Event::of("cancel", json!({"ok": false})));
        audit.note(|| Event::of("load", json!({"ok": false})));
    }
    for event in ["kill", "denial"] {
        audit.note(|| Event::of(event, json!({})));
    }
    audit.note(|| Event::of("load", json!({"ok": true})));
    audit.end();
    let records = read(&path);
    let loaded = |each: &&Value| each["event"] == "load" && each["ok"] == true;
    assert_eq!(records.iter().filter(loaded).count(), 1);
    for event in ["kill", "denial"] {
        assert!(records.iter().any(|each| each["event"] == event), "{event}");
    }
}

#[test]
fn no_log_asked_for_makes_no_record() {
    let options = Options {
        audit: None,
        audit_mb: 1,
        audit_rate: 1,
    };
    let audit = options.begin(options.file().unwrap()).unwrap();
    audit.note(|| panic!("a record that nobody wants"));
    audit.end();
}
