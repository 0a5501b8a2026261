//! The configuration file: any text is accepted or refused with reasons, and what is accepted
//! starts.

use sluice_control::signalling::Control;
use sluice_n4::Features;
use sluice_port::PortId;
use sluice_upf_daemon::config::{Loaded, Machine, N4Start, OpenedPort, Refused, UpfConfig};
use sluice_wire::eth::MacAddr;
use sluice_wire::pfcp::value::NtpTime;
use std::collections::HashMap;
use std::path::Path;

/// Reads `upf.yaml`.
pub fn config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let machine = Machine::with_cores((0..4).collect());
    match UpfConfig::from_text(Path::new("upf.yaml"), &text, &machine) {
        Ok(loaded) => starts(&loaded),
        Err(refused) => gives_reasons(&refused, &text),
    }
}

/// Each reason names a line of the file, and what was expected.
fn gives_reasons(refused: &Refused, text: &str) {
    assert!(!refused.problems.is_empty(), "refused for no reason");
    let lines = text.split(['\n', '\r']).count() as u32;
    for problem in &refused.problems {
        assert!(
            problem.line <= lines + 1,
            "line {} of {lines}",
            problem.line
        );
        assert!(!problem.what.is_empty() && !problem.expected.is_empty());
    }
    assert!(refused.to_string().lines().count() >= refused.problems.len());
}

/// Every part can be made of a file that was accepted.
fn starts(loaded: &Loaded) {
    let config = &loaded.config;
    assert!(config.summary().lines().count() > 3);
    assert!(config.summary_json().is_object());
    let plan = config.plan().expect("the layout of a checked file");
    assert!((1..=4).contains(&plan.workers));
    let port_configs = config.port_configs();
    let ports = (0..).zip(&port_configs).map(|(id, port)| {
        let opened = OpenedPort {
            id: PortId(id),
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            mtu_bytes: u16::MAX,
        };
        (port.name.clone(), opened)
    });
    let ports: HashMap<_, _> = ports.collect();
    assert_eq!(
        ports.len(),
        port_configs.len(),
        "each port has a name of its own"
    );
    let control = config.control(&ports).expect("every interface has a port");
    let mut control = Control::new(control).expect("a control core for a checked file");
    assert!(control.take_tables().is_some());
    let n4 = config.n4_endpoint(&N4Start {
        recovery_time_stamp: NtpTime(1),
        hash_seed: 1,
        features: Features::default(),
        retains_sessions: true,
    });
    assert!(n4.limits.associations > 0 && n4.t1_ms > 0);
    let _ = (config.eal(), config.pool(None));
}
