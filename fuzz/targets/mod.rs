//! The fuzz targets: one plain function of bytes each, which panics if something that must hold
//! for every input does not.

mod api;
mod checks;
mod config;
mod control;
pub(crate) mod eap;
mod flow_description;
mod gtpu;
mod ipv6;
mod n4;
mod packets;
mod path;
mod pfcp;
pub(crate) mod sctp;
mod session;
mod signalling;

pub use api::api_request;
pub use config::config;
pub use control::control_core;
pub use eap::eap_parse;
pub use flow_description::flow_description;
pub use gtpu::gtpu_parse;
pub use n4::n4_endpoint;
pub use packets::packets;
pub use path::packet_path;
pub use pfcp::pfcp_parse;
pub use sctp::sctp_input;
pub use session::session_machine;
pub use signalling::{nas_parse, ngap_parse};

use crate::mutate::{self, Mutate, Parts, parts};

/// A target and how it is fed.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name: that of its function, its corpus folder and its test.
    pub name: &'static str,
    /// The function.
    pub run: fn(&[u8]),
    /// What makes mutants of its inputs.
    pub mutate: Mutate,
    /// What a failing input is made smaller by.
    pub parts: Parts,
    /// Mutants under each of the two seeds of `make test`: together they make all targets
    /// take about 40 s of one core at the test profile.
    pub cases: u64,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "pfcp_parse",
        run: pfcp_parse,
        mutate: mutate::pfcp,
        parts: parts::pfcp,
        cases: 80_000,
    },
    Target {
        name: "gtpu_parse",
        run: gtpu_parse,
        mutate: mutate::gtpu,
        parts: parts::gtpu,
        cases: 250_000,
    },
    Target {
        name: "packets",
        run: packets,
        mutate: mutate::frame,
        parts: parts::frame,
        cases: 120_000,
    },
    Target {
        name: "n4_endpoint",
        run: n4_endpoint,
        mutate: mutate::pfcp_script,
        parts: parts::pfcp_script,
        cases: 40_000,
    },
    Target {
        name: "packet_path",
        run: packet_path,
        mutate: mutate::shaped_frame_script,
        parts: parts::shaped_frame_script,
        cases: 4_000,
    },
    Target {
        name: "session_machine",
        run: session_machine,
        mutate: mutate::pfcp_script,
        parts: parts::pfcp_script,
        cases: 12_000,
    },
    Target {
        name: "control_core",
        run: control_core,
        mutate: mutate::frame_script,
        parts: parts::frame_script,
        cases: 40_000,
    },
    Target {
        name: "config",
        run: config,
        mutate: mutate::text,
        parts: parts::lines,
        cases: 60_000,
    },
    Target {
        name: "flow_description",
        run: flow_description,
        mutate: mutate::text,
        parts: parts::lines,
        cases: 100_000,
    },
    Target {
        name: "ngap_parse",
        run: ngap_parse,
        mutate: mutate::text,
        parts: parts::lines,
        cases: 60_000,
    },
    Target {
        name: "nas_parse",
        run: nas_parse,
        mutate: mutate::text,
        parts: parts::lines,
        cases: 100_000,
    },
    Target {
        name: "api_request",
        run: api_request,
        mutate: mutate::text,
        parts: parts::lines,
        cases: 60_000,
    },
    Target {
        name: "eap_parse",
        run: eap_parse,
        mutate: mutate::text,
        parts: parts::lines,
        cases: 50_000,
    },
    Target {
        name: "sctp_input",
        run: sctp_input,
        mutate: mutate::frame_script,
        parts: parts::frame_script,
        cases: 4_000,
    },
];

/// The target of this name.
pub fn find(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
