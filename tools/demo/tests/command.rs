//! `sluice-demo` as a program. What it shows is judged by scripts/test.d/20-demo.sh, which plays it once for all claims.

use std::process::Command;

#[test]
fn parts_that_exclude_each_other_are_refused_by_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_sluice-demo"))
        .args(["--core", "--driver", "af_xdp"])
        .output()
        .expect("the demo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("--core") && said.contains("--driver"),
        "{said}"
    );
}
