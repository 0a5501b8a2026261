//! The binary from outside: exit codes, and what goes to which output.
#![forbid(unsafe_code)]

use std::process::{Command, Output};

fn sluice(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(arguments)
        .env_remove("SLUICE_LOG")
        .output()
        .expect("the binary runs")
}

/// Exit code, standard output, standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = sluice(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn wrong_usage_ends_with_2_and_says_so_on_standard_error() {
    for arguments in [&[][..], &["fly"], &["upf"], &["upf", "-c"], &["--fast"]] {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(err.contains("--help"), "{arguments:?}: {err}");
    }
    let (code, out, err) = run(&["upf", "--check", "-c", "/nowhere/upf.yaml"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(
        err.starts_with("/nowhere/upf.yaml: cannot be read: No such file"),
        "{err}"
    );
}

#[test]
fn a_benchmark_that_would_run_out_of_sessions_is_refused_at_once() {
    let (code, out, err) = run(&["bench", "pfcp", "--sessions", "1000", "--messages", "4001"]);
    assert_eq!((code, &*out), (Some(2), ""));
    assert!(
        err.contains("--messages 4001: expected 4000 at the most with 1000 sessions"),
        "{err}"
    );
}

#[test]
fn help_goes_to_standard_output_with_examples_and_exit_codes() {
    let (code, out, err) = run(&["--help"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("Exit codes:") && out.contains("upf"), "{out}");
    let (code, out, _) = run(&["upf", "--help"]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("Examples:") && out.contains("sluice upf -c upf.yaml --check"),
        "{out}"
    );
    let (code, out, _) = run(&["--version"]);
    assert_eq!(
        (code, out.as_str()),
        (Some(0), concat!("sluice ", env!("CARGO_PKG_VERSION"), "\n"))
    );
}
