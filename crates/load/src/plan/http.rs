//! The HTTP requests that a spec asks for, whatever the version.

use std::collections::BTreeMap;

use http::Method;

use super::expectation;
use super::targets::Targets;
use crate::h1::{Exchange, request};
use crate::h2;
use crate::oracle::Expectation;
use crate::spec::{Spec, SpecError};
use crate::target::{Scheme, Target};

/// What is asked of one target, and what its answers must be.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// Where it goes.
    pub target: Target,
    /// The method.
    pub method: Method,
    /// Headers as the spec has them, checked.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// What a correct answer looks like.
    pub expect: Expectation,
}

/// One request for each target.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used.
pub fn requests(spec: &Spec, targets: &Targets) -> Result<Vec<HttpRequest>, SpecError> {
    if targets.scheme() == Scheme::Tcp {
        let found = format!("{} is not for {}", Scheme::Tcp.name(), spec.protocol);
        return Err(SpecError::new("url", found, "write http:// or https://"));
    }
    let method = method(spec)?;
    let body = super::body(spec)?;
    let request = |(target, expect): (&Target, &_)| {
        Ok(HttpRequest {
            target: target.clone(),
            method: method.clone(),
            headers: spec.headers.clone(),
            body: body.clone(),
            expect: expectation(expect)?,
        })
    };
    targets.iter().map(request).collect()
}

/// The method that all requests have.
///
/// # Errors
/// A [`SpecError`] when it is none.
pub fn method(spec: &Spec) -> Result<Method, SpecError> {
    spec.method.parse().map_err(|_| {
        let found = format!("{:?} is no HTTP method", spec.method);
        SpecError::new("method", found, "write it as GET")
    })
}

/// The same as HTTP/1.1 writes them.
///
/// # Errors
/// A [`SpecError`] that names the header which HTTP does not allow.
pub fn h1(requests: &[HttpRequest]) -> Result<Vec<Exchange>, SpecError> {
    let exchange = |request: &HttpRequest| {
        let HttpRequest {
            target,
            method,
            headers,
            body,
            expect,
        } = request;
        Ok(Exchange {
            request: request::compose(target, method, headers, body.as_deref())?,
            expect: expect.clone(),
        })
    };
    requests.iter().map(exchange).collect()
}

/// The same as HTTP/2 writes them.
///
/// # Errors
/// A [`SpecError`] that names the header which HTTP/2 does not allow.
pub fn h2(requests: &[HttpRequest]) -> Result<Vec<h2::Exchange>, SpecError> {
    let exchange = |request: &HttpRequest| {
        let HttpRequest {
            target,
            method,
            headers,
            body,
            expect,
        } = request;
        Ok(h2::Exchange {
            request: h2::request::compose(target, method, headers, body.as_deref())?,
            expect: expect.clone(),
        })
    };
    requests.iter().map(exchange).collect()
}
