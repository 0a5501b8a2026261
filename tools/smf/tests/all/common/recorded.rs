//! Messages that SMFs of live cores sent, as they were recorded.
//!
//! They are not part of the repository: they lie in `shared/interop` in a folder above, a file for each core, a
//! message a line, its name and its octets in hexadecimal. Tests of the session machine read them by this file, too.

use std::path::Path;

/// The messages of a file with their names; `None`, and a line that says so, where the files are not there.
pub fn recorded(file: &str) -> Option<Vec<(String, Vec<u8>)>> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut folders = above.map(|folder| folder.join("shared/interop"));
    let Some(folder) = folders.find(|folder| folder.is_dir()) else {
        println!("skipped: no shared/interop beside the repository");
        return None;
    };
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let messages = lines.map(|line| {
        let (name, hex) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), octets(hex))
    });
    Some(messages.collect())
}

/// Hexadecimal digits, two an octet.
fn octets(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len()).step_by(2);
    let octet = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    pairs.map(octet).collect()
}
