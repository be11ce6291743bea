//! The options that the fields of a spec have on the command line.

use super::Cli;
use crate::error::Error;

/// Fields, and the option of each; the parts of a field have its option unless they are listed.
const OPTIONS: &[(&str, &str)] = &[
    ("cache_header", "--cache-header"),
    ("congestion", "--congestion"),
    ("connect_timeout_s", "--connect-timeout"),
    ("connections", "--connections"),
    ("cpus", "--cpus"),
    ("depth", "--depth"),
    ("duration_s", "--duration"),
    ("expect.body_length", "--expect-length"),
    ("expect.body_sha256", "--expect-sha256"),
    ("expect.status", "--expect-status"),
    ("keys", "--keys"),
    ("keys.alpha", "--zipf"),
    ("loop.limit", "--qps"),
    ("loop.rate", "--rate"),
    ("method", "--method"),
    ("mix", "--requests"),
    ("mix_file", "--requests"),
    ("mix_order", "--in-order"),
    ("profile", "--profile"),
    ("protocol", "--protocol"),
    ("proxy_protocol", "--proxy-protocol"),
    ("ramp_per_s", "--ramp"),
    ("replay", "--replay"),
    ("replay.speed", "--speed"),
    ("requests", "--rounds"),
    ("requests_per_connection", "--requests-per-connection"),
    ("sequence", "--sequence"),
    ("show", "--show"),
    ("sources", "--sources"),
    ("steps", "--steps"),
    ("targets", "URLS"),
    ("targets.weight", "--weights"),
    ("think", "--think"),
    ("threads", "--threads"),
    ("timeout_s", "--timeout"),
    ("times_file", "--times"),
    ("tls.certificate", "--cert"),
    ("tls.cipher", "--cipher"),
    ("tls.group", "--group"),
    ("tls.key", "--key"),
    ("tls.roots", "--roots"),
    ("tls.server_name", "--server-name"),
    ("tls.version", "--tls-version"),
    ("ttfb_timeout_s", "--ttfb-timeout"),
    ("warmup_s", "--warmup"),
    ("weights", "--weights"),
];

/// The names of fields for one command line.
#[derive(Clone, Debug)]
pub struct Names {
    /// Fields with several options, and the one of them that is given.
    given: Vec<(&'static str, &'static str)>,
}

impl Names {
    /// The names for these arguments.
    pub fn of(cli: &Cli) -> Self {
        let Cli { request, tls, .. } = cli;
        let options = [
            ("body", "--body", request.body.is_some()),
            ("body", "--body-file", request.body_file.is_some()),
            ("body", "--size", request.size.is_some()),
            (
                "connect_to",
                "--connect-to",
                !cli.network.connect_to.is_empty(),
            ),
            ("connect_to", "--resolve", !cli.network.resolve.is_empty()),
            ("headers", "--header", !request.headers.is_empty()),
            ("headers", "--user", request.user.is_some()),
            ("headers", "--bearer", request.bearer.is_some()),
            ("ip_version", "--ipv4", cli.network.ipv4),
            ("ip_version", "--ipv6", cli.network.ipv6),
            ("tls", "--tls-version", tls.tls_version.is_some()),
            ("tls", "--cipher", tls.cipher.is_some()),
            ("tls", "--group", tls.group.is_some()),
            ("tls", "--resume", tls.resume),
            ("tls", "--server-name", tls.server_name.is_some()),
            ("tls", "--roots", tls.roots.is_some()),
            ("tls", "--cert", tls.cert.is_some()),
            ("tls", "--insecure", tls.insecure),
        ];
        let given = options.into_iter().filter(|(.., given)| *given);
        Names {
            given: given.map(|(field, option, _)| (field, option)).collect(),
        }
    }

    /// The same error, with the option in the place of the spec's field.
    pub fn explain(&self, error: Error) -> Error {
        match error {
            Error::Usage(error) => Error::Usage(error.renamed(|field| self.option(field))),
            other => other,
        }
    }

    fn option(&self, field: &str) -> Option<&'static str> {
        let all = || OPTIONS.iter().chain(&self.given);
        let named = |name: &str| all().find(|(other, _)| *other == name);
        let whole = field.split_once('.').map_or(field, |(whole, _)| whole);
        let found = named(field).or_else(|| named(whole));
        found.map(|(_, option)| *option)
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::spec::SpecError;

    fn said(arguments: &str, field: &str) -> String {
        let cli = Cli::try_parse_from(arguments.split(' ')).expect("valid arguments");
        let error = Error::Usage(SpecError::new(field, "found", "remedy"));
        match Names::of(&cli).explain(error) {
            Error::Usage(error) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_option_exists() {
        let command = Cli::command();
        for (field, option) in OPTIONS {
            let long = option.strip_prefix("--");
            let mut all = command.get_arguments();
            let known = long.is_none() || all.any(|argument| argument.get_long() == long);
            assert!(known, "{option} of {field}");
        }
    }

    #[test]
    fn a_field_has_the_option_that_is_given() {
        for (arguments, field, option) in [
            ("load http://a/", "ttfb_timeout_s", "--ttfb-timeout"),
            ("load http://a/", "keys.count", "--keys"),
            ("load http://a/", "keys.alpha", "--zipf"),
            ("load http://a/ -H A:b -u a:b", "headers", "--header"),
            ("load http://a/ -u a:b", "headers", "--user"),
            ("load http://a/ -s 5", "body.size", "--size"),
            ("load http://a/ -6", "ip_version", "--ipv6"),
            ("load http://a/ --cipher x", "tls", "--cipher"),
            ("load http://a/", "tls.version", "--tls-version"),
            ("load http://a/", "url", "url"),
        ] {
            assert_eq!(said(arguments, field), format!("{option}: found; remedy"));
        }
    }
}
