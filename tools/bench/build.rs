//! Build script: records the build profile in the program.
#![forbid(unsafe_code)]

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo puts what a profile builds into a folder of its name: NAME/build/PACKAGE-HASH/out.
    let out = env::var("OUT_DIR").unwrap_or_default();
    let folder = Path::new(&out).ancestors().nth(3);
    let name = folder.and_then(Path::file_name).and_then(|n| n.to_str());
    println!(
        "cargo::rustc-env=SLUICE_PROFILE={}",
        name.unwrap_or("unknown")
    );
}
