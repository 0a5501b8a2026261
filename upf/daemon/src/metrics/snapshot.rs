//! Snapshot of the control core's counters.

use crate::devices::{Buffers, DevicePort, Devices};
use crate::links::{Links, State};
use sluice_control::core::UpfControl;
use sluice_control::n4_port::PortN4Counters;
use sluice_control::paths::PathCounts;
use sluice_control::signalling::ControlCounters;
use sluice_port::{PortId, PortStats};
use sluice_session::{InUse, NatCounters, ReportCounters};
use sluice_wire::pfcp::{Cause, MessageType};

/// Counters and sizes; they are made into text elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Since the start.
    pub uptime_s: f64,
    /// Ticks of the processor's clock in a nanosecond.
    pub ticks_per_ns: f64,
    /// Ports.
    pub ports: Vec<Reading>,
    /// How each port steers.
    pub steering: Vec<&'static str>,
    /// Changes of steering that are over, and under way.
    pub resteers: (u64, usize),
    /// Sessions.
    pub sessions: usize,
    /// Load of the node, and the reduction that SMFs are asked for, in percent.
    pub load_percent: [u8; 2],
    /// Applications with flows, or in use.
    pub applications: usize,
    /// Sessions that kept former flows of an application.
    pub flows_kept: u64,
    /// What is given out of each resource.
    pub in_use: InUse,
    /// Blocks of public ports.
    pub nat: NatCounters,
    /// Associations that answer, and that do not.
    pub associations: [usize; 2],
    /// Tunnel peers, and stations of which the MAC address is known or sought.
    pub gtpu_peers: usize,
    /// Paths to them by whether they answer.
    pub gtpu_paths: PathCounts,
    /// See there.
    pub neighbours: usize,
    /// N4: messages and events by name.
    pub n4: Vec<(&'static str, u64)>,
    /// N4: responses sent, by type and cause.
    pub n4_causes: Vec<(MessageType, Cause, u64)>,
    /// N4 on ports.
    pub n4_ports: PortN4Counters,
    /// Session reports.
    pub reports: ReportCounters,
    /// Frames of the control core.
    pub control: ControlCounters,
    /// Frames that it could give to no worker.
    pub lost_frames: u64,
    /// Packet buffers, and those that are free.
    pub buffers: [u32; 2],
    /// Moves of shards and queues, and those under way.
    pub moves: (u64, usize),
    /// Shards and receive queues of each worker.
    pub shares: Vec<(u32, usize)>,
    /// Transactions under way.
    pub transactions: usize,
}

impl Snapshot {
    /// Of a UPF with one port and one worker: so that every family has a sample.
    pub fn example() -> Self {
        Self {
            ports: vec![Reading {
                name: "n3".to_owned(),
                is_up: Some(true),
                stats: Default::default(),
                queues: [false, true]
                    .map(|bytes| Queue {
                        receives: true,
                        number: 1,
                        bytes,
                        count: 5,
                    })
                    .to_vec(),
            }],
            n4: vec![
                ("received_heartbeat_request", 4),
                ("retransmitted", 2),
                ("peer_lost", 1),
            ],
            shares: vec![(4096, 2)],
            steering: vec!["software"],
            n4_ports: PortN4Counters {
                received: 12,
                unsent: 3,
                ..Default::default()
            },
            ticks_per_ns: 2.0,
            ..Self::default()
        }
    }
}

/// A port's counters.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its name.
    pub name: String,
    /// The link carries packets, as far as that is known.
    pub is_up: Option<bool>,
    /// Over all queues.
    pub stats: PortStats,
    /// By queue, as far as the driver counts so.
    pub queues: Vec<Queue>,
}

/// What one queue has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue {
    /// It receives; otherwise it sends.
    pub receives: bool,
    /// Its number.
    pub number: u16,
    /// Bytes; otherwise packets.
    pub bytes: bool,
    /// How many.
    pub count: u64,
}

impl Snapshot {
    /// Of a running UPF, all but what its caller knows.
    pub fn of<D: Devices>(
        core: &UpfControl<D::Packet>,
        devices: &D,
        links: &Links<D::Port>,
    ) -> Self {
        let end = core.end();
        let (directory, mover) = (&core.control.directory, end.mover());
        let endpoint = core.up.endpoint();
        let silent = endpoint.associations().filter(|(_, a)| a.is_lost()).count();
        let pollers = |id: usize| {
            let pollers = mover.pollers().iter();
            pollers.filter(|(_, by)| usize::from(*by) == id).count()
        };
        let owned = mover.owned().into_iter().enumerate();
        Self {
            ports: devices
                .ports()
                .iter()
                .zip(links.states())
                .map(reading)
                .collect(),
            sessions: core.up.session_count(),
            load_percent: core.up.load_percent(),
            applications: core.up.application_count(),
            flows_kept: core.up.flows_kept(),
            in_use: core.up.in_use(),
            nat: core.up.nat_counters(),
            associations: [endpoint.associations().count() - silent, silent],
            gtpu_peers: directory.peers().count(),
            gtpu_paths: directory.paths().counts(),
            neighbours: directory.neighbours().count(),
            n4: endpoint.counters().iter().collect(),
            n4_causes: endpoint.counters().causes().collect(),
            n4_ports: core.n4_counters(),
            reports: core.up.reports(),
            control: core.control.counters(),
            lost_frames: core.lost_frames(),
            buffers: [devices.buffers().packets(), devices.buffers().available()],
            moves: mover.progress(),
            resteers: end.resteers(),
            shares: owned.map(|(id, shards)| (shards, pollers(id))).collect(),
            transactions: end.under_way(),
            ..Self::default()
        }
    }
}

fn reading<P: DevicePort>((port, link): (&P, State)) -> Reading {
    let extended = port.extended_stats();
    Reading {
        name: port.info(PortId(0)).name,
        is_up: match link {
            State::Up => Some(true),
            State::Down | State::Gone => Some(false),
            State::Unknown => None,
        },
        stats: port.stats(),
        queues: extended
            .iter()
            .filter_map(|(name, n)| queue(name, *n))
            .collect(),
    }
}

/// DPDK's names are such as `rx_q0_packets` and `tx_q3_bytes`.
fn queue(name: &str, count: u64) -> Option<Queue> {
    let (way, rest) = name.split_once("_q")?;
    let (number, what) = rest.split_once('_')?;
    Some(Queue {
        receives: match way {
            "rx" => true,
            "tx" => false,
            _ => return None,
        },
        number: number.parse().ok()?,
        bytes: match what {
            "bytes" => true,
            "packets" => false,
            _ => return None,
        },
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_read_from_the_driver_s_names() {
        let found = queue("rx_q12_packets", 7).unwrap();
        assert_eq!(
            (found.receives, found.number, found.bytes, found.count),
            (true, 12, false, 7)
        );
        let found = queue("tx_q0_bytes", 9).unwrap();
        assert_eq!(
            (found.receives, found.number, found.bytes),
            (false, 0, true)
        );
        for other in [
            "rx_good_packets",
            "rx_q0_errors",
            "rx_qx_bytes",
            "_q0_bytes",
            "rx_q0",
        ] {
            assert_eq!(queue(other, 1), None, "{other}");
        }
    }
}
