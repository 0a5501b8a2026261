//! Trace records in 3GPP terms.

use super::Sought;
use serde_json::{Map, Value, json};
use sluice_control::directory::Directory;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::meta::{Arrival, Meta, NO_QFI};
use sluice_datapath::session::rule::Flags;
use sluice_datapath::trace::{Came, Fate, Record, RuleSeen, Snap};
use sluice_host::clock;
use sluice_port::PortId;
use sluice_session::{RuleNames, TraceTarget};
use sluice_wire::ids::Seid;
use sluice_wire::ipv6::Ipv6;
use sluice_wire::layout::eth;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is known beside the record.
pub struct Scene<'a> {
    /// Names of the ports.
    pub ports: &'a [String],
    /// The interfaces.
    pub interfaces: &'a Directory,
    /// The session, if it was found.
    pub seid: Option<Seid>,
    /// The rule's names, if they were found.
    pub names: Option<RuleNames>,
}

/// Who is followed.
pub fn sought(sought: &Sought) -> Value {
    let sought = match sought {
        Sought::Any(sought) => *sought,
        Sought::Sessions(sessions) => {
            let seids = sessions.iter().map(|(up, _)| format!("{:#x}", up.0));
            return json!({ "sessions": seids.collect::<Vec<_>>() });
        }
    };
    match sought {
        TraceTarget::Ue(ue) => json!({ "ue": ue }),
        TraceTarget::UePrefix(prefix) => json!({ "ue": prefix_text(prefix) }),
        TraceTarget::Teid { teid, .. } => json!({ "teid": hexadecimal(teid) }),
        TraceTarget::Tunnel(peer, teid) => json!({ "peer": peer, "teid": hexadecimal(teid) }),
        TraceTarget::Peer(peer) => json!({ "peer": peer }),
    }
}

/// The prefix that a UE's IPv6 addresses have.
fn prefix_text(prefix: u64) -> String {
    let first = Ipv6Addr::from_bits(u128::from(prefix) << 64);
    format!("{first}/64")
}

/// Who sent a packet in a tunnel: of IPv6, whose metadata has no room for it, as the frame says.
fn sender(meta: &Meta, received: Option<&Snap>) -> IpAddr {
    let frame = received.map_or(&[][..], |snap| &snap.bytes);
    let packet = eth::payload_at(frame).and_then(|at| frame.get(at..));
    match packet.and_then(|packet| Ipv6::parse_quoted(packet).ok()) {
        Some(ip) => ip.source().into(),
        None => Ipv4Addr::from(meta.outer_src).into(),
    }
}

impl Scene<'_> {
    /// A step of a packet.
    pub fn describe(&self, packet: u64, record: &Record) -> Value {
        let mut step = Map::new();
        step.insert("packet".into(), json!(packet));
        step.insert("time".into(), json!(wall(record.at_ns)));
        step.insert("worker".into(), json!(record.worker.0));
        step.insert("came".into(), self.came(record.came));
        if let Some(meta) = &record.meta {
            self.placed(meta, sender(meta, record.received.as_ref()), &mut step);
        }
        if let Some(seid) = self.seid {
            step.insert("session".into(), json!(format!("{:#x}", seid.0)));
        }
        if let Some(rule) = &record.rule {
            step.insert("rule".into(), self.rule(rule, record.fate));
        }
        self.fate(record.fate, &mut step);
        if let Some(received) = &record.received {
            step.insert("received".into(), frame(received));
        }
        if let Some(sent) = &record.sent {
            let mut left = frame(&sent.frame);
            left["port"] = json!(self.port(sent.port));
            left["queue"] = json!(sent.queue.0);
            step.insert("sent".into(), left);
        }
        Value::Object(step)
    }

    fn port(&self, port: PortId) -> &str {
        self.ports
            .get(usize::from(port.0))
            .map_or("?", String::as_str)
    }

    fn came(&self, came: Came) -> Value {
        match came {
            Came::Queue(at) => json!({ "port": self.port(at.port), "queue": at.queue.0 }),
            Came::Workers => json!("from another worker"),
            Came::Control => json!("from the control core"),
            Came::Waited => json!("after it had waited for its next hop"),
        }
    }

    fn placed(&self, meta: &Meta, sender: IpAddr, step: &mut Map<String, Value>) {
        step.insert(
            "interface".into(),
            json!(self.interfaces.name(meta.interface)),
        );
        match meta.arrival {
            Arrival::Plain => {
                step.insert("ue".into(), json!(Ipv4Addr::from(meta.key)));
            }
            Arrival::Public => {
                step.insert("public_address".into(), json!(Ipv4Addr::from(meta.key)));
            }
            Arrival::PlainIpv6 => {
                step.insert("ue".into(), json!(prefix_text(meta.prefix())));
            }
            Arrival::Tunnel | Arrival::EndMarker => {
                step.insert("teid".into(), json!(hexadecimal(meta.key)));
                step.insert("from".into(), json!(sender));
            }
        }
        if meta.arrival == Arrival::EndMarker {
            step.insert("end_marker".into(), json!(true));
        }
        if meta.qfi != NO_QFI {
            step.insert("qfi".into(), json!(meta.qfi));
        }
        // What no table knows has a line beyond all.
        if meta.entry != EntryId(u32::MAX) {
            step.insert("shard".into(), json!(meta.entry.0 % SHARDS));
        }
    }

    /// PDR, then the verdicts in the order in which they are given.
    fn rule(&self, rule: &RuleSeen, fate: Fate) -> Value {
        let mut told = Map::new();
        if let Some(names) = &self.names {
            let prefix = || names.ue_prefix.map(|prefix| json!(prefix_text(prefix)));
            let ue = names.ue.map(|ue| json!(ue)).or_else(prefix);
            told.insert("ue".into(), ue.unwrap_or_default());
            told.insert("pdr".into(), json!(names.pdr));
            told.insert("precedence".into(), json!(names.precedence));
            told.insert("far".into(), json!(names.far));
            told.insert("qer".into(), json!(names.qers));
            told.insert("urr".into(), json!(names.urrs));
        }
        let flags = rule.head.flags;
        let is_closed = flags.has(Flags::GATE_CLOSED);
        let gate = if is_closed { "closed" } else { "open" };
        told.insert("gate".into(), json!(gate));
        let rate = match fate {
            Fate::Dropped(DropReason::MbrExceeded) => "exceeded",
            _ if rule.is_limited => "within",
            _ => "unlimited",
        };
        told.insert("rate".into(), json!(rate));
        let action = match flags {
            f if f.has(Flags::FORWARD) => "forward",
            f if f.has(Flags::N4U) => "to the CP function",
            _ => "drop",
        };
        told.insert("action".into(), json!(action));
        if let Some((peer, teid)) = rule.tunnel {
            told.insert(
                "to".into(),
                json!({ "peer": peer, "teid": hexadecimal(teid) }),
            );
        }
        if flags.has(Flags::MARK_QFI) {
            told.insert("qfi".into(), json!(rule.head.qfi_mark()));
        }
        Value::Object(told)
    }

    fn fate(&self, fate: Fate, step: &mut Map<String, Value>) {
        let verdict = match fate {
            Fate::Sent => "sent",
            Fate::Dropped(reason) => {
                step.insert("reason".into(), json!(reason.name()));
                "dropped"
            }
            Fate::HandedOver(to) => {
                step.insert("to_worker".into(), json!(to.0));
                "handed over"
            }
            Fate::ToControl => "to the control core",
            Fate::Waits => "waits",
            Fate::Ended => "ended",
        };
        step.insert("verdict".into(), json!(verdict));
    }
}

fn hexadecimal(teid: u32) -> String {
    format!("{teid:#010x}")
}

/// Seconds since 1970, as text: readers of JSON round numbers of more than 53 bits.
fn wall(at_ns: u64) -> String {
    let age_ns = clock::monotonic_ns().saturating_sub(at_ns);
    let at = clock::wall().saturating_sub(std::time::Duration::from_nanos(age_ns));
    format!("{}.{:09}", at.as_secs(), at.subsec_nanos())
}

fn frame(snap: &Snap) -> Value {
    let hex: String = snap.bytes.iter().map(|b| format!("{b:02x}")).collect();
    json!({ "bytes": snap.wire_bytes, "hex": hex })
}
