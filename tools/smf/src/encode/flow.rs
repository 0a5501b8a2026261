//! PDRs, FARs, QER and URRs of a dedicated flow.

use sluice_wire::ids::{FarId, QerId, Qfi, UrrId};
use sluice_wire::pfcp::group::{CreateFar, CreatePdr, CreateQer, Pdi};
use sluice_wire::pfcp::value::{Edit, OuterHeaderRemoval, SdfFilter, Text};
use sluice_wire::pfcp::{Full, IeType, Writer};

use super::context::{Direction, EncodeContext, put};
use super::qers::Pair;
use super::rules::write_urr;
use crate::dialect::profile::FlowStyle;
use crate::{Flow, FlowPackets};

/// The longest flow description that is sent.
const DESCRIPTION_MAX: usize = 160;
/// The longest name of a predefined rule that is sent.
const PREDEFINED_NAME_MAX: usize = 255;

/// A flow description as it is written for one direction.
type Description = arrayvec::ArrayString<DESCRIPTION_MAX>;

impl<'a> EncodeContext<'a> {
    /// The flow that is made with the session.
    pub(super) fn flow_with_session(&self) -> Option<&'a Flow> {
        let with_session = self.flow_style().is_some_and(|style| style.with_session);
        self.plan.flow.as_ref().filter(|_| with_session)
    }

    /// The downlink FARs with their flows: the session's, and the dedicated flow's.
    pub(super) fn downlink_fars(&self) -> Pair<(FarId, Qfi)> {
        let flow = self.plan.flow.as_ref().filter(|_| self.has_flow());
        let flow = flow.map(|flow| (self.flow_far_id(Direction::Downlink), flow.qfi));
        std::iter::once((self.far_id(Direction::Downlink), self.plan.qfi))
            .chain(flow)
            .collect()
    }

    /// Whether the session has a dedicated flow.
    pub(super) fn has_flow(&self) -> bool {
        self.flow_style().is_some() && self.plan.flow.is_some()
    }

    pub(super) fn flow_qer(&self, flow: &Flow) -> CreateQer<'a> {
        CreateQer {
            qer_id: self.flow_qer_id(),
            gate_status: self.plan.gates,
            maximum_bitrate: flow.mbr,
            guaranteed_bitrate: flow.gbr,
            qos_flow_identifier: Some(flow.qfi),
            ..CreateQer::default()
        }
    }

    /// The QERs that PDRs of the flow name: its own, and the session's.
    pub(super) fn flow_qers(&self) -> Pair<QerId> {
        let [session, _] = self.qer_ids();
        let too = self.flow_style().is_some_and(|style| style.session_qer);
        std::iter::once(self.flow_qer_id())
            .chain(too.then_some(session))
            .collect()
    }

    /// URRs that the flow does not share with the session.
    pub(super) fn own_flow_urr_ids(&self) -> impl Iterator<Item = UrrId> {
        let own = self.has_flow() && self.flow_style().is_some_and(|style| style.own_urrs);
        let scene = *self;
        let styles = self.urr_styles().enumerate().take_while(move |_| own);
        styles.map(move |(index, _)| scene.flow_urr_id(index))
    }

    /// Outer Header Removal as an Update PDR repeats it.
    pub(super) fn removal_again(&self, direction: Direction) -> Option<Edit<OuterHeaderRemoval>> {
        let uplink = direction == Direction::Uplink;
        uplink.then_some(Edit::Set(self.profile.pdr.outer_header_removal))
    }

    /// The URRs that a PDR of the flow names.
    pub(super) fn flow_urr_ids(&self, direction: Direction) -> impl Iterator<Item = UrrId> {
        let own = self.flow_style().is_some_and(|style| style.own_urrs);
        let others = if own {
            self.profile.urr.len() as u32
        } else {
            0
        };
        self.urr_ids(direction).map(move |id| UrrId(id.0 + others))
    }

    /// The PDI of the session, and the filter if there is a description.
    pub(super) fn flow_pdi<'d>(
        &self,
        direction: Direction,
        flow: &Flow,
        description: &'d Description,
    ) -> Pdi<'d>
    where
        'a: 'd,
    {
        let mut pdi: Pdi<'d> = self.pdi(direction);
        pdi.application_id = None;
        pdi.sdf_filter.clear();
        if !description.is_empty() {
            pdi.sdf_filter.push(SdfFilter::flow(description.as_bytes()));
        }
        if !self.flow_style().is_some_and(|style| style.ue_address) {
            pdi.ue_ip_address.clear();
        }
        pdi.qfi.iter_mut().for_each(|qfi| *qfi = flow.qfi);
        pdi
    }

    /// The flow description for one direction; empty where a predefined rule tells the packets.
    pub(super) fn description(&self, direction: Direction, flow: &Flow) -> Description {
        let exchanged = self
            .flow_style()
            .is_some_and(|style| style.downlink_exchanged);
        let FlowPackets::Described(text) = &flow.packets else {
            return Description::new();
        };
        let text = match exchanged && direction == Direction::Downlink {
            true => exchange(text),
            false => text.to_string(),
        };
        // A plan with a longer one is refused before.
        Description::from(&text).unwrap_or_default()
    }

    fn flow_far(&self, direction: Direction, flow: &Flow) -> CreateFar<'a> {
        self.far_of(direction, self.flow_far_id(direction), flow.qfi)
    }

    fn flow_style(&self) -> Option<&'static FlowStyle> {
        self.profile.flow.as_ref()
    }
}

/// Whether what tells a flow's packets can be sent.
pub(crate) fn is_sendable(flow: &Flow) -> bool {
    match &flow.packets {
        FlowPackets::Described(text) => {
            text.is_ascii() && (1..=DESCRIPTION_MAX).contains(&text.len())
        }
        FlowPackets::Predefined(name) => (1..=PREDEFINED_NAME_MAX).contains(&name.len()),
    }
}

/// Writes all rules of the flow.
pub(super) fn write_flow(w: &mut Writer<'_>, scene: &EncodeContext<'_>) -> Result<(), Full> {
    let Some(flow) = &scene.plan.flow else {
        return Ok(());
    };
    write_flow_pdrs(w, scene, flow)?;
    write_flow_fars(w, scene, flow)?;
    if scene.flow_style().is_some_and(|style| style.own_urrs) {
        for (index, (_, style)) in scene.urr_styles().enumerate() {
            write_urr(w, scene.flow_urr_id(index), style, None)?;
        }
    }
    put(w, IeType::CREATE_QER, &scene.flow_qer(flow))
}

pub(super) fn write_flow_pdrs(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    flow: &Flow,
) -> Result<(), Full> {
    for direction in both(scene) {
        let description = scene.description(direction, flow);
        let uplink = direction == Direction::Uplink;
        let pdr = CreatePdr {
            pdr_id: scene.flow_pdr_id(direction),
            precedence: flow.precedence,
            pdi: scene.flow_pdi(direction, flow, &description),
            outer_header_removal: uplink.then_some(scene.profile.pdr.outer_header_removal),
            far_id: Some(scene.flow_far_id(direction)),
            urr_id: scene.flow_urr_ids(direction).collect(),
            qer_id: scene.flow_qers().into_iter().collect(),
            activate_predefined_rules: predefined(flow).into_iter().collect(),
            ..CreatePdr::default()
        };
        put(w, IeType::CREATE_PDR, &pdr)?;
    }
    Ok(())
}

fn predefined(flow: &Flow) -> Option<Text<'_>> {
    match &flow.packets {
        FlowPackets::Predefined(name) => Some(Text(name.as_bytes())),
        FlowPackets::Described(_) => None,
    }
}

pub(super) fn write_flow_fars(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    flow: &Flow,
) -> Result<(), Full> {
    let mut fars = both(scene)
        .into_iter()
        .map(|direction| scene.flow_far(direction, flow));
    fars.try_for_each(|far| put(w, IeType::CREATE_FAR, &far))
}

/// Both directions, in the order of the dialect.
fn both(scene: &EncodeContext<'_>) -> [Direction; 2] {
    match scene.profile.downlink_first {
        true => [Direction::Downlink, Direction::Uplink],
        false => [Direction::Uplink, Direction::Downlink],
    }
}

/// `permit out ip from A to B` as `permit out ip from B to A`.
fn exchange(description: &str) -> String {
    let parts = description.split_once(" from ");
    let parts = parts.and_then(|(head, rest)| Some((head, rest.split_once(" to ")?)));
    match parts {
        Some((head, (from, to))) => format!("{head} from {to} to {from}"),
        None => description.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_exchanged_at_its_ends() {
        let text = "permit out 17 from 1.1.1.1/32 53 to any";
        assert_eq!(exchange(text), "permit out 17 from any to 1.1.1.1/32 53");
        assert_eq!(exchange("permit"), "permit");
    }
}
