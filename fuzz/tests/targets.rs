//! Every target on its kept inputs and on mutants of them. What a run is worth is printed; what
//! it finds comes with the command that repeats it.
//!
//! `SLUICE_SEED`, `SLUICE_CASES` and `SLUICE_INPUT` change the plan: see `Plan::from_environment`.

#![forbid(unsafe_code)]

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
    ($($(#[$condition:meta])* $name:ident)*) => {
        $($(#[$condition])* #[test]
        fn $name() {
            hold(stringify!($name));
        })*

        #[test]
        fn every_target_is_tested() {
            let tested = [$($(#[$condition])* stringify!($name)),*];
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
    #[cfg(feature = "config")]
    config
}
