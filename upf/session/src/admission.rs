//! Admission context of one message: the draft of a session's rules, and what was taken for it.

use crate::config::Unserved;
use crate::limits::ROUTES;
use crate::names::{NameId, PlainName, plain};
use crate::network::{Network, Side};
use crate::node::{Moment, Shared};
use crate::pending::{CreatedPdr, Pending};
use crate::refusal::{Refusal, RuleId};
use crate::resources::{Claims, Resources};
use crate::rules::{Filter, LocalTunnel, Rules};
use arrayvec::ArrayVec;
use sluice_datapath::lookup::exact_match::RoutePrefix;
use sluice_datapath::session::txn::EndMarker;
use sluice_datapath::tables::PeerId;
use sluice_wire::ids::PdrId;
use sluice_wire::limits::PDRS_PER_MESSAGE;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::Name;

/// Context in which the rules of one message are admitted. All that it changes is in the draft, or can be undone.
///
/// | concern | files of `admit` and `compile` that write it |
/// |---|---|
/// | rules (`draft`) | each those of its kind: `far`, `qer`, `urr`, `bar`, `sets`, `pdr`; `resolve` and `allocate` places |
/// | what is taken (`resources`, `claims`) | `urr`, `pdr/{f_teid, ue, filters, application, predefined, behind}`, `resolve`, `allocate` |
/// | what is shared (`shared`) | `far` and `pdr` names, `sets` session sets |
/// | what goes when the path has changed (`record`) | `far` and `resolve` peers, `pdr` filter runs |
/// | what the response tells (`record`) | `pdr/{f_teid, ue}` Created PDRs; the modification queried URRs |
/// | what the operator is told (`record`) | `pdr/f_teid`, `unserved` |
/// | End Markers (`end_markers`) | `far` |
/// | what the message's PDRs have in common (`chosen`, `routes`) | `pdr/f_teid`, `pdr/behind` |
pub struct Admission<'a, N> {
    /// Who knows interfaces and peers.
    pub net: &'a mut N,
    /// When the message came.
    pub at: Moment,
    /// The session's shard.
    pub shard: u32,
    /// Rights of the message.
    pub policy: Policy,
    /// Names, applications, predefined rules, session sets.
    pub shared: &'a mut Shared,
    /// The allocators.
    pub resources: &'a mut Resources,
    /// The session's rules as they will be.
    pub draft: &'a mut Rules,
    /// What was taken, for the case that the message is refused.
    pub claims: &'a mut Claims,
    /// Record for when the path has changed: peers and filters go then, and the response is written.
    pub record: &'a mut Pending,
    /// End markers to send.
    pub end_markers: &'a mut ArrayVec<EndMarker, { sluice_datapath::limits::TXN_END_MARKERS }>,
    /// F-TEIDs given for the CHOOSE IDs of this message.
    pub chosen: ArrayVec<Chosen, PDRS_PER_MESSAGE>,
    /// Prefixes behind the UE of a new session, as they were told so far.
    pub routes: ArrayVec<RoutePrefix, ROUTES>,
}

/// What a message may do.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// F-TEIDs that the CP function chose are admitted.
    pub accept_cp_fteid: bool,
    pub choose_fteid: bool,
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
        name.map_or(Ok(NameId::NONE), |n| self.shared.names.keep(n).ok_or(full))
    }

    /// What the response tells of a PDR; `None` if it tells of too many.
    pub fn created_pdr(&mut self, id: PdrId) -> Option<&mut CreatedPdr> {
        if self.record.created.last().is_none_or(|last| last.id != id) {
            self.record.created.try_push(CreatedPdr::of(id)).ok()?;
        }
        self.record.created.last_mut()
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
        self.record.peers.try_push(peer).map_err(|_| full)
    }

    /// A PDR's run of flow filters goes back when the path no longer uses it.
    pub fn drop_filters(&mut self, rule: RuleId, filter: Filter) -> Result<(), Refusal> {
        if filter.run.is_none() {
            return Ok(());
        }
        let full = Refusal::full(Some(rule), Some(IeType::SDF_FILTER));
        self.record
            .filter_runs
            .try_push(filter.run)
            .map_err(|_| full)
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
