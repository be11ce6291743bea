//! The arguments about the requests and their correct answers.

use std::path::PathBuf;

use base64::Engine as _;
use clap::Args;

use super::values::{header, user};
use crate::spec::{Body, Expect, KeySpec, Order, SequenceSpec, SpecError, default};
use crate::target::Target;

/// The arguments about the requests.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Requests")]
pub struct Request {
    /// Several requests, one a line of FILE: a URL or path, a method and a URL, or a JSON object
    /// with method, headers, body, weight (docs/FORMAT.md, `mix`)
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,

    /// Send the requests of --requests one after the other instead of by their weights
    #[arg(long, requires = "requests")]
    pub in_order: bool,

    /// Let each connection, or with h2 and h3 each of its streams (-m), be a user that sends the
    /// requests of --requests in their order, over and over, and takes values from answers:
    /// `${name}` in a path, header or body is the value that `take` of an earlier request names
    /// (docs/FORMAT.md, `sequence`)
    #[arg(long, requires = "requests", conflicts_with = "in_order")]
    pub sequence: bool,

    /// Keep the cookies of each user of --sequence, and send them
    #[arg(long, requires = "sequence")]
    pub cookies: bool,

    /// Objects that {key} in a URL's path stands for, by numbers from 0
    #[arg(long, value_name = "N")]
    pub keys: Option<u64>,

    /// Popularity of the keys by Zipf's law with this exponent; without it, all are equal
    #[arg(long, value_name = "ALPHA", requires = "keys")]
    pub zipf: Option<f64>,

    /// Method of the request
    #[arg(short = 'X', long, default_value_t = default::method())]
    pub method: String,

    /// A header of the request, `Name: value`; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header)]
    pub headers: Vec<(String, String)>,

    /// Name and password for the server (basic authentication)
    #[arg(short, long, value_name = "NAME:PASSWORD", value_parser = user, conflicts_with = "bearer")]
    pub user: Option<String>,

    /// Token for the server (bearer authentication)
    #[arg(long, value_name = "TOKEN")]
    pub bearer: Option<String>,

    /// Body of the request
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["body_file", "size"])]
    pub body: Option<String>,

    /// Body of the request, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "size")]
    pub body_file: Option<PathBuf>,

    /// Bytes of the message to echo, or of an arbitrary body
    #[arg(short, long, value_name = "BYTES")]
    pub size: Option<usize>,

    /// Statuses that are correct, separated by commas [default: 200, or those of the replayed log]
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    pub expect_status: Option<Vec<u16>>,

    /// Header by which an answer says whether a cache had it, as X-Cache: hits have `hit` in its
    /// value
    #[arg(long, value_name = "NAME")]
    pub cache_header: Option<String>,

    /// Length of a correct body, in bytes
    #[arg(long, value_name = "BYTES")]
    pub expect_length: Option<u64>,

    /// SHA-256 of a correct body, in hexadecimal digits
    #[arg(long, value_name = "DIGITS")]
    pub expect_sha256: Option<String>,
}

impl Request {
    /// The requests' headers, with the one of an authentication.
    ///
    /// # Errors
    /// A [`SpecError`] for one beside a header of its name.
    pub fn all_headers(&self) -> Result<Vec<(String, String)>, SpecError> {
        let basic = self.user.as_ref().map(|user| {
            let digits = base64::engine::general_purpose::STANDARD.encode(user);
            format!("Basic {digits}")
        });
        let bearer = self.bearer.as_ref().map(|token| format!("Bearer {token}"));
        let credentials = basic
            .or(bearer)
            .map(|value| ("Authorization".into(), value));
        let mut names = self.headers.iter().map(|(name, _)| name);
        if credentials.is_some() && names.any(|name| name.eq_ignore_ascii_case("authorization")) {
            let found = "Authorization beside --user or --bearer";
            return Err(SpecError::new("headers", found, "leave out one of them"));
        }
        Ok(self.headers.iter().cloned().chain(credentials).collect())
    }

    /// Refuse URLs of which a part would not be sent as it is written: the path of one that only
    /// says where the requests of a file go.
    ///
    /// # Errors
    /// A [`SpecError`] that names the URL.
    pub fn check(&self, urls: &[String]) -> Result<(), SpecError> {
        for url in urls.iter().filter(|_| self.requests.is_some()) {
            if Target::parse(url)?.path != "/" {
                let found = format!("{url:?} has a path, but the requests have their own");
                return Err(SpecError::new(
                    "mix_file",
                    found,
                    "write the URL without it",
                ));
            }
        }
        Ok(())
    }

    /// The requests' body.
    pub fn body(&self) -> Option<Body> {
        let text = self.body.clone().map(Body::Text);
        let file = self.body_file.clone().map(|file| Body::File { file });
        let made = self.size.map(|size| Body::Size { size });
        text.or(file).or(made)
    }

    /// The sequence of the requests, if they are one.
    pub fn sequence(&self) -> Option<SequenceSpec> {
        let cookies = self.cookies;
        self.sequence.then_some(SequenceSpec { cookies })
    }

    /// The requested objects.
    pub fn keys(&self) -> Option<KeySpec> {
        self.keys.map(|count| KeySpec {
            count,
            alpha: self.zipf,
            order: Order::Random,
        })
    }

    /// The properties of a correct answer.
    pub fn expect(&self) -> Expect {
        let Expect { status, .. } = Expect::default();
        Expect {
            status: self.expect_status.clone().unwrap_or(status),
            body_length: self.expect_length,
            body_sha256: self.expect_sha256.clone(),
        }
    }
}
