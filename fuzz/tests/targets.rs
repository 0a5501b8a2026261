//! Every target on its kept inputs and on mutants of them. What a run is worth is printed; what
//! it finds comes with the command that repeats it.
//!
//! `SLUICE_SEED`, `SLUICE_CASES` and `SLUICE_INPUT` change the plan: see `Plan::from_environment`.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use sluice_fuzz::runner::Plan;
use sluice_fuzz::targets::{TARGETS, find};

fn hold(name: &str) {
    let target = find(name).expect("a target of this name");
    match Plan::from_environment(target).run() {
        Ok(report) => println!("{report}"),
        Err(found) => panic!("{found}"),
    }
}

macro_rules! tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            hold(stringify!($name));
        })*

        #[test]
        fn every_target_is_tested() {
            let tested = [$(stringify!($name)),*];
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, tested);
        }
    };
}

tests! {
    pfcp_parse
    gtpu_parse
    packets
    n4_endpoint
    packet_path
    session_machine
    control_core
    config
    flow_description
    ngap_parse
    nas_parse
    api_request
    eap_parse
    sctp_input
}

/// Each target has a program in the crate beside, which `make fuzz` runs.
#[test]
fn every_target_is_guided_by_coverage_too() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/guided/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).expect("the manifest");
    let guided: BTreeSet<_> = manifest
        .split("[[bin]]")
        .skip(1)
        .filter_map(|bin| bin.split('"').nth(1))
        .collect();
    let names: BTreeSet<_> = TARGETS.iter().map(|t| t.name).collect();
    assert_eq!(names, guided);
}
