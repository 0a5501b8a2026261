//! Section `n4`: the PFCP endpoint.

use super::fields::{At, Fields};
use super::interfaces::Interface;
use super::kind::{Kind, boolean, cidr, node_id, number, socket_address, socket_path};
use super::problem::Report;
use core::net::SocketAddr;
use sluice_n4::{Cidr, NodeId, PeerPort};
use sluice_session::{LoadControlConfig, MbrZero, Unserved};
use std::path::PathBuf;

/// The port of PFCP (TS 29.244, 4.2.2).
const PFCP_PORT: u16 = sluice_wire::pfcp::PORT;

/// N4, the interface towards the control plane.
#[derive(Clone, PartialEq, Debug)]
pub struct N4 {
    /// Kernel sockets that PFCP is heard on; at least one, or an interface with `n4`.
    pub listen: Vec<At<SocketAddr>>,
    /// Socket at which SMFs of this machine get rings in place of UDP to the first address of `listen`.
    pub rings: Option<At<PathBuf>>,
    /// Our name towards SMFs.
    pub node_id: NodeId,
    /// SMFs that may talk to us; empty: all.
    pub peers: Vec<Cidr>,
    /// SMFs that we set up the association with.
    pub associate: Vec<At<SocketAddr>>,
    /// Where our requests to an SMF go.
    pub peer_port: PeerPort,
    /// From one heartbeat to the next, in seconds; 0: none.
    pub heartbeat_s: u32,
    /// Timer T1, in milliseconds.
    pub t1_ms: u32,
    /// Counter N1.
    pub n1: u8,
    /// How long sessions of a lost SMF go on carrying packets, in seconds.
    pub peer_loss_keep_s: u32,
    /// How long SMFs have to move their sessions away when we are stopped, in seconds.
    pub graceful_release_s: u32,
    /// Whether an SMF may choose the TEIDs of our F-TEIDs.
    pub accept_cp_fteid: bool,
    /// Whether we choose the TEIDs that an SMF leaves to us, and tell SMFs so (FTUP).
    pub choose_fteid: bool,
    /// What a Maximum Bitrate of 0 in one direction means.
    pub mbr_zero: MbrZero,
    /// What becomes of rules that ask for reports which are not made yet.
    pub unserved: Unserved,
    /// What SMFs are told of our load.
    pub load_control: LoadControlConfig,
    /// Associations at one time.
    pub associations_max: usize,
    /// Requests per second that the memory for retransmissions is made for.
    pub requests_per_s: u32,
    /// The line of the section.
    line: u32,
    has_listen: bool,
    has_node_id: bool,
}

impl N4 {
    /// True if both say the same, in whatever lines.
    pub(super) fn says(&self, other: &Self) -> bool {
        let line = self.line;
        *self
            == Self {
                line,
                ..other.clone()
            }
    }

    /// Reads the section.
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let listen = fields.list("listen", &socket_address(PFCP_PORT));
        refuse_repeated(fields, "listen", &listen);
        let rings = fields.optional("rings", &socket_path());
        if let Some(rings) = &rings
            && listen
                .first()
                .is_none_or(|at| at.value.ip().is_unspecified())
        {
            let (key, what) = (fields.key("rings"), "given, and n4.listen names no address");
            let expected = "the address first in n4.listen by which SMFs know us";
            fields.report().problem(rings.line, key, what, expected);
        }
        let node_id = read_node_id(fields, &listen);
        let peers = read_peers(fields);
        let associate = fields.list("associate", &socket_address(PFCP_PORT));
        refuse_repeated(fields, "associate", &associate);
        refuse_strangers(fields, &associate, &peers);
        Self {
            rings,
            node_id,
            peers,
            associate,
            peer_port: fields.or("peer_port", "8805", &peer_port()).value,
            heartbeat_s: fields
                .or("heartbeat_s", "10", &number(0, 3600, "seconds"))
                .value,
            t1_ms: fields
                .or("t1_ms", "1000", &number(10, 60_000, "milliseconds"))
                .value,
            n1: fields
                .or("n1", "3", &number(0, 20, "retransmissions"))
                .value,
            peer_loss_keep_s: fields
                .or("peer_loss_keep_s", "600", &number(0, 86_400, "seconds"))
                .value,
            graceful_release_s: fields
                .or("graceful_release_s", "5", &number(0, 3600, "seconds"))
                .value,
            accept_cp_fteid: fields.or("accept_cp_fteid", "true", &boolean()).value,
            choose_fteid: fields.or("choose_fteid", "true", &boolean()).value,
            mbr_zero: fields.or("mbr_zero", "unlimited", &mbr_zero()).value,
            unserved: fields.or("unserved", "admit", &unserved()).value,
            load_control: LoadControlConfig {
                enabled: fields.or("load_control", "true", &boolean()).value,
                overload_percent: fields
                    .or("overload_percent", "90", &number(50, 100, "percent"))
                    .value,
            },
            associations_max: fields
                .or("associations_max", "256", &number(1, 65_536, "SMFs"))
                .value,
            requests_per_s: fields
                .or(
                    "requests_per_s",
                    "100000",
                    &number(100, 10_000_000, "requests"),
                )
                .value,
            listen,
            line: fields.line(),
            has_listen: fields.has("listen"),
            has_node_id: fields.has("node_id"),
        }
    }

    /// Checks across keys and interfaces: somebody chooses TEIDs, and something serves N4. If there is no socket, the first
    /// address of an interface that does is our name.
    pub(super) fn complete(&mut self, interfaces: &[Interface], report: &mut Report) {
        if !self.choose_fteid && !self.accept_cp_fteid {
            let what = "false, and accept_cp_fteid is false";
            let expected = "one of them: else nobody may choose TEIDs";
            report.problem(self.line, "n4.choose_fteid", what, expected);
        }
        if self.has_listen {
            return;
        }
        let served = interfaces.iter().flat_map(Interface::n4_addresses).next();
        match served {
            Some(address) if !self.has_node_id => self.node_id = NodeId::v4(address),
            Some(_) => {}
            None if interfaces.is_empty() || report.is_clean("interfaces") => {
                let listed = socket_address(PFCP_PORT).expected;
                let expected = format!("a list of {listed}; or n4 on one of the interfaces");
                report.problem(self.line, "n4.listen", "missing", expected);
            }
            None => {}
        }
    }
}

/// No two sockets can have one address, and an SMF has one association.
fn refuse_repeated(fields: &mut Fields<'_, '_>, key: &str, list: &[At<SocketAddr>]) {
    for (i, at) in list.iter().enumerate() {
        if list[..i].iter().any(|before| before.value == at.value) {
            let what = format!("{} is given twice", at.value);
            let key = format!("{}[{i}]", fields.key(key));
            fields
                .report()
                .problem(at.line, key, what, "each address once");
        }
    }
}

/// An SMF that may not talk to us cannot answer.
fn refuse_strangers(fields: &mut Fields<'_, '_>, list: &[At<SocketAddr>], peers: &[Cidr]) {
    for (i, at) in list.iter().enumerate() {
        let may_talk = |peer: &Cidr| peer.contains(at.value.ip());
        if !peers.is_empty() && !peers.iter().any(may_talk) {
            let what = format!("{} is none of n4.peers", at.value.ip());
            let key = format!("{}[{i}]", fields.key("associate"));
            fields
                .report()
                .problem(at.line, key, what, "an SMF that may talk to us");
        }
    }
}

/// Our name is the first address that we listen on unless it says otherwise; that of an interface is
/// looked up once those are read.
fn read_node_id(fields: &mut Fields<'_, '_>, listen: &[At<SocketAddr>]) -> NodeId {
    let first = listen.first().map(|listen| listen.value.ip());
    let given = fields.optional("node_id", &node_id()).map(|at| at.value);
    if given.is_none() && !fields.has("node_id") && first.is_some_and(|ip| ip.is_unspecified()) {
        let expected = "the address that SMFs know us by, as n4.listen names none";
        fields.missing("node_id", expected);
    }
    given.unwrap_or(NodeId::Ip(
        first.unwrap_or(core::net::Ipv4Addr::UNSPECIFIED.into()),
    ))
}

fn read_peers(fields: &mut Fields<'_, '_>) -> Vec<Cidr> {
    let peers = fields.list("peers", &cidr());
    if peers.is_empty() {
        let (line, key) = (fields.line(), fields.key("peers"));
        let what = "whoever reaches N4 may set up sessions";
        fields
            .report()
            .warning(line, key, what, "the prefixes of your SMFs");
    }
    peers.into_iter().map(|at| at.value).collect()
}

fn peer_port() -> Kind<PeerPort> {
    Kind::new("source, or a UDP port", |text| match text {
        "source" => Some(PeerPort::Source),
        port => port.parse().ok().filter(|p| *p != 0).map(PeerPort::Fixed),
    })
}

fn mbr_zero() -> Kind<MbrZero> {
    Kind::new("unlimited or closed", |text| match text {
        "unlimited" => Some(MbrZero::Unlimited),
        "closed" => Some(MbrZero::Closed),
        _ => None,
    })
}

fn unserved() -> Kind<Unserved> {
    Kind::new("admit or refuse", |text| match text {
        "admit" => Some(Unserved::Admit),
        "refuse" => Some(Unserved::Refuse),
        _ => None,
    })
}
