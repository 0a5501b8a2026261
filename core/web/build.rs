//! Embeds the built screen (dist/built), if it is there: the crate always builds, and reaches for no network.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    // The folder is always there, so Cargo does not take it for changed while nothing is built.
    println!("cargo::rerun-if-changed=dist");
    let of_cargo = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let root = of_cargo("CARGO_MANIFEST_DIR").unwrap_or_default();
    let built = root.join("dist/built");
    let mut files = Vec::new();
    if built.join("index.html").is_file() {
        find(&built, &mut files)?;
    } else {
        println!(
            "cargo::warning=the screen of `sluice core` is not built, and is left out: make screen"
        );
    }
    files.sort();
    let rows = files.iter().filter_map(|file| {
        let name = file.strip_prefix(&built).ok()?.to_str()?;
        Some(format!("({name:?}, include_bytes!({file:?})),\n"))
    });
    let rows: String = rows.collect();
    let out = of_cargo("OUT_DIR").unwrap_or_default();
    let table = format!("const BUILT: &[(&str, &[u8])] = &[\n{rows}];\n");
    fs::write(out.join("built.rs"), table)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => find(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
