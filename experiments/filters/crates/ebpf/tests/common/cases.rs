//! The ordinary programs, and what they decide.

/// A program's section, and its results for paths.
pub type Case<'a> = (&'a str, &'a [(&'a [u8], u64)]);

pub const NUMBERS: &[Case<'_>] = &[
    (
        "signed_index",
        &[(b"", 9), (b"abc", 6), (&[b'x'; 15], 6), (&[b'x'; 16], 99)],
    ),
    (
        "upper_first",
        &[(b"", 9), (b"abc", 6), (&[b'x'; 15], 6), (&[b'x'; 16], 99)],
    ),
    ("length", &[(b"", 0), (b"abcd", 0), (b"abcde", 1)]),
    ("sum", &[(b"", 0), (&[1, 2, 3], 6), (&[2; 100], 128)]),
    ("down", &[(b"", 66)]),
    ("from_path", &[(b"", 97), (b"a", 98), (b"0", 9), (b"9", 0)]),
    (
        "decimal",
        &[(b"", 0), (b"42/", 42), (b"1234567890", 123_456_789)],
    ),
    ("masked", &[(b"", 9), (b"ab", 7), (&[0; 100], 1)]),
    ("looked_up", &[(b"", 1), (&[0; 15], 1), (&[0; 16], 99)]),
    ("constant_key", &[(b"", 2)]),
    ("checked_anyway", &[(b"", 3)]),
    ("divided", &[(b"", 100_001), (b"ab", 33_000)]),
    ("signed_minimum", &[(b"", 9), (b"abcde", 8), (&[0; 100], 6)]),
    ("clamped", &[(b"", 9), (b"abc", 6), (&[0; 100], 6)]),
    (
        "switched",
        &[(b"", 10), (b"ab", 20), (&[0; 7], 30), (&[0; 8], 40)],
    ),
    ("counted", &[(b"", 11)]),
    ("structure", &[(b"ab", 7), (b"a", 99)]),
    ("nested", &[(b"", 656)]),
    ("average", &[(b"", 0), (&[1, 3], 2), (&[9; 200], 9)]),
    ("bits", &[(b"", 0), (b"a", 19)]),
    ("global", &[(b"", 0)]),
    ("popcount", &[(b"", 0), (b"a", 38)]),
];

pub const TEXTS: &[Case<'_>] = &[
    (
        "substring",
        &[(b"", 0), (b"/a/../b", 1), (b"/a/..", 0), (b"../", 1)],
    ),
    ("double_slash", &[(b"/a/b", 0), (b"/a//b", 1), (b"//", 1)]),
    (
        "suffix",
        &[(b"/index.php", 1), (b"/index.html", 0), (b".ph", 0)],
    ),
    (
        "by_name",
        &[
            (b"/a/long/prefix/with/many/bytes/in/it", 1),
            (b"/a/long/prefix/with/many/bytes/in/at", 0),
        ],
    ),
    ("by_helper", &[(b"/static/x", 1), (b"/statix/x", 0)]),
    ("event", &[(b"", 0), (b"/a", 2), (&[0; 65], 32)]),
    ("hashed", &[(b"", 0x9dc5), (b"a", 0x292c)]),
    ("called", &[(b"/a.b/c", 21)]),
    ("first", &[(b"/", 0), (b"/A", 65)]),
    ("before_query", &[(b"/a?b", 2), (b"/abc", 4)]),
    ("without_case", &[(b"/AdMiN/x", 1), (b"/admix", 0)]),
    ("big_endian", &[(&[1, 2, 3, 4], 0x010203)]),
    ("forbidden", &[(b"/a", 0), (b"/a b", 1), (&[b'x'; 2000], 2)]),
    ("depth", &[(b"", 0), (b"/a/b/", 3)]),
    ("extension", &[(b"/a.js", 3), (b"/a", 0), (b"/a.b.html", 5)]),
    (
        "rules",
        &[(b"/api/x", 1), (b"/static", 2), (b"/else", 3), (b"x", 0)],
    ),
    (
        "escaped",
        &[(b"/a%2f", 0x2f), (b"/%zz", 257), (b"/abc", 256)],
    ),
    ("reversed", &[(b"ab", 0x6261), (b"", 0)]),
];

pub const STATE: &[Case<'_>] = &[
    ("per_cpu_count", &[(b"", 100), (b"abc", 103)]),
    ("per_cpu_index", &[(b"", 1), (b"abc", 1), (b"abcd", 0)]),
    ("per_cpu_table", &[(b"", 3), (b"ab", 3)]),
    ("latest", &[(b"", 8)]),
    ("favourite", &[(b"", 1000)]),
    ("limited", &[(b"", 1)]),
    ("latest_per_cpu", &[(b"", 0), (b"abc", 24)]),
    ("reserved", &[(b"", 1), (b"/a/path", 1)]),
    ("taken_back", &[(b"", 1), (b"/abc", 2)]),
    ("sometimes", &[(b"", 0), (b"abc", 2), (&[0; 7], 3)]),
    ("handed", &[(b"", 0), (b"/abc", 4)]),
    // Heads have 8 bytes, and events 32.
    ("burst", &[(b"", 4096 / 40)]),
    ("pair", &[(b"", 2)]),
    ("room", &[(b"", 4096 + 16)]),
    // What time it is follows from nothing.
    ("bucket", &[]),
    ("told", &[]),
];

pub const PARTS: &[Case<'_>] = &[
    ("swapped", &[(b"", 2), (b"a", 3)]),
    ("client", &[(b"", 0), (b"ab", 2)]),
    ("both_tables", &[(b"", 1 + 1 + 2 + 100)]),
    ("dots", &[(b"", 0), (b"/a.b.c", 2), (&[b'.'; 300], 300)]),
    ("stopped", &[(b"", 0), (b"ab", 2), (b"abcdef", 3)]),
    ("square", &[(b"", 45 * 45)]),
    ("counted_up", &[(b"", 0), (b"abcd", 3), (&[0; 9], 6)]),
    (
        "go_on",
        &[(b"", 1), (b"abc", 10), (b"abcd", 100), (&[0; 9], 3)],
    ),
    ("short_path", &[(b"", 1), (b"a", 10)]),
    ("long_path", &[(b"", 0), (b"abcd", 100)]),
    ("again", &[(b"", 34)]),
    ("in_function", &[(b"", 1 + 2 * 50), (b"a", 10 + 2 * 50)]),
];

pub const RULES: &[Case<'_>] = &[
    (
        "way_up",
        &[
            (b"/a/../b", 0),
            (b"/..", 1),
            (b"/a/../../b", 1),
            (b"/a..", 0),
            (b"/...", 0),
        ],
    ),
    (
        "parameters",
        &[(b"/a", 0), (b"/a?b", 1), (b"/a?b=1&c=2", 2)],
    ),
    (
        "decoded",
        &[
            (b"/abc", 1),
            (b"%2fA", 0),
            (b"%2F%61", 1),
            (b"/%6", 255),
            (b"/%6x", 254),
        ],
    ),
    ("hexadecimal", &[(b"", 0), (b"ff", 255), (b"7fFFx", 0x7fff)]),
    (
        "unicode",
        &[
            (b"abc", 1),
            ("ä€".as_bytes(), 1),
            (b"\xc3", 0),
            (b"\x80", 0),
            (&[b'x'; 300], 2),
        ],
    ),
    (
        "starred",
        &[
            (b"/api/x/admin", 1),
            (b"/api/admin", 0),
            (b"/apx/x/admin", 0),
            (b"/api/x/admix", 0),
        ],
    ),
    (
        "second_part",
        &[(b"", 0), (b"/", 100), (b"/a/", 101), (b"/a/bcd/e", 3)],
    ),
    (
        "words",
        &[
            (b"", 0),
            (b"/api/v1/", 1),
            (b"/api/v2/", 2),
            (b"/static/", 3),
        ],
    ),
    ("largest", &[(b"", 0), (&[1, 2, 3, 4, 5, 6, 0], 20)]),
    (
        "port",
        &[
            (b"host:80/", 80),
            (b"host/", 0xffff_ffff),
            (b"host:99999", 0xffff_fffe),
        ],
    ),
];

pub const TABLES: &[Case<'_>] = &[
    ("bloom", &[(b"", 0), (b"/a", 0)]),
    ("denied", &[(b"", 7), (b"/a/long/path/of/many", 7)]),
    (
        "sorted",
        &[(b"", 0), (b"ab", 1), (&[0; 9], 0), (&[0; 53], 1)],
    ),
    ("sampled", &[(b"", 1)]),
    ("settings", &[(b"", 7), (&[0; 41], 0)]),
    ("typed", &[(b"/a", 0), (b"/a.js", 3), (b"/a.css", 1)]),
    ("weighed", &[(b"", 3), (b"a", 2), (b"/x", 1)]),
];

/// The sources, and their programs.
pub const ALL: [(&str, &[Case<'_>]); 6] = [
    ("numbers.bpf.c", NUMBERS),
    ("texts.bpf.c", TEXTS),
    ("state.bpf.c", STATE),
    ("parts.bpf.c", PARTS),
    ("rules.bpf.c", RULES),
    ("tables.bpf.c", TABLES),
];
