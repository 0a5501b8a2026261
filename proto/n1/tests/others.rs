//! NAS of others: what Open5GS, free5GC and PacketRusher sent, which the codec's crate comes with.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

use sluice_n1::{Downlink, Envelope, Uplink};

/// The lines of a file of the codec's crate, in columns; none if the crate has no tests with it.
fn fixture(package: &str, file: &str) -> Option<Vec<Vec<String>>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .output()
        .expect("cargo runs");
    let metadata = String::from_utf8(output.stdout).expect("a text");
    let manifest = format!("{package}/Cargo.toml\"");
    let end = metadata.find(&manifest).expect("the crate is a dependency") + package.len();
    let begin = metadata[..end].rfind('"').expect("a path") + 1;
    let path = Path::new(&metadata[begin..end]).join(file);
    let Ok(text) = fs::read_to_string(&path) else {
        eprintln!("skipped: the crate came without {file}");
        return None;
    };
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    Some(
        lines
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect(),
    )
}

fn octets(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(pair).collect()
}

/// As the dissector of the captures named them, beside our names.
const UPLINK: &[(&str, &str)] = &[
    ("5GMMRegistrationRequest", "Registration Request"),
    ("5GMMRegistrationComplete", "Registration Complete"),
    ("5GMMMODeregistrationRequest", "Deregistration Request"),
    ("5GMMAuthenticationResponse", "Authentication Response"),
    ("5GMMSecurityModeComplete", "Security Mode Complete"),
    (
        "5GMMConfigurationUpdateComplete",
        "Configuration Update Complete",
    ),
    ("5GMMULNASTransport", "UL NAS Transport"),
];
const DOWNLINK: &[(&str, &str)] = &[
    ("5GMMAuthenticationReject", "Authentication Reject"),
    ("5GMMAuthenticationRequest", "Authentication Request"),
    (
        "5GMMConfigurationUpdateCommand",
        "Configuration Update Command",
    ),
    ("5GMMDLNASTransport", "DL NAS Transport"),
    ("5GMMMODeregistrationAccept", "Deregistration Accept"),
    ("5GMMRegistrationAccept", "Registration Accept"),
    ("5GMMSecurityModeCommand", "Security Mode Command"),
    ("5GMMServiceAccept", "Service Accept"),
    ("5GMMStatus", "5GMM Status"),
];

fn ours<'a>(names: &[(&str, &'a str)], name: &str) -> &'a str {
    names
        .iter()
        .find(|(theirs, _)| *theirs == name)
        .unwrap_or_else(|| panic!("{name}"))
        .1
}

#[test]
fn messages_of_others_are_read() {
    let Some(lines) = fixture("oxirush-nas-0.5.0", "tests/fixtures/captured.tsv") else {
        return;
    };
    let (mut up, mut down) = (0, 0);
    for line in lines.iter().filter(|line| line[0] == "5gs") {
        let (direction, name, plain) = (&line[2], &line[3], octets(&line[9]));
        let wire = octets(&line[8]);
        let is_protected = matches!(Envelope::open(&wire), Some(Envelope::Protected(_)));
        assert_eq!(is_protected, line[4] != "0", "{name}");
        if direction == "uplink" {
            up += 1;
            let message = Uplink::decode(&plain).expect(name);
            assert_eq!(message.name(), ours(UPLINK, name));
        } else {
            down += 1;
            let message = Downlink::decode(&plain).expect(name);
            assert_eq!(message.name(), ours(DOWNLINK, name));
            if let Downlink::RegistrationAccept(accept) = message {
                assert!(
                    accept.guti.is_some() && !accept.areas.is_empty(),
                    "{accept:?}"
                );
                assert!(!accept.allowed_nssai.is_empty() && accept.t3512_s.is_some());
            }
        }
    }
    assert!(up >= 8 && down >= 100, "{up} {down}");
}
