//! Pages as they stand: their commands, their files, real programs in namespaces.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use sluice_host::env_check::{self, Need};
use tempfile::TempDir;

use super::kit::SLUICE;

/// The folder that a page was played in, and what its commands said.
struct Played {
    folder: TempDir,
    out: String,
    err: String,
}

/// The commands of blocks behind `<!-- runs: NAME -->`.
fn script(page: &str, name: &str) -> String {
    let marker = format!("<!-- runs: {name} -->\n```sh\n");
    let marked = page.split(&marker).skip(1);
    let blocks = marked.filter_map(|rest| rest.split("```").next());
    blocks.collect()
}

/// The blocks that name their file in the first line (`# first.yaml`).
fn files(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let blocks = page.split("```yaml\n").skip(1);
    blocks.filter_map(|rest| {
        let text = rest.split("```").next()?;
        let name = text.lines().next()?.strip_prefix("# ")?;
        name.ends_with(".yaml").then_some((name, text))
    })
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Types what a page says, or says why that cannot be here. Namespaces and sockets of other programs of this
/// machine have the same names, so it has a `/run` of its own.
fn play(document: &str, name: &str) -> Option<Played> {
    let tools = ["ip", "ethtool", "ping", "curl", "python3", "unshare"].map(Need::Tool);
    let needs = [&[Need::NetworkAdmin, Need::Tun][..], &tools].concat();
    if let Some(lack) = env_check::missing(&needs).first() {
        println!("skipped: needs root ({lack})");
        return None;
    }
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = TempDir::with_prefix("sluice-page-").unwrap();
    copy(
        &house.join("docs/examples"),
        &folder.path().join("docs/examples"),
    );
    let page = fs::read_to_string(house.join(document)).unwrap();
    for (file, text) in files(&page).filter(|(file, _)| !file.contains('/')) {
        fs::write(folder.path().join(file), text).unwrap();
    }
    let script = script(&page, name);
    assert!(script.contains("sluice ran -c"), "{script}");
    let programs = Path::new(SLUICE).parent().unwrap().display();
    let whole = format!(
        "set -e\nmount -t tmpfs none /run\nmkdir /run/netns\nexport PATH={programs}:$PATH\n\
         trap 'cat *.log >&2' ERR\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n{script}"
    );
    let mut command = Command::new("timeout");
    command
        .args(["-k", "5", "150", "unshare", "-m", "bash", "-c", &whole])
        .current_dir(folder.path())
        .env_remove("SLUICE_LOG")
        .process_group(0);
    let output = command.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    Some(Played { folder, out, err })
}

#[test]
fn a_ue_registers_pings_and_fetches_a_page_as_the_tutorial_says() {
    let Some(played) = play("docs/tutorial.md", "tutorial") else {
        return;
    };
    let (out, err) = (&played.out, &played.err);
    assert!(out.contains(", 0 failed; at its end"), "{out}\n{err}");
    let web = played.folder.path().join("docs/examples/web.log");
    let web = fs::read_to_string(web).unwrap();
    let came = web.contains("10.60.0.") && web.contains("\"GET / HTTP/1.1\" 200");
    assert!(came, "{web}");
}

#[test]
fn the_first_scenario_of_the_page_on_ran_holds_as_it_stands() {
    let Some(played) = play("docs/ran.md", "ran") else {
        return;
    };
    let (out, err) = (&played.out, &played.err);
    assert!(out.contains(", 0 failed; at its end"), "{out}\n{err}");
}
