//! `upf.yaml`: from text to a checked [`UpfConfig`], and on to what the parts of the UPF need.
//!
//! Start reading at [`UpfConfig::from_text`]. Each section is one file, which reads its keys and
//! says what is expected of each; what several sections must agree on is in `check`. The
//! commented example, `docs/upf.yaml`, names every key.

mod applications;
mod check;
mod convert;
mod dpdk;
mod echo;
mod interfaces;
mod limits;
mod machine;
mod marking;
mod metrics;
mod n4;
mod nat;
mod pools;
mod ports;
mod predefined;
mod reload;
mod router_advertisement;
mod scaling;
mod shaping;
mod summary;
#[cfg(test)]
mod tests;
mod workers;

pub use sluice_program::config::{example, fields, kind, problem, read_text, suggest, yaml};
use sluice_program::config::{ip, ipv4, ipv6};

pub use applications::NamedApplication;
pub use convert::{ConvertError, N4Start, OpenedPort};
pub use dpdk::{Dpdk, HugePages};
pub use echo::EchoRequests;
pub use fields::At;
pub use interfaces::{Interface, N4Address, N6, Neighbour, Route, Tunnel, TunnelKind};
pub use ip::{Address, Prefix};
pub use ipv4::{Address4, Prefix4};
pub use ipv6::{Address6, Prefix6};
pub use limits::Limits;
pub use machine::Machine;
pub(crate) use machine::cores_of;
pub use marking::Marking;
pub use metrics::Metrics;
pub use n4::N4;
pub use nat::Nat;
pub use pools::{Allocation, Pool};
pub use ports::{MTU_MAX, MTU_MIN, Port};
pub use predefined::Predefined;
pub use problem::{KnownKey, Problem, Refused};
pub use router_advertisement::RouterAdvertisement;
pub use scaling::{Decides, Scaling};
pub use shaping::Shaping;
pub use workers::{Placement, Workers};

use fields::Fields;
use kind::{log_filter, socket_path};
use std::path::{Path, PathBuf};

pub use sluice_program::control::UPF_SOCKET as CONTROL_SOCKET;

/// The configuration of a UPF.
#[derive(Clone, PartialEq, Debug)]
pub struct UpfConfig {
    /// Towards the SMF.
    pub n4: N4,
    /// Packet memory.
    pub dpdk: Dpdk,
    /// Devices; at least one.
    pub ports: Vec<Port>,
    /// Addresses and roles; at least one.
    pub interfaces: Vec<Interface>,
    /// UE addresses.
    pub pools: Vec<Pool>,
    /// Network instances whose addresses are translated.
    pub nat: Vec<Nat>,
    /// What UEs are told of their IPv6 link.
    pub router_advertisement: RouterAdvertisement,
    /// DSCP of outer headers; of QFIs that are not there 0.
    pub dscp: Vec<Marking>,
    /// Rules that SMFs activate by name.
    pub predefined: Vec<Predefined>,
    /// Flows by the Application ID that SMFs name.
    pub applications: Vec<NamedApplication>,
    /// Echo Requests to tunnel peers.
    pub echo: EchoRequests,
    /// Which rates let their excess wait.
    pub shaping: Shaping,
    /// Cores, as configured.
    pub workers: Workers,
    /// Cores, as found for this machine.
    pub placement: Placement,
    /// What there is room for.
    pub limits: Limits,
    /// Where Prometheus finds us.
    pub metrics: Metrics,
    /// Where `sluice ctl` finds us.
    pub control_socket: PathBuf,
    /// What is logged, as `tracing` filters are written: `info,sluice_n4=debug`.
    pub log: String,
}

/// A configuration of a UPF, and what came to light while it was read.
pub type Loaded = sluice_program::config::Loaded<UpfConfig>;

impl UpfConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// All that is wrong with it, each with line, key, problem and what was expected.
    pub fn load(file: &Path, machine: &Machine) -> Result<Loaded, Refused> {
        let text = read_text(file)?;
        Self::from_text(file, &text, machine)
    }

    /// As [`load`](Self::load), with the text of the file at hand.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub fn from_text(file: &Path, text: &str, machine: &Machine) -> Result<Loaded, Refused> {
        let read = |fields: &mut Fields<'_, '_>| Self::read(fields, machine);
        sluice_program::config::load(file, text, read, check::all)
    }

    fn read(fields: &mut Fields<'_, '_>, machine: &Machine) -> Self {
        let mut n4 = fields.section("n4", N4::read);
        let dpdk = fields.section("dpdk", Dpdk::read);
        let ports = fields.required_sections("ports", "a list of name and device", Port::read);
        let expected = "a list of name, port and addresses with n3, n9, n6 or n4";
        let interfaces = fields.required_sections("interfaces", expected, Interface::read);
        n4.complete(&interfaces, fields.report());
        let pools = fields.sections("pools", Pool::read);
        let nat = fields.sections("nat", Nat::read);
        let router_advertisement =
            fields.section("router_advertisement", RouterAdvertisement::read);
        let dscp = fields.sections("dscp", Marking::read);
        Marking::apart(&dscp, fields);
        let predefined = fields.sections("predefined", Predefined::read);
        Predefined::apart(&predefined, fields);
        let applications = fields.sections("applications", NamedApplication::read);
        NamedApplication::apart(&applications, fields);
        let echo = fields.section("echo", EchoRequests::read);
        let shaping = fields.section("shaping", Shaping::read);
        let workers = fields.section("workers", Workers::read);
        let placement = workers.place(machine, fields.report());
        let limits = fields.section("limits", Limits::read);
        let metrics = fields.section("metrics", Metrics::read);
        let socket = fields.or("control_socket", CONTROL_SOCKET, &socket_path());
        let log = fields.or("log", "info", &log_filter());
        Self {
            n4,
            dpdk,
            ports,
            interfaces,
            pools,
            nat,
            router_advertisement,
            dscp,
            predefined,
            applications,
            echo,
            shaping,
            workers,
            placement,
            limits,
            metrics,
            control_socket: socket.value,
            log: log.value,
        }
    }
}
