//! QERs of a session: which PDR has which.

use arrayvec::ArrayVec;
use sluice_wire::ids::{QerId, Qfi};
use sluice_wire::pfcp::group::CreateQer;
use sluice_wire::pfcp::value::BitRate;

use super::context::{Direction, EncodeContext};
use crate::dialect::profile::QerStyle;

/// QERs or their numbers: two at most.
pub(super) type Pair<T> = ArrayVec<T, 2>;

impl<'a> EncodeContext<'a> {
    /// The QERs of the session; those of one direction where they differ.
    pub(super) fn qers(&self, direction: Option<Direction>) -> Pair<CreateQer<'a>> {
        let [first, second] = self.qer_ids();
        let (ambr, qfi, flow_mbr) = (self.plan.ambr, Some(self.plan.qfi), self.plan.flow_mbr);
        let qfi = qfi.filter(|_| self.plan.container);
        match self.profile.qer {
            QerStyle::SessionAndFlow { session_qfi, .. } => {
                let session = self.qer(first, ambr, qfi.filter(|_| session_qfi));
                [session, self.qer(second, flow_mbr, qfi)].into()
            }
            QerStyle::Merged { flow_apart } => {
                let flow = flow_mbr.filter(|_| flow_apart);
                let flow = flow.map(|mbr| self.qer(second, Some(mbr), qfi));
                std::iter::once(self.qer(first, ambr, qfi))
                    .chain(flow)
                    .collect()
            }
            QerStyle::PerDirection => {
                let rate = flow_mbr.or(ambr);
                let uplink = rate.map(|rate| BitRate {
                    downlink_kbps: 0,
                    ..rate
                });
                let downlink = rate.map(|rate| BitRate {
                    uplink_kbps: 0,
                    ..rate
                });
                let is = |one| direction.is_none_or(|wanted| wanted == one);
                let uplink = is(Direction::Uplink).then(|| self.qer(first, uplink, qfi));
                let downlink = is(Direction::Downlink).then(|| self.qer(second, downlink, qfi));
                uplink.into_iter().chain(downlink).collect()
            }
        }
    }

    fn qer(&self, qer_id: QerId, mbr: Option<BitRate>, qfi: Option<Qfi>) -> CreateQer<'a> {
        CreateQer {
            qer_id,
            gate_status: self.plan.gates,
            maximum_bitrate: mbr,
            qos_flow_identifier: qfi,
            ..CreateQer::default()
        }
    }

    /// The QERs that the PDR of a direction names, in its order.
    pub(super) fn qers_of(&self, direction: Direction) -> Pair<QerId> {
        let [first, second] = self.qer_ids();
        match (self.profile.qer, direction) {
            (
                QerStyle::SessionAndFlow {
                    flow_first: true, ..
                },
                _,
            ) => [second, first].into(),
            (QerStyle::SessionAndFlow { .. }, _) => [first, second].into(),
            (QerStyle::Merged { flow_apart }, _) => {
                let flow = self.plan.flow_mbr.filter(|_| flow_apart).map(|_| second);
                flow.into_iter().chain([first]).collect()
            }
            (QerStyle::PerDirection, Direction::Uplink) => [first].into_iter().collect(),
            (QerStyle::PerDirection, Direction::Downlink) => [second].into_iter().collect(),
        }
    }
}
