//! The tutorial as it stands: its commands, its files, real programs in namespaces.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use sluice_host::env_check::{self, Need};

use super::kit::SLUICE;

/// The commands that a page has us type, behind `<!-- runs: tutorial -->`.
fn script(page: &str) -> String {
    let marked = page.split("<!-- runs: tutorial -->\n```sh\n").skip(1);
    let blocks = marked.filter_map(|rest| rest.split("```").next());
    blocks.collect()
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Namespaces and sockets of other programs of this machine have the same names: it runs with a `/run` of its
/// own, and ends with its process group.
#[test]
fn a_ue_registers_pings_and_fetches_a_page_as_the_tutorial_says() {
    let tools = ["ip", "ethtool", "ping", "curl", "python3", "unshare"].map(Need::Tool);
    let needs = [&[Need::NetworkAdmin, Need::Tun][..], &tools].concat();
    if let Some(lack) = env_check::missing(&needs).first() {
        println!("skipped: needs root ({lack})");
        return;
    }
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = tempfile::TempDir::with_prefix("sluice-tutorial-").unwrap();
    copy(
        &house.join("docs/examples"),
        &folder.path().join("docs/examples"),
    );
    let page = fs::read_to_string(house.join("docs/tutorial.md")).unwrap();
    let script = script(&page);
    assert!(script.contains("sluice ran -c ran.yaml"), "{script}");
    let programs = Path::new(SLUICE).parent().unwrap().display();
    let whole = format!(
        "set -e\nmount -t tmpfs none /run\nmkdir /run/netns\nexport PATH={programs}:$PATH\n\
         trap 'cat upf.log core.log >&2; kill $(jobs -p) 2>/dev/null' ERR\n{script}"
    );
    let mut command = Command::new("timeout");
    command
        .args(["-k", "5", "120", "unshare", "-m", "bash", "-c", &whole])
        .current_dir(folder.path())
        .env_remove("SLUICE_LOG")
        .process_group(0);
    let output = command.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    assert!(out.contains(", 0 failed; at its end"), "{out}\n{err}");
    let web = fs::read_to_string(folder.path().join("docs/examples/web.log")).unwrap();
    assert!(
        web.contains("10.60.0.") && web.contains("\"GET / HTTP/1.1\" 200"),
        "{web}"
    );
}
