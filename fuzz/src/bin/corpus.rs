//! Writes the kept samples of all targets anew: `cargo run -p sluice-fuzz`.
#![forbid(unsafe_code)]

use sluice_fuzz::{corpus, targets::TARGETS};

fn main() -> std::io::Result<()> {
    for target in TARGETS {
        println!("{}: {} samples", target.name, corpus::rewrite(target.name)?);
    }
    Ok(())
}
