//! Sessions and UPFs as the SMF knows them: for `sluice ctl`, HTTP and metrics.

use crate::operators::answers::{self, Function, Procedure};
use crate::operators::counters::SmfCounters;
use crate::operators::ended::{self, Ended};
use crate::operators::request::{Request, UES_MAX, subscriber};
use serde::{Deserialize, Serialize};
use sluice_ids::Supi;
use sluice_smf::view::{SessionView, UpfView, Waiting};
use sluice_smf::{Smf, Usage};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Knowledge of an SMF.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SmfPart {
    pub sessions: usize,
    /// Usage of all sessions that was reported since the start.
    pub usage: answers::UsageSum,
    /// Associations with UPFs that there are, or are being begun or ended.
    pub upfs_left: usize,
    pub procedures: usize,
    pub counters: SmfCounters,
    pub upfs: Vec<answers::Upf>,
    /// Procedures under way, where they are asked for.
    pub waiting: Vec<Procedure>,
    /// Sessions of the UE that is asked for.
    pub of_ue: Vec<answers::Session>,
    /// Addresses of UEs, where these are asked for.
    pub addresses: BTreeMap<String, String>,
    /// Procedures that ended, where metrics are asked for.
    pub ended: Vec<Ended>,
}

/// All that a question needs of an SMF.
pub(crate) fn part(request: &Request, smf: &Smf) -> SmfPart {
    let mut part = SmfPart {
        sessions: smf.sessions(),
        usage: usage(smf.usage()),
        upfs_left: smf.upfs_left(),
        procedures: smf.procedures().len(),
        counters: smf.counters().into(),
        upfs: Vec::new(),
        waiting: Vec::new(),
        of_ue: Vec::new(),
        addresses: BTreeMap::new(),
        ended: Vec::new(),
    };
    match request {
        Request::Procedures => part.waiting = smf.waiting().into_iter().map(procedure).collect(),
        // Their sessions are counted one by one.
        Request::Status => part.upfs = upfs(smf),
        Request::Metrics => {
            part.upfs = upfs(smf);
            part.ended = ended::of(smf.tally());
        }
        Request::Ue { imsi } => {
            let supi = subscriber(imsi).ok();
            let its = supi.map(|supi| smf.sessions_of(&supi)).unwrap_or_default();
            part.of_ue = its.into_iter().map(session).collect();
        }
        Request::Ues { from, count } => {
            let from = from.as_deref().and_then(|from| subscriber(from).ok());
            let count = count.unwrap_or(UES_MAX).min(UES_MAX);
            part.addresses = addresses(smf, from, count);
        }
        _ => {}
    }
    part
}

fn usage(sum: Usage) -> answers::UsageSum {
    answers::UsageSum {
        uplink_octets: sum.uplink_octets,
        downlink_octets: sum.downlink_octets,
    }
}

fn upfs(smf: &Smf) -> Vec<answers::Upf> {
    smf.upfs().into_iter().map(upf).collect()
}

fn upf(upf: UpfView) -> answers::Upf {
    let down = |(peer, sessions): &(IpAddr, usize)| answers::PathDown {
        gnb: peer.to_string(),
        sessions: *sessions,
    };
    answers::Upf {
        n4: upf.n4.to_string(),
        associated: upf.is_associated,
        sessions: upf.sessions,
        lacks: upf.lacks.map(Into::into),
        paths_down: upf.paths_down.iter().map(down).collect(),
    }
}

fn procedure(one: Waiting) -> Procedure {
    Procedure {
        function: Function::Smf,
        imsi: Some(one.supi.imsi().to_owned()),
        session: Some(one.session),
        waits_at: one.step.into(),
    }
}

/// Addresses of each UE with sessions from one on.
fn addresses(smf: &Smf, from: Option<Supi>, count: usize) -> BTreeMap<String, String> {
    let row = |supi: Supi| {
        let its = smf.sessions_of(&supi);
        let its: Vec<String> = its.iter().flat_map(addresses_of).collect();
        (supi.imsi().to_owned(), its.join(" "))
    };
    smf.subscribers(from, count).into_iter().map(row).collect()
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

/// A session as the SMF knows it; the AMF says whether its user plane is up.
fn session(view: SessionView) -> answers::Session {
    let policy = view.up_security;
    let result = policy.and_then(|(_, result)| result);
    answers::Session {
        id: view.identity,
        dnn: view.dnn.to_string(),
        slice: view.slice.to_string(),
        user_plane: answers::UserPlane::Down,
        r#type: Some(view.session_type.name().into()),
        addresses: Some(addresses_of(&view).collect()),
        ambr_down_bps: Some(view.ambr_bps.0),
        ambr_up_bps: Some(view.ambr_bps.1),
        five_qi: Some(view.five_qi),
        seid: Some(format!("{:#x}", view.seid)),
        upf_seid: Some(view.at_upf.map(|(seid, _)| format!("{seid:#x}"))),
        upf_tunnel: Some(view.at_upf.map(|(_, tunnel)| tunnel_text(&tunnel))),
        gnb_tunnel: Some(view.downlink.map(|tunnel| tunnel_text(&tunnel))),
        up_integrity: Some(policy.map(|(policy, _)| policy.integrity.name().into())),
        up_confidentiality: Some(policy.map(|(policy, _)| policy.confidentiality.name().into())),
        integrity_protected: Some(result.map(|one| one.integrity)),
        confidentiality_protected: Some(result.map(|one| one.confidentiality)),
        uplink_octets: Some(view.usage.uplink_octets),
        downlink_octets: Some(view.usage.downlink_octets),
        waits_at: Some(view.step.map(Into::into)),
        rules: None,
    }
}

fn tunnel_text(tunnel: &sluice_n2::Tunnel) -> String {
    let ipv4 = tunnel.ipv4.map(|ip| ip.to_string());
    let ipv6 = tunnel.ipv6.map(|ip| ip.to_string());
    let at: Vec<_> = [ipv4, ipv6].into_iter().flatten().collect();
    format!("{}/{:#x}", at.join(","), tunnel.teid)
}
