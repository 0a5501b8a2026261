//! Admission context of one message: the draft of a session's rules, and what was taken for it.

use crate::config::Unserved;
use crate::flows::applications::Applications;
use crate::flows::predefined::PredefinedRules;
use crate::limits::{FARS, PDRS, ROUTES, URRS};
use crate::names::{NameId, Names, PlainName, plain};
use crate::network::{Network, Side};
use crate::pending::{Created, CreatedPdr, SessionRemarks};
use crate::refusal::{Refusal, RuleId};
use crate::resources::{Claims, Resources};
use crate::rules::{Filter, LocalTunnel, Rules};
use arrayvec::ArrayVec;
use sluice_datapath::lookup::exact_match::RoutePrefix;
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_datapath::session::txn::EndMarker;
use sluice_datapath::tables::PeerId;
use sluice_wire::ids::PdrId;
use sluice_wire::limits::PDRS_PER_MESSAGE;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::{Name, NtpTime};

/// What validation works with. Everything it changes is either in the draft or can be undone.
pub struct Admission<'a, N> {
    /// Who knows interfaces and peers.
    pub net: &'a mut N,
    /// The allocators.
    pub resources: &'a mut Resources,
    /// Names of network instances.
    pub names: &'a mut Names,
    /// Rules that PDRs activate by name.
    pub predefined: &'a PredefinedRules,
    /// Flows by the Application ID of PDIs.
    pub applications: &'a Applications,
    /// The session's rules as they will be.
    pub draft: &'a mut Rules,
    /// What was taken, for the case that the message is refused.
    pub claims: &'a mut Claims,
    /// The session's shard.
    pub shard: u32,
    /// What the message may do.
    pub policy: Policy,
    /// Seconds since start, for resting TEIDs.
    pub now_s: u32,
    /// Wall-clock time, for usage reports.
    pub wall: NtpTime,
    /// F-TEIDs given for the CHOOSE IDs of this message.
    pub chosen: ArrayVec<Chosen, PDRS_PER_MESSAGE>,
    /// Prefixes behind the UE of a new session, as they were told so far.
    pub routes: ArrayVec<RoutePrefix, ROUTES>,
    /// What the response tells in Created PDR.
    pub created: &'a mut Created,
    /// Peers that FARs no longer need; the path may still use them until it has changed.
    pub dropped_peers: &'a mut ArrayVec<PeerId, { 2 * FARS }>,
    /// Runs of flow filters that PDRs no longer have; the same.
    pub dropped_runs: &'a mut ArrayVec<FilterRun, { 2 * PDRS }>,
    /// End markers to send.
    pub end_markers: &'a mut ArrayVec<EndMarker, { sluice_datapath::limits::TXN_END_MARKERS }>,
    /// URRs whose usage is asked for.
    pub queried: &'a mut ArrayVec<u32, URRS>,
    /// What the operator is told.
    pub remarks: &'a mut SessionRemarks,
}

/// What a message may do.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// F-TEIDs that the CP function chose are admitted.
    pub accept_cp_fteid: bool,
    /// What becomes of reports that are not served.
    pub unserved: Unserved,
    /// RESTI: the message brings back F-TEIDs of ours.
    pub restores: bool,
    /// It establishes the session.
    pub is_new: bool,
}

/// An F-TEID that was given for a CHOOSE ID.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// The CHOOSE ID.
    pub id: u8,
    /// The F-TEID.
    pub tunnel: LocalTunnel,
}

impl<N: Network> Admission<'_, N> {
    /// A network instance as text, still to be asked for.
    pub fn name(&self, rule: RuleId, name: Option<Name<'_>>) -> Result<Option<PlainName>, Refusal> {
        let unreadable = Refusal::rule(rule, IeType::NETWORK_INSTANCE);
        name.map(|n| plain(n).ok_or(unreadable)).transpose()
    }

    /// Keeps a name that is in use from now on.
    pub fn keep_name(&mut self, rule: RuleId, name: Option<&PlainName>) -> Result<NameId, Refusal> {
        let full = Refusal::full(Some(rule), Some(IeType::NETWORK_INSTANCE));
        name.map_or(Ok(NameId::NONE), |n| self.names.keep(n).ok_or(full))
    }

    /// What the response tells of a PDR; `None` if it tells of too many.
    pub fn created_pdr(&mut self, id: PdrId) -> Option<&mut CreatedPdr> {
        if self.created.last().is_none_or(|last| last.id != id) {
            self.created.try_push(CreatedPdr::of(id)).ok()?;
        }
        self.created.last_mut()
    }

    /// Puts an end marker behind the last packet into a tunnel that a FAR leaves (SNDEM).
    pub fn mark_end(&mut self, rule: RuleId, peer: PeerId, teid: u32) -> Result<(), Refusal> {
        let marker = EndMarker { peer, teid };
        if self.end_markers.contains(&marker) {
            return Ok(());
        }
        let full = Refusal::full(Some(rule), Some(IeType::PFCPSMREQ_FLAGS));
        self.end_markers.try_push(marker).map_err(|_| full)
    }

    /// A peer goes back when the path no longer uses it.
    pub fn drop_peer(&mut self, rule: RuleId, peer: PeerId) -> Result<(), Refusal> {
        let full = Refusal::full(Some(rule), None);
        self.dropped_peers.try_push(peer).map_err(|_| full)
    }

    /// A PDR's run of flow filters goes back when the path no longer uses it.
    pub fn drop_filters(&mut self, rule: RuleId, filter: Filter) -> Result<(), Refusal> {
        if filter.run.is_none() {
            return Ok(());
        }
        let full = Refusal::full(Some(rule), Some(IeType::SDF_FILTER));
        self.dropped_runs.try_push(filter.run).map_err(|_| full)
    }
}

/// The side that a Source or Destination Interface stands for, if this path knows it.
pub fn side(value: u8) -> Option<Side> {
    match value {
        0 => Some(Side::Access),
        1 => Some(Side::Core),
        2 => Some(Side::SgiLan),
        3 => Some(Side::Control),
        _ => None,
    }
}
