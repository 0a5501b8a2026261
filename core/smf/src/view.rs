//! Views of sessions and UPFs for operators.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use sluice_ids::{Dnn, Snssai, Supi, UpSecurity};
use sluice_n1::{PduAddress, SessionType};
use sluice_n2::{SecurityResult, Tunnel};
use sluice_n4::AssociationId;

use crate::Smf;
use crate::config::UpfConfig;
use crate::context::session::{SessionId, Usage};

/// A PDU session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionView {
    /// SUPI of the UE.
    pub supi: Supi,
    /// PDU session identity.
    pub identity: u8,
    /// In which slice.
    pub slice: Snssai,
    /// In which data network.
    pub dnn: Dnn,
    /// Which addresses it has.
    pub session_type: SessionType,
    /// The UE's addresses.
    pub address: PduAddress,
    /// Session AMBR, bits per second to and from the UE.
    pub ambr_bps: (u64, u64),
    /// 5QI of the default flow.
    pub five_qi: u8,
    /// Our SEID, as the UPF knows the session.
    pub seid: u64,
    /// The UPF's SEID, and its end of the tunnel.
    pub at_upf: Option<(u64, Tunnel)>,
    /// The gNB's end of the tunnel; none while the user plane is down.
    pub downlink: Option<Tunnel>,
    /// The user plane security policy, if it has one, and what its gNB has said last that it does.
    pub up_security: Option<(UpSecurity, Option<SecurityResult>)>,
    /// Reported usage.
    pub usage: Usage,
    /// The step at which its procedure waits; none if there is none.
    pub step: Option<&'static str>,
}

/// A procedure that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// SUPI of the UE.
    pub supi: Supi,
    /// Of which session.
    pub session: u8,
    /// The step at which it waits.
    pub step: &'static str,
}

/// A UPF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpfView {
    /// N4 address of the UPF.
    pub n4: SocketAddr,
    /// The association is up.
    pub is_associated: bool,
    /// Sessions at it.
    pub sessions: usize,
    /// Missing features that sessions need.
    pub lacks: Option<&'static str>,
    /// gNBs that do not answer it on the user plane, and sessions whose packets go there.
    pub paths_down: Vec<(IpAddr, usize)>,
}

impl Smf {
    /// UE addresses and TEIDs that sessions have of the SMF, where their UPFs give none.
    pub fn leases(&self) -> (usize, usize) {
        self.state.borrow().leases.held()
    }

    /// Sessions of a subscriber.
    pub fn sessions_of(&self, supi: &Supi) -> Vec<SessionView> {
        let state = self.state.borrow();
        let its = state.by_identity.range((*supi, 0)..=(*supi, u8::MAX));
        let known: Vec<SessionId> = its.map(|(_, id)| *id).collect();
        drop(state);
        known.into_iter().filter_map(|id| self.view(id)).collect()
    }

    /// Subscribers with sessions, `most` of them from one on.
    pub fn subscribers(&self, from: Option<Supi>, most: usize) -> Vec<Supi> {
        let state = self.state.borrow();
        let all = state.by_identity.keys().map(|(supi, _)| *supi);
        let mut subscribers = Vec::new();
        for supi in all.skip_while(|supi| from.is_some_and(|from| *supi < from)) {
            if subscribers.last() == Some(&supi) {
                continue;
            }
            if subscribers.len() >= most {
                break;
            }
            subscribers.push(supi);
        }
        subscribers
    }

    fn view(&self, id: SessionId) -> Option<SessionView> {
        let state = self.state.borrow();
        let session = state.sessions.get(id.0)?;
        Some(SessionView {
            supi: session.supi,
            identity: session.identity,
            slice: session.slice,
            dnn: session.dnn,
            session_type: session.session_type,
            address: session.address,
            ambr_bps: session.qos.ambr_bps,
            five_qi: session.qos.five_qi,
            seid: id.number(),
            at_upf: session.upf.map(|upf| (upf.seid.0, upf.uplink)),
            downlink: session.downlink,
            up_security: session
                .security
                .policy
                .map(|policy| (policy, session.security.result)),
            usage: session.usage,
            step: session.task.and_then(|task| self.tasks.step(task)),
        })
    }

    /// Procedures under way.
    pub fn waiting(&self) -> Vec<Waiting> {
        let state = self.state.borrow();
        let waiting = self.owners.iter().filter_map(|(task, id)| {
            let session = state.sessions.get(id.0)?;
            Some(Waiting {
                supi: session.supi,
                session: session.identity,
                step: self.tasks.step(*task)?,
            })
        });
        waiting.collect()
    }

    /// Usage of all sessions that UPFs have reported since the start.
    pub fn usage(&self) -> Usage {
        self.state.borrow().usage
    }

    /// UPFs, in the order of the configuration.
    pub fn upfs(&self) -> Vec<UpfView> {
        let state = self.state.borrow();
        let upfs = state.config.upfs.iter().zip(&state.associations);
        let is_up = |association| {
            let known = state.endpoint.association(association);
            known.is_some_and(|known| known.is_established() && !known.is_lost())
        };
        let mut there: BTreeMap<AssociationId, usize> = BTreeMap::new();
        for (_, session) in state.sessions.iter() {
            if let Some(upf) = session.upf {
                *there.entry(upf.association).or_default() += 1;
            }
        }
        let down_at = |association: Option<AssociationId>| {
            let its = state.paths_down.iter();
            let its = its.filter(|(upf, _)| association == Some(*upf));
            its.map(|(upf, peer)| (*peer, state.count_over(*upf, *peer)))
                .collect()
        };
        let view = |(upf, association): (&UpfConfig, &Option<AssociationId>)| UpfView {
            n4: upf.n4,
            is_associated: association.is_some_and(is_up),
            sessions: association
                .and_then(|association| there.get(&association).copied())
                .unwrap_or_default(),
            lacks: association.and_then(|association| state.lacks(association)),
            paths_down: down_at(*association),
        };
        upfs.map(view).collect()
    }
}
