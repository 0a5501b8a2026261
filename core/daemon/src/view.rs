//! Answers to `sluice ctl`: what the core looks like, as JSON.

use crate::counters;
use crate::daemon::Daemon;
use crate::qos;
use serde_json::{Value, json};
use sluice_amf::view::{Connected, Gnb, Ue};
use sluice_ids::Supi;
use sluice_program::control::refusal;
use sluice_sbi::{AssociationId, AuthMethod};
use sluice_smf::view::SessionView;
use sluice_udr::AuthEvent;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The core in short.
pub(crate) fn status(daemon: &Daemon) -> Value {
    let core = daemon.runtime.core();
    let upfs = core.smf().map(|smf| {
        let upfs = smf.upfs().into_iter();
        let row = upfs.map(|upf| {
            json!({
                "n4": upf.n4.to_string(),
                "associated": upf.is_associated,
                "sessions": upf.sessions,
                "lacks": upf.lacks,
                "paths_down": paths_down(&upf.paths_down),
            })
        });
        row.collect::<Vec<_>>()
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_s": daemon.started.elapsed().as_secs(),
        "gnbs": core.amf().gnbs().len(),
        "associations": daemon.runtime.n2().gnbs().count(),
        "ues_registered": core.amf().registered(),
        "ues_connected": core.amf().connected(),
        "sessions": core.smf().map(|smf| smf.sessions()),
        "procedures": core.amf().procedures().len()
            + core.smf().map_or(0, |smf| smf.procedures().len()),
        "refused": daemon.refusals.total(),
        "ues_unauthenticated": core.amf().unauthenticated(),
        "busy_percent": daemon.runtime.load().busy_percent(),
        "overload": core.amf().overloaded().map(overload),
        "contexts": contexts(daemon),
        "subscriber_database_up": daemon.is_database_up(),
        "upfs": upfs,
    })
}

/// gNBs that do not answer a UPF on the user plane.
fn paths_down(paths: &[(IpAddr, usize)]) -> Value {
    let row = |(peer, sessions): &(IpAddr, usize)| json!({ "gnb": peer.to_string(), "sessions": sessions });
    paths.iter().map(row).collect()
}

/// How it is with the store of contexts; null without one.
fn contexts(daemon: &Daemon) -> Value {
    let core = daemon.runtime.core();
    let row = core.contexts_state().map(|state| {
        let (_, last_failure) = core.contexts_failed();
        json!({
            "up": state.is_up,
            "pending": state.pending,
            "failures": state.failures,
            "last_failure": last_failure,
        })
    });
    row.into()
}

/// What gNBs keep away.
pub(crate) fn overload(overload: sluice_n2::Overload) -> Value {
    use sluice_n2::OverloadAction as Action;
    let action = match overload.action {
        Action::RejectData => "reject_data",
        Action::RejectSignalling => "reject_signalling",
        Action::PermitEmergency => "permit_emergency",
        Action::PermitHighPriority => "permit_high_priority",
    };
    json!({ "action": action, "percent": overload.percent })
}

/// UEs, a row each.
pub(crate) fn ues(daemon: &Daemon, from: Option<Supi>, count: usize) -> Value {
    let core = daemon.runtime.core();
    let gnbs = names(daemon);
    let row = |ue: &Ue| {
        let addresses = sessions(daemon, &ue.supi);
        let addresses = addresses.iter().flat_map(addresses_of);
        json!({
            "imsi": ue.supi.imsi(),
            "state": state(ue),
            "gnb": ue.connected.as_ref().map(|at| gnb_of(at, &gnbs)),
            "sessions": ue.sessions.len(),
            "addresses": addresses.collect::<Vec<_>>().join(" "),
            "waits_at": ue.step,
        })
    };
    let ues = core.amf().ues(from, count);
    json!({
        "known": core.amf().known(),
        "registered": core.amf().registered(),
        "connected": core.amf().connected(),
        "ues": ues.iter().map(row).collect::<Vec<_>>(),
    })
}

/// NR Cell Identity, 36 bits, as nine hexadecimal digits (TS 38.413, 9.3.1.7).
fn hex_digits(cell: sluice_ids::NrCellIdentity) -> String {
    let octets = cell
        .0
        .iter()
        .fold(0_u64, |all, octet| all << 8 | u64::from(*octet));
    format!("{:09x}", octets >> 4)
}

/// One UE.
pub(crate) fn ue(daemon: &Daemon, supi: &Supi) -> Value {
    let core = daemon.runtime.core();
    let refused = daemon.refusals.of(&supi.to_string());
    let Some(ue) = core.amf().ue(supi) else {
        let is_subscriber = core.udr().sqn_of(supi).is_some();
        let why = match is_subscriber {
            false => "there is no subscriber of this IMSI",
            true => {
                "the subscriber is not registered; see sluice ctl flow and sluice ctl --core refusals"
            }
        };
        return refusal("not_found", why);
    };
    let gnbs = names(daemon);
    let at = ue.connected.as_ref().map(|at| {
        json!({
            "gnb": gnb_of(at, &gnbs),
            "tracking_area": at.location.tai.to_string(),
            "cell": hex_digits(at.location.cell),
            "amf_ue_ngap_id": at.amf.0,
            "ran_ue_ngap_id": at.ran.0,
        })
    });
    let its = sessions(daemon, supi);
    let session = |one: &sluice_amf::view::Session| {
        let known = its.iter().find(|view| view.identity == one.identity);
        let mut row = session_row(one, known);
        if known.is_some() {
            row["rules"] = qos::rules(daemon, supi, one.identity).into();
        }
        row
    };
    json!({ "ue": {
        "imsi": ue.supi.imsi(),
        "state": state(&ue),
        "guti": ue.guti.map(|guti| guti.to_string()),
        "imeisv": ue.imeisv.map(|imeisv| imeisv.to_string()),
        "allowed_slices": ue.allowed_nssai.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "authentication": core.udr().authentication_of(supi).map(authentication),
        "ambr_down_bps": ue.ambr_bps.map(|(down, _)| down),
        "ambr_up_bps": ue.ambr_bps.map(|(_, up)| up),
        "connected": at,
        "waits_at": ue.step,
        "sessions": ue.sessions.iter().map(session).collect::<Vec<_>>(),
        "refused": refused,
    }})
}

/// How a subscriber was authenticated last.
fn authentication(event: &AuthEvent) -> Value {
    let method = match event.method {
        AuthMethod::FiveGAka => "5G_AKA",
        AuthMethod::EapAkaPrime => "EAP_AKA_PRIME",
    };
    json!({
        "success": event.success,
        "method": method,
        "serving_network": String::from_utf8_lossy(event.network.octets()),
        "unix_s": event.unix_s,
    })
}

fn session_row(one: &sluice_amf::view::Session, known: Option<&SessionView>) -> Value {
    let mut row = json!({
        "id": one.identity,
        "dnn": one.dnn.to_string(),
        "slice": one.slice.to_string(),
        "user_plane": if one.is_up { "up" } else { "down" },
    });
    let (Some(view), Value::Object(row)) = (known, &mut row) else {
        return row;
    };
    let policy = view.up_security.map(|(policy, _)| policy);
    let result = view.up_security.and_then(|(_, result)| result);
    let more = json!({
        "type": view.session_type.name(),
        "addresses": addresses_of(view).collect::<Vec<_>>(),
        "ambr_down_bps": view.ambr_bps.0,
        "ambr_up_bps": view.ambr_bps.1,
        "five_qi": view.five_qi,
        "seid": format!("{:#x}", view.seid),
        "upf_seid": view.at_upf.map(|(seid, _)| format!("{seid:#x}")),
        "upf_tunnel": view.at_upf.map(|(_, tunnel)| tunnel_text(&tunnel)),
        "gnb_tunnel": view.downlink.map(|tunnel| tunnel_text(&tunnel)),
        "up_integrity": policy.map(|one| one.integrity.name()),
        "up_confidentiality": policy.map(|one| one.confidentiality.name()),
        "integrity_protected": result.map(|one| one.integrity),
        "confidentiality_protected": result.map(|one| one.confidentiality),
        "uplink_octets": view.usage.uplink_octets,
        "downlink_octets": view.usage.downlink_octets,
        "waits_at": view.step,
    });
    if let Value::Object(more) = more {
        row.extend(more);
    }
    Value::Object(row.clone())
}

fn tunnel_text(tunnel: &sluice_n2::Tunnel) -> String {
    let ipv4 = tunnel.ipv4.map(|ip| ip.to_string());
    let ipv6 = tunnel.ipv6.map(|ip| ip.to_string());
    let at: Vec<_> = [ipv4, ipv6].into_iter().flatten().collect();
    format!("{}/{:#x}", at.join(","), tunnel.teid)
}

/// IPv4, and the interface identifier of IPv6: the prefix comes by Router Advertisement.
fn addresses_of(view: &SessionView) -> impl Iterator<Item = String> + use<> {
    let ipv4 = view.address.ipv4.map(|ip| ip.to_string());
    let identifier = view.address.interface_identifier.map(|octets| {
        let low = u64::from_be_bytes(octets);
        let link_local = (0xfe80_u128 << 112) | u128::from(low);
        std::net::Ipv6Addr::from_bits(link_local).to_string()
    });
    [ipv4, identifier].into_iter().flatten()
}

fn sessions(daemon: &Daemon, supi: &Supi) -> Vec<SessionView> {
    let smf = daemon.runtime.core().smf();
    smf.map(|smf| smf.sessions_of(supi)).unwrap_or_default()
}

fn state(ue: &Ue) -> &'static str {
    match (ue.is_registered, &ue.connected) {
        (true, Some(_)) => "connected",
        (true, None) => "idle",
        (false, Some(_)) => "registering",
        (false, None) => "deregistered",
    }
}

/// What gNBs are called.
fn names(daemon: &Daemon) -> BTreeMap<AssociationId, String> {
    let gnbs = daemon.runtime.core().amf().gnbs().into_iter();
    gnbs.map(|gnb| (gnb.association, name_of(&gnb))).collect()
}

fn name_of(gnb: &Gnb) -> String {
    match &gnb.name {
        Some(name) => name.clone(),
        None => gnb.identity.to_string(),
    }
}

fn gnb_of(at: &Connected, names: &BTreeMap<AssociationId, String>) -> String {
    names.get(&at.association).cloned().unwrap_or_default()
}

/// gNBs, a row each.
pub(crate) fn gnbs(daemon: &Daemon) -> Value {
    let peers: BTreeMap<_, _> = daemon.runtime.n2().gnbs().collect();
    let row = |gnb: &Gnb| {
        let areas = gnb.areas.iter().flat_map(|area| {
            area.plmns.iter().map(move |plmn| {
                let slices: Vec<_> = plmn.slices.iter().map(ToString::to_string).collect();
                format!("{} {} slices {}", plmn.plmn, area.tac, slices.join(","))
            })
        });
        json!({
            "id": gnb.identity.to_string(),
            "name": gnb.name,
            "address": peers.get(&gnb.association).map(|peer| peer.address.to_string()),
            "ues": gnb.connected,
            "areas": areas.collect::<Vec<_>>().join("; "),
        })
    };
    let gnbs = daemon.runtime.core().amf().gnbs();
    let silent = peers
        .keys()
        .filter(|association| !gnbs.iter().any(|gnb| gnb.association == **association));
    json!({
        "gnbs": gnbs.iter().map(row).collect::<Vec<_>>(),
        "associations_without_setup": silent.count(),
    })
}

/// Procedures under way.
pub(crate) fn procedures(daemon: &Daemon) -> Value {
    let core = daemon.runtime.core();
    let of_ues = core.amf().waiting().into_iter().map(|one| {
        json!({
            "function": "AMF",
            "imsi": one.supi.map(|supi| supi.imsi().to_owned()),
            "session": one.session,
            "waits_at": one.step,
        })
    });
    let mut all: Vec<_> = of_ues.collect();
    if let Some(smf) = core.smf() {
        all.extend(smf.waiting().into_iter().map(|one| {
            json!({
                "function": "SMF",
                "imsi": one.supi.imsi(),
                "session": one.session,
                "waits_at": one.step,
            })
        }));
    }
    json!({ "procedures": all })
}

/// What was said of a UE.
pub(crate) fn flow(daemon: &Daemon, supi: &Supi) -> Value {
    json!({ "imsi": supi.imsi(), "lines": daemon.flow.of(supi) })
}

/// All counters.
pub(crate) fn counters(daemon: &Daemon) -> Value {
    let core = daemon.runtime.core();
    let n4 = daemon.runtime.n4().map(|n4| n4.counters());
    json!({
        "n2": counters::of_n2(daemon.runtime.n2().counters()),
        "sctp": counters::of_sctp(daemon.runtime.n2().sctp_counters()),
        "n4": n4.map(counters::of_n4),
        "amf": counters::of_amf(core.amf().counters()),
        "smf": core.smf().map(|smf| counters::of_smf(smf.counters())),
        "nssf": counters::of_nssf(core.nssf().counters()),
        "nrf": counters::of_nrf(core.nrf().counters()),
    })
}
