//! Start-up: from a checked configuration to running workers and a control core.

use super::boot_error::{BootError, failed};
use super::control::ControlLoop;
use super::ctl::Ctl;
use super::devices::{Buffers, DevicePort, Devices};
use super::lines::PeerNames;
use super::links::Links;
use super::load::Load;
use super::metrics::Metrics;
use super::migrate_cmd::Moves;
use super::n4::{self, N4, wall_clock};
use super::needs;
use super::refusals::RefusalLog;
use super::reload::Reload;
use super::scaling::Scaling;
use super::steering::Steered;
use super::trace::Trace;
use crate::config::{Interface, N4Start, OpenedPort, UpfConfig};
use sluice_control::core::UpfControl;
use sluice_control::signalling::Control;
use sluice_datapath::builder::{WorkerBuilder, assemble};
use sluice_datapath::limits::RESERVED;
use sluice_datapath::lookup::layout::Layout;
use sluice_host::claim::InterfaceClaim;
use sluice_host::datagram_ring::RingEnd;
use sluice_host::signal::Shutdown;
use sluice_host::thread;
use sluice_n4::Features;
use sluice_port::{Packet, PortId, PortIo, QueueId};
use sluice_session::{Config as UpConfig, UP_FUNCTION_FEATURES, UpFunction};
use sluice_shared_ring::RingListener;
use sluice_wire::eth::MacAddr;
use sluice_worker::{Pace, Running};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

/// Starts everything; `ring` leads to a core of this process. What was opened closes again if a later step
/// fails.
///
/// # Errors
/// The machine lacks something, or the file asks for what cannot be.
pub fn boot<D: Devices>(
    config: &UpfConfig,
    file: &Path,
    shutdown: Shutdown,
    ring: Option<RingEnd>,
) -> Result<ControlLoop<D>, BootError> {
    // Before DPDK fails in words of its own.
    needs::rights(config).map_err(BootError::Line)?;
    let claims = claim_interfaces(config)?;
    let ctl = listen_for_ctl(&config.control_socket)?;
    let devices = D::open(config)?;
    let ports = devices.ports();
    let n4 = open_n4(config, ring, devices.buffers())?;
    let plan = config.plan().map_err(failed("laying out sessions"))?;
    let steered = Steered::probe(config, &plan.layout, ports);
    let (seeds, end, foreign) = assemble::<D::Packet>(&plan).map_err(failed("making the path"))?;
    let opened = opened(ports);
    let control = config
        .control(&opened)
        .map_err(failed("interfaces"))
        .and_then(|c| Control::new(c).map_err(failed("interfaces")))?;
    let reload = Reload::new(file.to_owned(), config.clone(), opened);
    let (up_config, n4_config) = n4_configs(config, plan.layout.clone());
    let up = UpFunction::new(up_config, n4_config, foreign);
    let mut core = UpfControl::new(control, up, end);
    if !n4.has_sockets() {
        core.serve_n4_on_ports_only();
    }
    let placed = config.placement.workers.iter();
    let cpus: Vec<usize> = placed.map(|c| usize::from(*c)).collect();
    let (workers, keeps_order) = start_workers(config, &devices, seeds, &mut core, &cpus)?;
    thread::pin(&[usize::from(config.placement.housekeeping)])
        .unwrap_or_else(|e| tracing::warn!("{e}"));
    let metrics = serve_metrics(config, &core)?;
    thread::sleep_precisely();
    let elastic = Scaling::new(config.workers.scaling.clone(), &mut core);
    Ok(ControlLoop {
        metrics,
        _claims: claims,
        core,
        n4,
        ctl,
        workers,
        links: Links::new(&config.ports, ports),
        devices,
        keeps_order,
        shutdown,
        graceful: Duration::from_secs(u64::from(config.n4.graceful_release_s)),
        associate: config.n4.associate.iter().map(|at| at.value).collect(),
        node_load: Default::default(),
        load: Load::new(cpus.into_iter().map(Some).collect()),
        queries: Vec::new(),
        unbalanced: Vec::new(),
        moves: Moves::default(),
        trace: Trace::default(),
        port_names: config.ports.iter().map(|p| p.name.value.clone()).collect(),
        elastic,
        steered,
        sleep_max: Duration::from_micros(u64::from(config.workers.sleep_us_max.value)),
        next_query: 0,
        next_neighbours: Instant::now(),
        idle_turns: 0,
        refusal_log: RefusalLog::default(),
        peer_names: PeerNames::default(),
        reload,
    })
}

/// So that no other UPF gets the same packets.
fn claim_interfaces(config: &UpfConfig) -> Result<Vec<InterfaceClaim>, BootError> {
    let mut claims = Vec::new();
    for (i, port) in config.ports.iter().enumerate() {
        let Some(interface) = port.kernel_interface() else {
            continue;
        };
        claims.push(InterfaceClaim::take(interface).map_err(|error| {
            let key = format!("ports[{i}].device");
            let expected = "an interface that no other UPF of this network namespace uses";
            BootError::line(port.device.line, key, error.to_string(), expected)
        })?);
    }
    Ok(claims)
}

fn listen_for_ctl(path: &Path) -> Result<Ctl, BootError> {
    // The control core looks for questions in every turn.
    Ctl::listen(path, || {}).map_err(|e| {
        let what = format!("{} cannot be used: {e}", path.display());
        let expected = "a path of its own for each UPF, in a folder that it may write to";
        BootError::line(0, "control_socket", what, expected)
    })
}

fn serve_metrics<P: Packet>(
    config: &UpfConfig,
    core: &UpfControl<P>,
) -> Result<Option<Metrics>, BootError> {
    let Some(listen) = config.metrics.listen else {
        return Ok(None);
    };
    match Metrics::serve(listen, core.end().stats().to_vec()) {
        Ok(metrics) => Ok(Some(metrics)),
        Err(e) if config.metrics.is_given => {
            let what = format!("{listen} cannot be listened on: {e}");
            let expected = "an address of this machine whose port no other program has, or none";
            let line = config.metrics.line;
            Err(BootError::line(line, "metrics.listen", what, expected))
        }
        Err(e) => {
            tracing::warn!("no metrics: {listen} cannot be listened on: {e}");
            Ok(None)
        }
    }
}

fn open_n4<B: Buffers>(
    config: &UpfConfig,
    ring: Option<RingEnd>,
    buffers: &B,
) -> Result<N4<B>, BootError> {
    let mut sockets = Vec::new();
    for (i, at) in config.n4.listen.iter().enumerate() {
        let refused = |what, expected| {
            Err(BootError::line(
                at.line,
                format!("n4.listen[{i}]"),
                what,
                expected,
            ))
        };
        let SocketAddr::V4(address) = at.value else {
            return refused(format!("{} is not supported yet", at.value), "IPv4");
        };
        match n4::listen(address) {
            Ok(socket) => sockets.push(socket),
            Err(e) => {
                let expected = "an address of this machine whose port no other program has";
                return refused(e.to_string(), expected);
            }
        }
    }
    let shared = open_rings(config)?;
    N4::new(sockets, (ring, shared), buffers.clone()).map_err(failed("waiting for N4"))
}

/// Listens for SMFs of this machine that want rings.
fn open_rings(config: &UpfConfig) -> Result<Option<RingListener>, BootError> {
    let own = config.n4.listen.first().map(|at| at.value);
    let Some((rings, own)) = config.n4.rings.as_ref().zip(own) else {
        return Ok(None);
    };
    let opened = RingListener::open(&rings.value, own).map_err(|e| {
        let what = format!("{} cannot be listened at: {e}", rings.value.display());
        let expected = "a path of its own for each UPF, in a folder that it may write to";
        BootError::line(rings.line, "n4.rings", what, expected)
    })?;
    Ok(Some(opened))
}

fn opened(ports: &[impl DevicePort]) -> HashMap<String, OpenedPort> {
    let numbered = ports.iter().zip(0..);
    numbered
        .map(|(port, id)| {
            let info = port.info(PortId(id));
            let opened = OpenedPort {
                id: PortId(id),
                mac: MacAddr(info.mac),
                mtu_bytes: info.mtu_bytes,
            };
            (info.name, opened)
        })
        .collect()
}

fn n4_configs(config: &UpfConfig, layout: Layout) -> (UpConfig, sluice_n4::Config) {
    let seed = random_seed();
    let start = N4Start {
        recovery_time_stamp: wall_clock(),
        hash_seed: seed[0] ^ seed[1],
        features: Features {
            up: Some(UP_FUNCTION_FEATURES),
            ..Features::default()
        },
        retains_sessions: true,
    };
    let defaults = UpConfig::new(
        layout,
        config.limits.numbered_blocks(),
        n4_address(config),
        seed,
    );
    let up = UpConfig {
        sessions: config.limits.sessions.value as usize,
        accept_cp_fteid: config.n4.accept_cp_fteid,
        choose_fteid: config.n4.choose_fteid,
        mbr_zero: config.n4.mbr_zero,
        shaped_rates: config.shaping.rates,
        unserved: config.n4.unserved,
        peer_loss_keep_s: config.n4.peer_loss_keep_s,
        load_control: config.n4.load_control,
        flow_filters: config.limits.flow_filters.value as usize,
        allocation: config.allocation(),
        predefined: config.predefined_rules(),
        applications: config.configured_applications(),
        transactions: RESERVED * config.placement.workers.len(),
        ..defaults
    };
    (up, config.n4_endpoint(&start))
}

/// The address in our F-SEIDs: the first that N4 listens on, if it is one, else the first that a port
/// serves.
fn n4_address(config: &UpfConfig) -> Ipv4Addr {
    let mut listen = config.n4.listen.iter();
    let socket = listen.find_map(|at| match at.value.ip() {
        IpAddr::V4(ip) if !ip.is_unspecified() => Some(ip),
        _ => None,
    });
    let mut ports = config.interfaces.iter().flat_map(Interface::n4_addresses);
    let address = socket.or_else(|| ports.next());
    address.unwrap_or(Ipv4Addr::LOCALHOST)
}

/// Random bits of the standard library's hash keys, which come from the system.
fn random_seed() -> [u64; 2] {
    [0, 1].map(|_| RandomState::new().build_hasher().finish())
}

/// Each worker polls its share of every port's receive queues, and sends by a queue of its own.
/// Tells, too, of each port whether it keeps order when a shard's transmit queue changes.
fn start_workers<D: Devices>(
    config: &UpfConfig,
    devices: &D,
    seeds: Vec<WorkerBuilder<D::Packet>>,
    core: &mut UpfControl<D::Packet>,
    cpus: &[usize],
) -> Result<(Vec<Running>, Vec<bool>), BootError> {
    let count = seeds.len();
    let mut running = Vec::new();
    let mut keeps_order = vec![true; devices.ports().len()];
    for (seed, cpu) in seeds.into_iter().zip(cpus) {
        let id = usize::from(seed.id());
        let (mut io, polled) = devices.queues_of(id, count)?;
        for (port, keeps) in keeps_order.iter_mut().enumerate() {
            *keeps &= io
                .tx_progress(PortId(port as u16), QueueId(id as u16))
                .is_some();
        }
        core.end_mut().polls(seed.id(), &polled);
        let seed = seed.holding(config.hold_limits());
        let worker = seed.grow(io, polled, QueueId(id as u16));
        let pace = Pace {
            cpu: Some(*cpu),
            rest_max: Duration::from_micros(u64::from(config.workers.sleep_us_max.value)),
        };
        let stats = core.end().stats()[id].clone();
        let name = format!("sluice-w{id}");
        let started = devices.start(worker, stats, pace, &name);
        running.push(started.map_err(failed("starting a worker"))?);
    }
    Ok((running, keeps_order))
}
