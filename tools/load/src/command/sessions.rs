//! Sessions of generated traffic: by PFCP, or given tunnels.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use crate::n4::{Agent, AgentConfig};
use crate::{Flow, Flows, TunnelEnds};
use sluice_host::netns::Ns;
use sluice_smf_emulator::dialect::profile::NamedBy;
use sluice_smf_emulator::{Imsi, Network, SessionPlan, SmfConfig, Tunnel, UplinkTeid};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::pfcp;

use super::Failure;
use super::args::LoadArgs;

/// Hint at network instances that the UPF may not know.
pub fn instance_hint(args: &LoadArgs) -> String {
    let names = match args.dialect.profile().network_instance.names {
        NamedBy::Dnn => format!("\"{}\" on both sides (--dnn)", args.dnn),
        NamedBy::Side => format!(
            "\"{}\" towards gNBs (--access), \"{}\" towards servers (--core)",
            args.access, args.core
        ),
    };
    format!("; we named the network instance {names}")
}

fn ue(args: &LoadArgs, number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(args.first_ue.to_bits().wrapping_add(number))
}

/// gNB of a UE.
fn gnb(args: &LoadArgs, number: u32) -> Ipv4Addr {
    let first = args.gnb.unwrap_or(Ipv4Addr::UNSPECIFIED).to_bits();
    Ipv4Addr::from_bits(first.wrapping_add(number % u32::from(args.gnbs)))
}

/// TEID of a UE at the gNB.
fn downlink_teid(number: u32) -> Option<Teid> {
    Teid::new(number.checked_add(1)?)
}

/// Uplink tunnel at the UPF, if the arguments give it.
fn given_uplink(args: &LoadArgs, number: u32) -> Result<Tunnel, Failure> {
    let ipv4 = args.n3_upf.ok_or_else(|| {
        Failure::usage(
            "--n3-upf is missing: without PFCP, or if the SMF chooses TEIDs, it must be told",
        )
    })?;
    let teid = args.first_teid.checked_add(number).and_then(Teid::new);
    let teid =
        teid.ok_or_else(|| Failure::usage("--first-teid leaves no TEIDs for so many UEs"))?;
    Ok(Tunnel::v4(teid, ipv4))
}

/// An SMF for the UPF, with all sessions planned; none if N4 is not wanted.
pub fn agent(args: &LoadArgs) -> Result<Option<Agent>, Failure> {
    let Some((n4, upf)) = args.n4.zip(args.upf) else {
        return Ok(None);
    };
    let qfi = qfi(args)?;
    let network = Network::new(&args.dnn, &args.access, &args.core).map_err(Failure::usage)?;
    let churn = args.churn.map_or(0, |_| args.churn_sessions);
    let sessions = args.ues.saturating_add(churn);
    let chooses = args.dialect.chooses_teids();
    if chooses {
        given_uplink(args, sessions - 1)?;
    }
    let (network, copy) = (Arc::new(network), args.clone());
    let plans = Arc::new(move |number: u32| {
        let mut plan = SessionPlan::new(ue(&copy, number), network.clone(), qfi);
        plan.imsi = Imsi::new(&format!("00101{number:010}")).ok();
        let ipv4 = gnb(&copy, number);
        plan.gnb = downlink_teid(number).map(|teid| Tunnel::v4(teid, ipv4));
        if chooses && let Ok(tunnel) = given_uplink(&copy, number) {
            plan.uplink = UplinkTeid::ChosenByCp(tunnel);
        }
        plan
    });
    let at = |address| SocketAddrV4::new(address, pfcp::PORT);
    let ns = Ns::current().map_err(Failure::lacking)?;
    let mut smf = SmfConfig::new(args.dialect, &ns, at(n4), at(upf));
    smf.in_flight = smf.in_flight.max(u32::from(args.window) * 2);
    let config = AgentConfig {
        smf,
        plans,
        sessions,
        window: usize::from(args.window),
    };
    Agent::bind(&config).map(Some).map_err(Failure::lacking)
}

fn qfi(args: &LoadArgs) -> Result<Qfi, Failure> {
    Qfi::new(args.qfi).ok_or_else(|| Failure::usage("--qfi must be 0 to 63"))
}

/// The flows of all UEs: with the agent's sessions, or without PFCP with given tunnels.
pub fn flows(args: &LoadArgs, agent: Option<&Agent>) -> Result<Flows, Failure> {
    let qfi = (!args.no_container).then_some(qfi(args)?);
    let mut places = HashMap::new();
    let (mut tunnels, mut list) = (Vec::new(), Vec::with_capacity(args.ues as usize));
    for number in 0..args.ues {
        let uplink = match agent {
            Some(agent) => match agent.uplink(number) {
                Some(uplink) => uplink,
                None => continue,
            },
            None => given_uplink(args, number)?,
        };
        // Of a gNB at an IPv4 address the UPF's end is one, too.
        let upf = uplink.ipv4();
        let upf = upf.ok_or_else(|| Failure::failed("the UPF has given an IPv6 address on N3"))?;
        let gnb = gnb(args, number);
        let ends = TunnelEnds { gnb, upf };
        let tunnel = *places.entry(ends).or_insert_with(|| {
            tunnels.push(ends);
            tunnels.len() - 1
        });
        list.push(Flow {
            ue: ue(args, number),
            uplink: uplink.teid,
            downlink: downlink_teid(number).ok_or_else(|| Failure::usage("too many UEs"))?,
            tunnel: u16::try_from(tunnel).map_err(|_| Failure::failed("too many UPF addresses"))?,
            qfi,
        });
    }
    Flows::new(list, tunnels).map_err(Failure::failed)
}
