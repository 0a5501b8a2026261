//! JSON views for `sluice ctl`.

use super::ctl::{Request, error};
use super::devices::{DevicePort, Devices};
use super::links::Links;
use super::load::Load;
use super::n4::time;
use super::refusals;
use super::scaling::Scaling;
use super::steering::{self, Steered};
use serde_json::{Value, json};
use sluice_control::core::UpfControl;
use sluice_control::paths::{Health, PathView};
use sluice_datapath::ledger::{Ledger, WorkerStats};
use sluice_port::Packet;
use sluice_port::steer::Method;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// What there is to look at.
pub struct Upf<'a, D: Devices> {
    /// The control core.
    pub core: &'a UpfControl<D::Packet>,
    /// Open ports.
    pub ports: &'a [D::Port],
    /// Their links.
    pub links: &'a Links<D::Port>,
    /// For load since the last question.
    pub load: &'a mut Load,
    /// What scales them.
    pub elastic: &'a Scaling,
    /// Of each port: it tells what it has sent, so that order is kept when shards move.
    pub keeps_order: &'a [bool],
    /// How they steer.
    pub steered: &'a Steered<<D::Port as DevicePort>::Steer>,
    /// How long workers sleep at the longest.
    pub sleep_max: Duration,
}

/// The answer to a request.
pub fn answer<D: Devices>(request: &Request, upf: Upf<'_, D>) -> Value {
    match request {
        Request::Status => status(&upf),
        Request::Sessions => json!({ "sessions": upf.core.up.sessions() }),
        Request::Session { seid, ue } => session(upf.core, *seid, *ue),
        Request::Drops => drops(&upf.core.ledger()),
        Request::Ports => json!({ "ports": ports(&upf) }),
        Request::Workers => workers(upf),
        Request::Peers => peers(upf.core),
        Request::Counters => counters(upf.core),
        Request::Nat { address, port } => nat(upf.core, *address, *port),
        Request::Applications => json!({ "applications": upf.core.up.applications() }),
        Request::Refusals => refusals::view(upf.core.up.endpoint()),
        Request::Move { .. } | Request::Scale { .. } | Request::Reload | Request::Trace { .. } => {
            error("answered when it ends")
        }
    }
}

fn session<P: Packet>(core: &UpfControl<P>, seid: Option<u64>, ue: Option<IpAddr>) -> Value {
    let found = seid_of(core, seid, ue);
    match (found.and_then(|seid| core.up.session(seid)), seid, ue) {
        (Some(session), ..) => json!({ "session": session }),
        (None, Some(seid), _) => error(&format!("no session has the SEID {seid:#x}")),
        (None, None, Some(ue)) => error(&format!("no session has the UE address {ue}")),
        (None, None, None) => error("which session? expected seid, or ue"),
    }
}

/// Who has a public port, in each network instance that gives the address.
fn nat<P: Packet>(core: &UpfControl<P>, address: Ipv4Addr, port: u16) -> Value {
    let directory = &core.control.directory;
    let mut holders = directory.plain_instances().into_iter().filter_map(|id| {
        let ue = core.up.nat_holder(id, address, port)?;
        Some(json!({
            "network_instance": directory.instance_name(id),
            "ue": ue,
            "seid": core.up.seid_of_ue(ue).map(|seid| format!("{seid:#x}")),
        }))
    });
    let holder = holders.next();
    holder.unwrap_or_else(|| error(&format!("no UE has {address}:{port}")))
}

/// The session that is asked for, by its SEID or its UE's address.
pub fn seid_of<P: Packet>(
    core: &UpfControl<P>,
    seid: Option<u64>,
    ue: Option<IpAddr>,
) -> Option<u64> {
    seid.or_else(|| core.up.seid_of_ue(ue?))
}

fn status<D: Devices>(upf: &Upf<'_, D>) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_s": upf.load.started.elapsed().as_secs(),
        "workers": upf.core.end().workers(),
        "ports": upf.ports.len(),
        "sessions": upf.core.up.session_count(),
        "transactions_under_way": upf.core.end().under_way(),
    })
}

/// The answer to [`Request::Drops`].
pub fn drops(ledger: &Ledger) -> Value {
    let dropped: serde_json::Map<_, _> = ledger
        .dropped
        .iter()
        .map(|(reason, n)| (reason.name().to_owned(), json!(n)))
        .collect();
    let ledger = json!({
        "received": ledger.received,
        "created": ledger.created,
        "transmitted": ledger.transmitted,
        "to_control": ledger.to_control,
        "merged": ledger.merged,
        "held": ledger.held,
        "dropped_total": ledger.dropped_total(),
        "dropped": dropped,
        "balances": ledger.balances(),
        "equation": ledger.to_string().lines().next(),
    });
    json!({ "ledger": ledger })
}

fn ports<D: Devices>(upf: &Upf<'_, D>) -> Vec<Value> {
    let links = upf.links.states();
    let order = upf.keeps_order.iter().zip(upf.steered.methods());
    let steered = upf.steered.views(upf.core);
    let ports = upf.ports.iter().zip(links).zip(order).zip(steered);
    ports
        .map(
            |(((port, link), (keeps_order, method)), (steering, waiting))| {
                let info = port.info(sluice_port::PortId(0));
                // A driver without counters shows zeros.
                let stats = port.stats();
                json!({
                    "name": info.name,
                    "driver": port.driver(),
                    "link": link.name(),
                    "mac": sluice_wire::eth::MacAddr(info.mac).to_string(),
                    "mtu_bytes": info.mtu_bytes,
                    "rx_queues": info.rx_queues,
                    "tx_queues": info.tx_queues,
                    "order_across_moves": order_across_moves(*keeps_order, method),
                    "rx_packets": stats.rx_packets,
                    "rx_bytes": stats.rx_bytes,
                    "rx_missed": stats.rx_missed,
                    "rx_errors": stats.rx_errors,
                    "rx_no_buffer": stats.rx_no_buffer,
                    "tx_packets": stats.tx_packets,
                    "tx_bytes": stats.tx_bytes,
                    "tx_errors": stats.tx_errors,
                    "steering": steering,
                    "waiting": waiting,
                })
            },
        )
        .collect()
}

/// A hash sees the UE's address only, and the shard of a UE outside of the pools is not in it: what
/// is steered elsewhere with its group may overtake what came before.
fn order_across_moves(port_tells: bool, method: Method) -> &'static str {
    match (port_tells, method) {
        (false, _) => "not guaranteed",
        (true, Method::Hash) => "kept for UEs of the pools",
        (true, _) => "kept",
    }
}

/// What the workers do, and who decides how many there are.
fn workers<D: Devices>(upf: Upf<'_, D>) -> Value {
    json!({
        "workers": upf.load.workers(upf.core),
        "elastic": upf.elastic.view(),
        "waiting": steering::waiting(upf.sleep_max),
        "cycles_per_ns": upf.load.ticks_per_ns(),
    })
}

fn peers<P: Packet>(core: &UpfControl<P>) -> Value {
    let directory = &core.control.directory;
    let neighbours: Vec<_> = directory
        .neighbours()
        .map(|(hop, is_static)| {
            json!({
                "interface": directory.name(hop.interface),
                "address": hop.address.to_string(),
                "mac": hop.mac.map(|m| sluice_wire::eth::MacAddr(m).to_string()),
                "static": is_static,
            })
        })
        .collect();
    let tunnels: Vec<_> = directory
        .peers()
        .map(|(peer, users)| {
            json!({
                "address": peer.address().to_string(),
                "local": peer.local().to_string(),
                "users": users,
            })
        })
        .collect();
    let now_ns = time().now.0;
    let paths: Vec<_> = directory
        .paths()
        .views()
        .map(|path| path_view(&path, now_ns))
        .collect();
    json!({
        "associations": core.up.associations(),
        "gtpu_peers": tunnels,
        "gtpu_paths": paths,
        "neighbours": neighbours,
    })
}

/// A path, and whether its peer answers Echo Requests.
fn path_view(path: &PathView, now_ns: u64) -> Value {
    let (state, failed_ns) = match path.health {
        Health::Unknown => ("unknown", None),
        Health::Answers => ("answers", None),
        Health::Failed { since_ns } => ("failed", Some(now_ns.saturating_sub(since_ns))),
    };
    json!({
        "address": path.ends.remote.to_string(),
        "local": path.ends.local.to_string(),
        "state": state,
        "failed_for_s": failed_ns.map(|ns| ns / 1_000_000_000),
        "round_trip_us": path.round_trip_ns.map(|ns| ns / 1000),
        "used": path.is_used,
    })
}

fn counters<P: Packet>(core: &UpfControl<P>) -> Value {
    let c = core.control.counters();
    let counted = core.up.endpoint().counters();
    let n4: serde_json::Map<_, _> = counted
        .iter()
        .map(|(name, n)| (name.to_owned(), json!(n)))
        .collect();
    let port = core.n4_counters();
    let reports = core.up.reports();
    let held = |pick: fn(&WorkerStats) -> u64| -> u64 {
        core.end().stats().iter().map(|worker| pick(worker)).sum()
    };
    let nat = core.up.nat_counters();
    json!({
        "nat": {
            "blocks": nat.blocks,
            "used": nat.used,
            "refused": nat.refused,
            "records_lost": nat.records_lost,
        },
        "n4": n4,
        "session_reports": {
            "sent_downlink_data": reports.sent_downlink_data,
            "sent_error_indication": reports.sent_error_indication,
            "sent_usage": reports.sent_usage,
            "sent_inactivity": reports.sent_inactivity,
            "answered": reports.answered,
            "returned": reports.failed,
            "pending": reports.pending,
            "under_way": reports.under_way,
        },
        "held_for_ues": {
            "packets": held(|worker| worker.held_for_ues.get()),
            "ues": held(|worker| worker.held_entries.get()),
        },
        "n4_on_ports": {
            "received": port.received,
            "fragments": port.fragments,
            "malformed": port.malformed,
            "checksum": port.checksum,
            "reassembly": port.reassembly,
            "sent": port.sent,
            "unresolved": port.unresolved,
            "no_route": port.no_route,
            "unsent": port.unsent,
        },
        "control": {
            "arp_replies": c.arp_replies,
            "arp_requests": c.arp_requests,
            "icmp_echo_replies": c.icmp_echo_replies,
            "icmp_errors": c.icmp_errors,
            "neighbour_advertisements": c.neighbour_advertisements,
            "neighbour_solicitations": c.neighbour_solicitations,
            "icmpv6_echo_replies": c.icmpv6_echo_replies,
            "icmpv6_errors": c.icmpv6_errors,
            "router_advertisements": c.router_advertisements,
            "router_solicitations_limited": c.router_solicitations_limited,
            "gtpu_echo_responses": c.gtpu_echo_responses,
            "gtpu_echo_limited": c.gtpu_echo_limited,
            "gtpu_echo_requests": c.gtpu_echo_requests,
            "gtpu_echo_answers": c.gtpu_echo_answers,
            "error_indications_sent": c.error_indications_sent,
            "error_indications_received": c.error_indications_received,
            "end_markers": c.end_markers,
            "extension_notifications": c.extension_notifications,
            "extension_notifications_limited": c.extension_notifications_limited,
            "ignored": c.ignored,
            "limited": c.limited,
            "lost_frames": core.lost_frames(),
        },
    })
}
