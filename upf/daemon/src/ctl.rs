//! What `sluice ctl` can ask a UPF.

use serde::Deserialize;
use sluice_program::control::{Asked, Question, Socket};
use std::net::{IpAddr, Ipv4Addr};

pub use sluice_program::control::{Asker, error};

/// The UPF's control socket.
pub type Ctl = Socket<Request>;

/// A request and where its answer goes.
pub type CtlRequest = Asked<Request>;

/// What can be asked.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Version, uptime, ports, sessions in short.
    Status,
    /// All sessions, a line each.
    Sessions,
    /// One session with its rules and counters.
    Session {
        /// Its UP SEID.
        seid: Option<u64>,
        /// Or its UE's address.
        ue: Option<IpAddr>,
    },
    /// The packet ledger.
    Drops,
    /// Ports with their counters.
    Ports,
    /// Workers with their load.
    Workers,
    /// N4 associations, GTP-U peers, neighbours.
    Peers,
    /// Counters of N4 and of the control core.
    Counters,
    /// Requests that were refused, the newest, and all by cause.
    Refusals,
    /// Applications with their flows.
    Applications,
    /// Which UE has a public port.
    Nat {
        /// The public address.
        address: Ipv4Addr,
        /// The port.
        port: u16,
    },
    /// Move a shard, named by its number or by a UE of it.
    Move {
        /// Which.
        shard: Option<u16>,
        /// Or whose.
        ue: Option<IpAddr>,
        /// To which worker.
        to: u8,
    },
    /// Read upf.yaml again.
    Reload,
    /// Let so many workers work.
    Scale {
        /// How many; none: as the load asks for it.
        workers: Option<u8>,
    },
    /// Follow packets, and tell what becomes of each: one object a line, until one has `done`.
    Trace {
        /// Those of this UE.
        ue: Option<IpAddr>,
        /// Or of this peer.
        peer: Option<IpAddr>,
        /// Or of these sessions, and of nobody else who has their addresses afterwards: UP SEID, and the CP function's
        /// SEID, by which a session of another UPF with the same number is none of them.
        sessions: Option<Vec<(u64, u64)>>,
        /// Or of this address, whatever it is; with a TEID those of that tunnel.
        address: Option<IpAddr>,
        /// The tunnel's TEID.
        teid: Option<u32>,
        /// So many packets.
        count: Option<u64>,
        /// For so long.
        seconds: Option<u32>,
    },
}

impl Question for Request {
    fn has_many_answers(&self) -> bool {
        matches!(self, Self::Trace { .. })
    }
}
