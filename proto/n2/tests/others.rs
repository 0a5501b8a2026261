//! NGAP of others: what Open5GS, free5GC and PacketRusher sent, which the codec's crate comes with.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

use sluice_n2::{Cause, FromAmf, FromRan};

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

#[test]
fn messages_of_others_are_read_or_refused_by_their_cause() {
    let Some(lines) = fixture("oxirush-ngap-0.5.0", "tests/fixtures/captured.tsv") else {
        return;
    };
    let (mut from_ran, mut from_amf) = (0, 0);
    for line in &lines {
        let (name, octets, direction) = (&line[0], octets(&line[1]), &line[5]);
        let name = name.split('/').next().expect("a name");
        if direction == "RAN to core" {
            from_ran += 1;
            let read = FromRan::decode(&octets);
            // Sessions are not modified yet; what answers a request is not answered.
            if name.starts_with("PDUSessionResourceModify") {
                let faulty = read.expect_err("not offered");
                assert_eq!(
                    (faulty.cause, faulty.answer),
                    (Cause::ABSTRACT_SYNTAX_REJECT, None)
                );
            } else {
                assert_eq!(read.expect(name).name().replace(' ', ""), name);
            }
        } else if SERVED.contains(&name) {
            from_amf += 1;
            let message = FromAmf::decode(&octets).expect(name);
            assert_eq!(message.name().replace(' ', ""), name);
            // Said again it is the same; diagnostics of errors are not kept, nor what does not change.
            if !name.starts_with("ErrorIndication") && name != "AMFConfigurationUpdate" {
                assert_eq!(FromAmf::decode(&message.encode()), Ok(message));
            }
        } else if name != "-" {
            // Nothing else is taken for something that it is not.
            assert!(FromAmf::decode(&octets).is_err(), "{name}");
        }
    }
    assert!(from_ran >= 13 && from_amf >= 100, "{from_ran} {from_amf}");
}

/// What an emulated gNB knows.
const SERVED: &[&str] = &[
    "NGSetupResponse",
    "DownlinkNASTransport",
    "InitialContextSetupRequest",
    "PDUSessionResourceSetupRequest",
    "PDUSessionResourceModifyRequest",
    "PDUSessionResourceReleaseCommand",
    "UEContextReleaseCommand",
    "Paging",
    "AMFConfigurationUpdate",
    "OverloadStart",
    "OverloadStop",
    "UEContextModificationRequest",
    "PathSwitchRequestAcknowledge",
    "PathSwitchRequestFailure",
    "HandoverRequest",
    "HandoverCommand",
    "HandoverPreparationFailure",
    "HandoverCancelAcknowledge",
    "DownlinkRANStatusTransfer",
    "ErrorIndication",
];
