//! Encoded PFCP requests of the benchmark's SMF, and the F-TEIDs in the responses.

use super::load::{self, Load};
use super::rules::Filters;
use super::rules::{self, Usage};
use super::topology::{self, ACCESS, GNBS, INTERNET, QFI};
use super::traffic::Flow;
use super::variant::{Ue, Variant};
use sluice_control::core::Env;
use sluice_n4::Outbox;
use sluice_port::Packet;
use sluice_smf_emulator::encode::{encode_deletion, encode_establishment, encode_modification};
use sluice_smf_emulator::{
    CpNode, Dialect, Network, SessionChange, SessionPlan, SessionView, Tunnel, UeAddresses,
    UplinkTeid,
};
use sluice_wire::ids::{Seid, Teid};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::message::{AssociationSetupRequest, SessionEstablishmentResponse};
use sluice_wire::pfcp::value::{BitRate, NtpTime};
use sluice_wire::pfcp::{
    Cause, Full, Header, IeType, MessageType, SequenceNumber, ie, write_message,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The SMF's address; the port is that of the standard.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 250);
/// Session AMBR and MBR of the flow: 10 Gbit/s, so that nothing is policed.
const RATE_KBPS: u64 = 10_000_000;

/// State of every emulated SMF: identity, names and counters.
#[derive(Debug)]
pub struct CpSide {
    pub node: CpNode,
    pub network: Arc<Network>,
    sequence: u32,
}

impl CpSide {
    pub fn new(address: Ipv4Addr) -> Self {
        let network = Network::new(INTERNET, ACCESS, INTERNET).expect("constant names");
        Self {
            node: CpNode::new(address),
            network: Arc::new(network),
            sequence: 0,
        }
    }

    /// Source address of the SMF's datagrams, if there is no socket.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((self.node.ipv4, sluice_wire::pfcp::PORT))
    }

    /// Writes an Association Setup Request of an SMF that started then.
    pub fn associate(&mut self, out: &mut [u8], started: NtpTime) -> Result<usize, Full> {
        let sequence = self.next_sequence();
        let header = Header::node(MessageType::ASSOCIATION_SETUP_REQUEST, sequence);
        let request = AssociationSetupRequest {
            node_id: self.node.node_id.as_wire(),
            recovery_time_stamp: started,
            ..AssociationSetupRequest::default()
        };
        write_message(out, &header, |w| request.emit(w))
    }

    /// Of the next request.
    pub fn next_sequence(&mut self) -> SequenceNumber {
        self.sequence = self.sequence.wrapping_add(1);
        SequenceNumber::wrapping(self.sequence)
    }
}

/// The SMF's SEID of session `index`; 0 names none.
pub fn cp_seid(index: u32) -> Seid {
    Seid(u64::from(index) + 1)
}

/// An SMF that talks by the book (TS 29.244, Release 17), without a socket.
#[derive(Debug)]
pub struct Smf<P> {
    pub cp: CpSide,
    /// By session; of no meaning where no answer came yet.
    pub flows: Vec<Flow>,
    pub established: usize,
    /// The first answer that says no, or is no answer.
    pub refused: Option<String>,
    /// Reports that were not taken yet.
    pub reports: Vec<SequenceNumber>,
    pub associated: bool,
    variant: Variant,
    sessions: u32,
    /// By session, where sessions change.
    up_seids: Vec<Seid>,
    pub changed: usize,
    packets: core::marker::PhantomData<fn() -> P>,
}

impl<P> Smf<P> {
    /// With room for `sessions`.
    pub fn new(sessions: u32, variant: Variant) -> Self {
        Self {
            cp: CpSide::new(ADDRESS),
            variant,
            // Not zero, so that its memory is there and no session's.
            flows: vec![Flow::new(0, 0, Ipv4Addr::UNSPECIFIED); sessions as usize],
            established: 0,
            refused: None,
            associated: false,
            reports: Vec::new(),
            sessions,
            up_seids: match variant.load {
                Load::Idle => vec![Seid(0); sessions as usize],
                _ => Vec::new(),
            },
            changed: 0,
            packets: core::marker::PhantomData,
        }
    }

    /// The same on the N4 port; its sessions can be deleted.
    pub fn on_port(sessions: u32, variant: Variant) -> Self {
        Self {
            cp: CpSide::new(topology::N4_SMF),
            up_seids: vec![Seid(0); sessions as usize],
            ..Self::new(sessions, variant)
        }
    }

    /// Writes the Session Establishment Request of session `index`: PDR and FAR for each
    /// direction, session AMBR, MBR and gate of the flow, a volume URR.
    pub fn establish(&mut self, out: &mut [u8], index: u32) -> Result<usize, Full> {
        let sequence = self.cp.next_sequence();
        let plan = self.plan(index);
        let (node, seid) = (&self.cp.node, cp_seid(index));
        let (filters, usage) = (self.variant.filters, self.variant.usage);
        let is_armed = matches!(usage, Usage::Armed | Usage::Storm);
        if filters == Filters::NONE && !is_armed {
            return encode_establishment(out, Dialect::Ts, node, &plan, seid, sequence);
        }
        let mut usual = [0; 1024];
        let len = encode_establishment(&mut usual, Dialect::Ts, node, &plan, seid, sequence)?;
        match is_armed {
            true => rules::arm(&usual[..len], usage, out),
            false => filters.add(&usual[..len], index, out),
        }
    }

    /// Writes the request that ends a session.
    pub fn delete(&mut self, out: &mut [u8], index: u32) -> Result<usize, Full> {
        let sequence = self.cp.next_sequence();
        let plan = self.plan(index);
        let view = self.view(&plan, index)?;
        encode_deletion(out, Dialect::Ts, &self.cp.node, &view, sequence)
    }

    /// Writes the request that makes the UE of a session idle, or brings it back.
    pub fn change(&mut self, out: &mut [u8], index: u32, idle: bool) -> Result<usize, Full> {
        let sequence = self.cp.next_sequence();
        let plan = self.plan(index);
        let gnb = plan.gnb.ok_or(Full)?;
        let step = match idle {
            true => SessionChange::Buffer,
            false => SessionChange::Connect {
                gnb,
                end_marker: false,
            },
        };
        let view = self.view(&plan, index)?;
        encode_modification(out, Dialect::Ts, &self.cp.node, &view, step, sequence)
    }

    /// A session as both sides know it.
    fn view<'a>(&self, plan: &'a SessionPlan, index: u32) -> Result<SessionView<'a>, Full> {
        Ok(SessionView {
            plan,
            cp_seid: cp_seid(index),
            up_seid: *self.up_seids.get(index as usize).ok_or(Full)?,
            gnb: plan.gnb,
            generation: 0,
        })
    }

    /// Plan of session `index`.
    fn plan(&self, index: u32) -> SessionPlan {
        let gnb_teid = topology::gnb_teid(index);
        let rate = |kbps| BitRate {
            uplink_kbps: kbps,
            downlink_kbps: kbps,
        };
        let ambr_kbps = match self.variant.load {
            Load::AboveRate => load::rate_kbps(index, self.sessions).unwrap_or(RATE_KBPS),
            Load::Limited { kbps, .. } => kbps,
            Load::Usual | Load::Idle => RATE_KBPS,
        };
        let tunnel = |teid, ipv4| Teid::new(teid).map(|teid| Tunnel::v4(teid, ipv4));
        let foreign = tunnel(topology::foreign_teid(index), topology::UPF_N3);
        let foreign = foreign.filter(|_| self.variant.foreign_teids);
        let ipv4 = topology::ue_address(index);
        let ipv6 = topology::ue_ipv6(ipv4);
        let ue = match self.variant.ue {
            Ue::Ipv4 => UeAddresses::V4(ipv4),
            Ue::Ipv6 => UeAddresses::V6(ipv6),
            Ue::Both => UeAddresses::V4V6(ipv4, ipv6),
        };
        SessionPlan {
            uplink: foreign.map_or(UplinkTeid::ChosenByUp, UplinkTeid::ChosenByCp),
            ambr: Some(rate(ambr_kbps)),
            flow_mbr: Some(rate(RATE_KBPS)),
            measured: self.variant.usage != Usage::None,
            container: self.variant.has_container(),
            gnb: tunnel(gnb_teid, topology::gnb_address(gnb_teid as usize % GNBS)),
            ..SessionPlan::new(ue, self.cp.network.clone(), QFI)
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (header, body) = Header::parse(bytes).map_err(|e| format!("{e:?}"))?;
        match header.message_type {
            MessageType::ASSOCIATION_SETUP_RESPONSE => self.associated = true,
            MessageType::SESSION_ESTABLISHMENT_RESPONSE => self.established(&header, body)?,
            MessageType::SESSION_MODIFICATION_RESPONSE => {
                let cause = ie::first(body, IeType::CAUSE).map(Cause::decode);
                if cause != Some(Ok(Cause::REQUEST_ACCEPTED)) {
                    return Err(format!("a change was refused: {cause:?}"));
                }
                self.changed += 1;
            }
            MessageType::SESSION_REPORT_REQUEST => self.reports.push(header.sequence),
            _ => {}
        }
        Ok(())
    }

    fn established(&mut self, header: &Header, body: &[u8]) -> Result<(), String> {
        let answer = SessionEstablishmentResponse::parse(body).map_err(|e| format!("{e:?}"))?;
        if answer.cause != Cause::REQUEST_ACCEPTED {
            return Err(format!(
                "{:?}, offending {:?}",
                answer.cause, answer.offending_ie
            ));
        }
        let index = header.seid.map_or(0, |seid| seid.0).wrapping_sub(1);
        let f_teid = answer
            .created_pdr
            .iter()
            .find_map(|pdr| pdr.local_f_teid.first());
        let chosen = match self.variant.foreign_teids {
            true => Teid::new(topology::foreign_teid(index as u32)),
            false => f_teid.and_then(|f| f.teid()),
        };
        let teid = chosen.ok_or("no F-TEID was chosen")?;
        if let Some(at) = self.up_seids.get_mut(index as usize) {
            *at = answer.up_f_seid.ok_or("no UP F-SEID")?.seid;
        }
        let flow = usize::try_from(index)
            .ok()
            .and_then(|i| self.flows.get_mut(i));
        let flow = flow.ok_or("an answer with an unknown SEID")?;
        let index = index as u32;
        let ue = topology::ue_address(index);
        let server = self.variant.servers.of(ue.into());
        *flow = Flow::to(server, teid.get(), topology::gnb_teid(index), ue);
        self.established += 1;
        Ok(())
    }
}

impl<P> Outbox for Smf<P> {
    fn send(&mut self, _: SocketAddr, bytes: &[u8]) {
        if let Err(why) = self.read(bytes) {
            self.refused.get_or_insert(why);
        }
    }
}

impl<P: Packet> Env for Smf<P> {
    type Packet = P;

    /// All neighbours are known, so the control core sends no frames.
    fn alloc(&mut self) -> Option<P> {
        None
    }
}
