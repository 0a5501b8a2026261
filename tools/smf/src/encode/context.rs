//! Encoding context of one message: dialect, plan, session state, rule identifiers.

use sluice_wire::ids::{FarId, PdrId, QerId, Seid, UrrId};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::{FSeid, Name};
use sluice_wire::pfcp::{Full, IeType, Writer};

use super::{CpNode, SessionView};
use crate::dialect::profile::{NameCoding, NamedBy, Numbering, Profile, QerStyle};
use crate::names::NetworkName;
use crate::{Dialect, SessionPlan};

/// Node, session and dialect of a message.
#[derive(Clone, Copy)]
pub(crate) struct EncodeContext<'a> {
    pub profile: &'static Profile,
    pub cp: &'a CpNode,
    pub plan: &'a SessionPlan,
    pub cp_seid: Seid,
    /// How often the rules were removed and made anew.
    pub generation: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Uplink,
    Downlink,
}

impl<'a> EncodeContext<'a> {
    pub fn new(
        dialect: Dialect,
        cp: &'a CpNode,
        plan: &'a SessionPlan,
        cp_seid: Seid,
        generation: u32,
    ) -> Self {
        Self {
            profile: dialect.profile(),
            cp,
            plan,
            cp_seid,
            generation,
        }
    }

    pub fn of(dialect: Dialect, cp: &'a CpNode, session: &SessionView<'a>) -> Self {
        Self::new(
            dialect,
            cp,
            session.plan,
            session.cp_seid,
            session.generation,
        )
    }

    pub fn pdr_id(&self, direction: Direction) -> PdrId {
        // A pool of 16-bit numbers for the whole UPF gives each again after its end.
        PdrId((self.number(direction) % u64::from(u16::MAX)) as u16 + 1)
    }

    pub fn far_id(&self, direction: Direction) -> FarId {
        FarId(self.number(direction) as u32 + 1)
    }

    /// Two QERs, whatever the dialect has them for.
    pub fn qer_ids(&self) -> [QerId; 2] {
        let first = self.number_base() as u32 + 1;
        [QerId(first), QerId(first + 1)]
    }

    /// URRs are numbered in the session by everybody.
    pub fn urr_id(&self, index: usize) -> UrrId {
        let count = self.profile.urr.len() as u32;
        UrrId(self.generation * count + index as u32 + 1)
    }

    /// The PDR of the dedicated flow, behind those of the session.
    pub fn flow_pdr_id(&self, direction: Direction) -> PdrId {
        let channels = if self.profile.cp_channels { 2 } else { 0 };
        PdrId(self.pdr_id(direction).0.wrapping_add(2 + channels))
    }

    /// The FAR of the dedicated flow.
    pub fn flow_far_id(&self, direction: Direction) -> FarId {
        let channels = u32::from(self.profile.cp_channels);
        FarId(self.far_id(direction).0 + 2 + channels)
    }

    /// The QER of the dedicated flow.
    pub fn flow_qer_id(&self) -> QerId {
        let one = matches!(self.profile.qer, QerStyle::Merged { flow_apart: false });
        let [first, second] = self.qer_ids();
        if one { second } else { QerId(first.0 + 2) }
    }

    /// The URRs of the dedicated flow, where it has its own.
    pub fn flow_urr_id(&self, index: usize) -> UrrId {
        UrrId(self.urr_id(index).0 + self.profile.urr.len() as u32)
    }

    /// The third and fourth PDR: CP to UE and UE to CP.
    pub fn channel_pdr_ids(&self) -> [PdrId; 2] {
        [PdrId(3), PdrId(4)]
    }

    /// The FAR of the PDR from UE to CP.
    pub fn channel_far_id(&self) -> FarId {
        FarId(3)
    }

    /// From 0.
    fn number(&self, direction: Direction) -> u64 {
        let second = (direction == Direction::Uplink) == self.profile.downlink_first;
        self.number_base() + u64::from(second)
    }

    fn number_base(&self) -> u64 {
        let made = match self.profile.numbering {
            Numbering::PerSession => u64::from(self.generation),
            // SEIDs are given one after the other from 1.
            Numbering::PerUpf => self.cp_seid.0.wrapping_sub(1) & 0x3fff_ffff,
        };
        made * if self.plan.flow.is_some() { 4 } else { 2 }
    }

    /// The network instance from which packets of a direction come.
    pub fn source_name(&self, direction: Direction) -> Name<'a> {
        let network = &self.plan.network;
        self.name(match (self.profile.network_instance.names, direction) {
            (NamedBy::Dnn, _) => &network.dnn,
            (NamedBy::Side, Direction::Uplink) => &network.access,
            (NamedBy::Side, Direction::Downlink) => &network.core,
        })
    }

    /// The network instance to which packets of a direction go.
    pub fn destination_name(&self, direction: Direction) -> Name<'a> {
        self.source_name(match direction {
            Direction::Uplink => Direction::Downlink,
            Direction::Downlink => Direction::Uplink,
        })
    }

    fn name(&self, name: &'a NetworkName) -> Name<'a> {
        Name(match self.profile.network_instance.coding {
            NameCoding::Text => name.text().as_bytes(),
            NameCoding::Labels => name.labels(),
        })
    }

    pub fn cp_f_seid(&self) -> FSeid {
        FSeid::v4(self.cp_seid, self.cp.ipv4)
    }
}

pub(crate) fn put<'v>(
    w: &mut Writer<'_>,
    ie: IeType,
    value: &impl Element<'v>,
) -> Result<(), Full> {
    w.ie(ie, |w| value.encode(w))
}

/// Writes one IE if it is there.
pub(crate) fn put_some<'v>(
    w: &mut Writer<'_>,
    ie: IeType,
    value: &Option<impl Element<'v>>,
) -> Result<(), Full> {
    value.as_ref().map_or(Ok(()), |value| put(w, ie, value))
}
