//! The program: takes its options, its memory, and serves.

use anyhow::Result;
use clap::Parser;
use known_server::burden::Burden;
use known_server::options::Options;
use known_server::server::serve;

const PAGE: usize = 4096;

fn main() -> Result<()> {
    let options = Options::parse();
    let mut memory = vec![0_u8; options.memory as usize * 1_000_000];
    for page in memory.chunks_mut(PAGE) {
        page[0] = 1;
    }
    let served = serve(options.listen, Burden::new(options.costs()));
    drop(memory);
    served
}
