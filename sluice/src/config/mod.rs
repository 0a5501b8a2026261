//! `upf.yaml`: from text to a checked [`UpfConfig`], and on to what the parts of the UPF need.
//!
//! Start reading at [`UpfConfig::from_text`]. Each section is one file, which reads its keys and
//! says what is expected of each; what several sections must agree on is in `check`. The
//! commented example, `docs/upf.yaml`, names every key.

mod check;
mod convert;
mod dpdk;
mod echo;
pub mod example;
pub mod fields;
mod interfaces;
mod ip;
mod ipv4;
mod ipv6;
pub mod kind;
mod limits;
mod machine;
mod marking;
mod metrics;
mod n4;
mod nat;
mod pools;
mod ports;
mod predefined;
pub mod problem;
mod reload;
mod router_advertisement;
mod scaling;
mod shaping;
pub mod suggest;
mod summary;
#[cfg(test)]
mod tests;
mod workers;
pub mod yaml;

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
use kind::Kind;
use problem::Report;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use tracing_subscriber::filter::Targets;

/// Where the UPF listens for `sluice ctl` unless its file says otherwise.
pub const CONTROL_SOCKET: &str = "/run/sluice/upf.sock";

/// A file larger than this is not a configuration.
const FILE_MAX_BYTES: u64 = 1 << 20;

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

/// A configuration, and what came to light while it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: UpfConfig,
    /// What works but may not be meant, by line.
    pub warnings: Vec<Problem>,
    /// Every key that there is, with its default. Alternatives that the file does not use are
    /// missing, as are keys of lists that are empty.
    pub known_keys: Vec<KnownKey>,
}

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
        let mut report = Report::default();
        let config = match yaml::parse(text) {
            Err(e) => {
                report.problem(e.line, "", e.what, e.expected);
                None
            }
            Ok(root) => Fields::root(&root, &mut report, |f| Self::read(f, machine)),
        };
        if let Some(config) = &config {
            check::all(config, &mut report);
        }
        let (problems, warnings, known_keys) = report.finish();
        match config {
            Some(config) if problems.is_empty() => Ok(Loaded {
                config,
                warnings,
                known_keys,
            }),
            _ => Err(Refused {
                file: file.to_owned(),
                problems,
            }),
        }
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

/// The text of a file that is small enough to be a configuration.
pub fn read_text(file: &Path) -> Result<String, Refused> {
    bounded_text(file).map_err(|what| Refused {
        file: file.to_owned(),
        problems: vec![Problem {
            line: 0,
            key: String::new(),
            what,
            expected: "a readable YAML file of at most 1 MiB".to_owned(),
        }],
    })
}

fn bounded_text(file: &Path) -> Result<String, String> {
    let cannot = |e: std::io::Error| format!("cannot be read: {e}");
    let opened = File::open(file).map_err(cannot)?;
    // Devices and pipes do not tell how much they have to say.
    let mut bytes = Vec::new();
    let mut bounded = opened.take(FILE_MAX_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(format!("has more than {FILE_MAX_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|e| format!("is not UTF-8 from byte {} on", e.utf8_error().valid_up_to()))
}

/// The kernel keeps 108 bytes for the path of a socket, with a NUL at the end (unix(7)).
fn socket_path() -> Kind<PathBuf> {
    Kind::new("an absolute path of at most 107 bytes", |text| {
        let path = PathBuf::from(text);
        (path.is_absolute() && text.len() <= 107).then_some(path)
    })
}

fn log_filter() -> Kind<String> {
    let expected = "error, warn, info, debug or trace, \
                    and levels of single parts such as info,sluice_n4=debug";
    Kind::new(expected, |text| {
        let levels = ["off", "error", "warn", "info", "debug", "trace"];
        let part = |part: &str| {
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            levels.contains(&level)
        };
        (text.split(',').all(part) && text.parse::<Targets>().is_ok()).then(|| text.to_owned())
    })
}
