//! Start-up: from a checked configuration to running workers and a control core.

use super::control::ControlLoop;
use super::ctl::Ctl;
use super::lines::PeerNames;
use super::links::Links;
use super::load::Load;
use super::metrics::Metrics;
use super::migrate_cmd::Moves;
use super::n4::{N4, wall_clock};
use super::needs;
use super::numa::{self, Nodes};
use super::ports;
use super::refusals::RefusalLog;
use super::reload::Reload;
use super::scaling::Scaling;
use super::steering::Steered;
use super::trace::Trace;
use crate::config::{Interface, N4Start, OpenedPort, Problem, UpfConfig};
use core::fmt;
use sluice_control::core::Core;
use sluice_control::signalling::Control;
use sluice_datapath::builder::{WorkerBuilder, assemble};
use sluice_datapath::limits::RESERVED;
use sluice_datapath::lookup::layout::Layout;
use sluice_datapath::tables::Polled;
use sluice_host::claim::InterfaceClaim;
use sluice_host::datagram_ring::RingEnd;
use sluice_host::signal::Shutdown;
use sluice_host::thread;
use sluice_n4::Features;
use sluice_port::{PortId, PortIo, QueueId};
use sluice_port_dpdk::{DpdkIo, Eal, Mbuf, MbufPool, Port};
use sluice_session::{Config as UpConfig, UP_FUNCTION_FEATURES, UpFunction};
use sluice_wire::eth::MacAddr;
use sluice_worker::{Pace, Running};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

/// Why the UPF does not start.
#[derive(Debug)]
pub enum BootError {
    /// A line of the file cannot be fulfilled on this machine.
    Line(Problem),
    /// A step that no single line stands for.
    Step {
        /// What was being done.
        doing: &'static str,
        /// What went wrong.
        why: String,
    },
}

impl BootError {
    /// The text, with the file whose lines it names.
    pub fn in_file(&self, file: &Path) -> String {
        match self {
            Self::Line(problem) => problem.in_file(file).to_string(),
            Self::Step { doing, why } => format!("{doing}: {why}"),
        }
    }

    pub(super) fn line(
        line: u32,
        key: impl Into<String>,
        what: String,
        expected: impl Into<String>,
    ) -> Self {
        Self::Line(Problem {
            line,
            key: key.into(),
            what,
            expected: expected.into(),
        })
    }
}

fn failed<E: fmt::Display>(doing: &'static str) -> impl FnOnce(E) -> BootError {
    move |e| BootError::Step {
        doing,
        why: e.to_string(),
    }
}

/// Starts everything; `ring` leads to a core of this process. What was opened closes again if a later step
/// fails.
pub fn boot(
    config: &UpfConfig,
    file: &Path,
    shutdown: Shutdown,
    ring: Option<RingEnd>,
) -> Result<ControlLoop, BootError> {
    // Before DPDK fails in words of its own.
    needs::rights(config).map_err(BootError::Line)?;
    let claims = claim_interfaces(config)?;
    let ctl = listen_for_ctl(&config.control_socket)?;
    let eal = Eal::init(&config.eal()).map_err(failed("starting DPDK"))?;
    let [pool, held] = make_buffers(config, &eal)?;
    let ports = ports::open(config, &pool)?;
    let n4 = open_n4(config, ring, &pool)?;
    let plan = config.plan().map_err(failed("laying out sessions"))?;
    let steered = Steered::probe(config, &plan.layout, &ports);
    let (seeds, end, foreign) = assemble::<Mbuf>(&plan).map_err(failed("making the path"))?;
    let opened = opened(&ports);
    let control = config
        .control(&opened)
        .map_err(failed("interfaces"))
        .and_then(|c| Control::new(c).map_err(failed("interfaces")))?;
    let reload = Reload::new(file.to_owned(), config.clone(), opened);
    let (up_config, n4_config) = n4_configs(config, plan.layout.clone());
    let up = UpFunction::new(up_config, n4_config, foreign);
    let mut core = Core::new(control, up, end);
    if !n4.has_sockets() {
        core.serve_n4_on_ports_only();
    }
    let placed = config.placement.workers.iter();
    let cpus: Vec<usize> = placed.map(|c| usize::from(*c)).collect();
    let (workers, keeps_order) = start_workers(
        config,
        &eal,
        [&pool, &held],
        &ports,
        seeds,
        &mut core,
        &cpus,
    )?;
    thread::pin(&[usize::from(config.placement.housekeeping)])
        .unwrap_or_else(|e| tracing::warn!("{e}"));
    let metrics = serve_metrics(config, &core)?;
    thread::sleep_precisely();
    let elastic = Scaling::new(config.workers.scaling.clone(), &mut core);
    Ok(ControlLoop {
        metrics,
        _claims: claims,
        pool,
        core,
        n4,
        ctl,
        workers,
        links: Links::new(&config.ports, &ports),
        ports,
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

/// Buffers for packets on their way, and for those that wait for idle UEs.
fn make_buffers(config: &UpfConfig, eal: &Eal) -> Result<[MbufPool; 2], BootError> {
    let nodes = Nodes::of_this_machine();
    let wanted = numa::node_of_buffers(&nodes, config);
    let (pool, node) = match MbufPool::create(eal, config.pool(wanted)) {
        Err(error) if wanted.is_some() => {
            tracing::warn!(
                "packet buffers are on any NUMA node: {error}; expected huge pages on the ports' node"
            );
            (MbufPool::create(eal, config.pool(None)), None)
        }
        made => (made, wanted),
    };
    let pool = pool.map_err(failed("making packet buffers"))?;
    for warning in numa::apart(&nodes, config, node) {
        tracing::warn!("{warning}");
    }
    let pages = if eal.huge_pages() { "huge" } else { "normal" };
    tracing::info!("packet buffers are on {pages} pages");
    let held = MbufPool::create_to_keep(eal, config.held_pool(node));
    let held = held.map_err(failed("making packet buffers for idle UEs"))?;
    Ok([pool, held])
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

fn serve_metrics(config: &UpfConfig, core: &Core<Mbuf>) -> Result<Option<Metrics>, BootError> {
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

fn open_n4(config: &UpfConfig, ring: Option<RingEnd>, pool: &MbufPool) -> Result<N4, BootError> {
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
        match N4::open(address) {
            Ok(socket) => sockets.push(socket),
            Err(e) => {
                let expected = "an address of this machine whose port no other program has";
                return refused(e.to_string(), expected);
            }
        }
    }
    N4::new(sockets, ring, pool.clone()).map_err(failed("waiting for N4"))
}

fn opened(ports: &[Port]) -> HashMap<String, OpenedPort> {
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
fn start_workers(
    config: &UpfConfig,
    eal: &Eal,
    [pool, held]: [&MbufPool; 2],
    ports: &[Port],
    seeds: Vec<WorkerBuilder<Mbuf>>,
    core: &mut Core<Mbuf>,
    cpus: &[usize],
) -> Result<(Vec<Running>, Vec<bool>), BootError> {
    let count = seeds.len();
    let mut running = Vec::new();
    let mut keeps_order = vec![true; ports.len()];
    for (seed, cpu) in seeds.into_iter().zip(cpus) {
        let id = usize::from(seed.id());
        let (io, polled) = doors(pool, ports, id, count)?;
        let mut io = io.with_held_pool(held);
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
        running.push(
            Running::start(eal, worker, stats, pace, &name).map_err(failed("starting a worker"))?,
        );
    }
    Ok((running, keeps_order))
}

fn doors(
    pool: &MbufPool,
    ports: &[Port],
    worker: usize,
    workers: usize,
) -> Result<(DpdkIo, Vec<Polled>), BootError> {
    let mut io = DpdkIo::new(pool, ports);
    let mut polled = Vec::new();
    for (port, id) in ports.iter().zip(0..) {
        let info = port.info(PortId(id));
        if usize::from(info.tx_queues) < workers {
            return Err(BootError::Step {
                doing: "giving each worker a transmit queue",
                why: format!(
                    "port {} has {} for {workers} workers",
                    info.name, info.tx_queues
                ),
            });
        }
        for queue in (0..info.rx_queues).filter(|q| usize::from(*q) % workers == worker) {
            if port
                .rx_queue(queue)
                .is_some_and(|q| io.attach_rx(q).is_ok())
            {
                polled.push(Polled {
                    port: PortId(id),
                    queue: QueueId(queue),
                });
            }
        }
        let sends = port.tx_queue(worker as u16);
        let attached = sends.is_some_and(|q| io.attach_tx(q).is_ok());
        if !attached {
            return Err(BootError::Step {
                doing: "giving each worker a transmit queue",
                why: format!("port {}: queue {worker} cannot be taken", info.name),
            });
        }
    }
    Ok((io, polled))
}
