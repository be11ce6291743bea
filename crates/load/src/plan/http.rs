//! The HTTP requests that a spec describes, for any version of HTTP.

use http::Method;

use super::expectation;
use super::targets::Targets;
use crate::expectation::Exchange;
use crate::spec::{Spec, SpecError};
use crate::target::{Scheme, Target};

/// Makes a request as one version of HTTP writes it: of target, method, headers and body.
pub type Compose<R> =
    fn(&Target, &Method, &[(String, String)], Option<&[u8]>) -> Result<R, SpecError>;

/// One exchange with each target, whose request `compose` makes.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used.
pub fn exchanges<R>(
    spec: &Spec,
    targets: &Targets,
    compose: Compose<R>,
) -> Result<Vec<Exchange<R>>, SpecError> {
    if targets.scheme() == Scheme::Tcp {
        let found = format!("{} is not for {}", Scheme::Tcp.name(), spec.protocol);
        return Err(SpecError::new("url", found, "write http:// or https://"));
    }
    let method = method(spec)?;
    let body = super::body(spec)?;
    let exchange = |(target, expect): (&Target, &_)| {
        Ok(Exchange {
            request: compose(target, &method, &spec.headers, body.as_deref())?,
            expect: expectation(expect)?,
        })
    };
    targets.iter().map(exchange).collect()
}

/// The method that all requests have.
///
/// # Errors
/// A [`SpecError`] when it is not an HTTP method.
pub fn method(spec: &Spec) -> Result<Method, SpecError> {
    spec.method.parse().map_err(|_| {
        let found = format!("{:?} is not an HTTP method", spec.method);
        SpecError::new("method", found, "write it as GET")
    })
}
