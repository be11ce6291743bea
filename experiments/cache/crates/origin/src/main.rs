//! The origin of the cache experiment: objects whose every byte follows from their URL.

mod answer;
mod object;
mod range;
mod sizes;

use std::net::SocketAddr;
use std::rc::Rc;

use clap::Parser;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use self::object::Catalogue;
use self::sizes::Sizes;

/// Answers every path below a prefix with an object of bytes that follow from the path.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// The sizes below a prefix: fixed:BYTES, gauss:MEAN:DEVIATION, zipf:STEP:LARGEST:ALPHA,
    /// real:FILE (a size and a weight a line) or user (digits at the end of the path).
    #[arg(long, value_name = "PREFIX=SIZES", required = true, value_parser = pair)]
    objects: Vec<(String, Sizes)>,
}

fn pair(text: &str) -> Result<(String, Sizes), String> {
    let (prefix, sizes) = text
        .split_once('=')
        .filter(|(prefix, _)| prefix.starts_with('/'))
        .ok_or_else(|| format!("found {text:?}, expected /PREFIX=SIZES"))?;
    Ok((prefix.to_owned(), Sizes::parse(sizes)?))
}

fn main() -> std::io::Result<()> {
    let Arguments { listen, objects } = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    tokio::task::LocalSet::new().block_on(&runtime, serve(listen, Catalogue::new(objects)))
}

async fn serve(listen: SocketAddr, catalogue: Catalogue) -> std::io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    let catalogue = Rc::new(catalogue);
    loop {
        let (stream, _) = listener.accept().await?;
        let catalogue = Rc::clone(&catalogue);
        let answer = service_fn(move |request| {
            let catalogue = Rc::clone(&catalogue);
            async move { answer::answer(&catalogue, &request) }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
        // A client that goes away, or speaks no HTTP, harms nobody else.
        tokio::task::spawn_local(connection);
    }
}
