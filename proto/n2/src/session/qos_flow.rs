//! QoS flows on N2 (TS 38.413, 9.3.1.12).

use oxirush_ngap::{Error, ie, ngap};

use crate::cause::Cause;
use crate::table::Element;

/// The largest Bit Rate (9.3.1.4).
pub(crate) const MOST_BPS: u64 = 4_000_000_000_000;

/// A QoS flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QosFlow {
    /// QFI.
    pub qfi: u8,
    /// 5QI.
    pub five_qi: u8,
    /// ARP priority level, 1 to 15, 1 first.
    pub priority: u8,
    /// Whether the flow may preempt others of a lower priority.
    pub may_preempt: bool,
    /// Others of a higher priority may take its room.
    pub is_preemptable: bool,
    /// None of a flow without guaranteed bit rates.
    pub rates: Option<FlowRates>,
}

/// Bit rates of a flow that has guaranteed ones, bits per second, down and up (9.3.1.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRates {
    /// Guaranteed flow bit rates (GFBR).
    pub guaranteed_bps: (u64, u64),
    /// Maximum flow bit rates (MFBR).
    pub maximum_bps: (u64, u64),
}

impl QosFlow {
    /// A flow without guaranteed bit rates.
    pub fn new(qfi: u8, five_qi: u8, priority: u8) -> Self {
        Self {
            qfi,
            five_qi,
            priority,
            may_preempt: false,
            is_preemptable: false,
            rates: None,
        }
    }

    fn parameters(&self) -> ngap::QosFlowLevelQosParameters {
        use ngap::{PreEmptionCapability as May, PreEmptionVulnerability as Is};
        let five_qi = ngap::FiveQI(self.five_qi.into());
        let five_qi = ngap::NonDynamic5QIDescriptor::new(five_qi, None, None, None, None);
        let priority = ngap::AllocationAndRetentionPriority::new(
            ngap::PriorityLevelARP(self.priority.clamp(1, 15)),
            match self.may_preempt {
                true => May::may_trigger_pre_emption,
                false => May::shall_not_trigger_pre_emption,
            },
            match self.is_preemptable {
                true => Is::pre_emptable,
                false => Is::not_pre_emptable,
            },
            None,
        );
        let rate = |bps: u64| ngap::BitRate(bps.min(MOST_BPS));
        let rates = self.rates.map(|rates| {
            ngap::GBRQosInformation::new(
                rate(rates.maximum_bps.0),
                rate(rates.maximum_bps.1),
                rate(rates.guaranteed_bps.0),
                rate(rates.guaranteed_bps.1),
                None,
                None,
                None,
                None,
            )
        });
        ngap::QosFlowLevelQosParameters::new(
            ngap::QosCharacteristics::nonDynamic5QI(five_qi),
            priority,
            rates,
            None,
            None,
            None,
        )
    }

    /// None of a flow whose 5QI is no number.
    fn read(qfi: u64, qos: &ngap::QosFlowLevelQosParameters) -> Option<Self> {
        let ngap::QosCharacteristics::nonDynamic5QI(five_qi) = &qos.qos_characteristics else {
            return None;
        };
        let priority = &qos.allocation_and_retention_priority;
        let rates = qos.gbr_qos_information.as_ref().map(|rates| FlowRates {
            guaranteed_bps: (
                rates.guaranteed_flow_bit_rate_dl.0,
                rates.guaranteed_flow_bit_rate_ul.0,
            ),
            maximum_bps: (
                rates.maximum_flow_bit_rate_dl.0,
                rates.maximum_flow_bit_rate_ul.0,
            ),
        });
        Some(Self {
            qfi: qfi as u8,
            five_qi: five_qi.five_qi.0 as u8,
            priority: priority.priority_level_arp.0,
            may_preempt: priority.pre_emption_capability
                == ngap::PreEmptionCapability::may_trigger_pre_emption,
            is_preemptable: priority.pre_emption_vulnerability
                == ngap::PreEmptionVulnerability::pre_emptable,
            rates,
        })
    }
}

impl Element<ie::QosFlowSetupRequestList> for Vec<QosFlow> {
    /// None of no flow, and if one of them is of another kind.
    fn read(list: ngap::QosFlowSetupRequestList) -> Option<Self> {
        let item = |one: &ngap::QosFlowSetupRequestItem| {
            let qfi = one.qos_flow_identifier.0;
            QosFlow::read(qfi, &one.qos_flow_level_qos_parameters)
        };
        let flows: Option<Self> = list.0.iter().map(item).collect();
        flows.filter(|flows| !flows.is_empty())
    }

    fn write(&self) -> Result<ngap::QosFlowSetupRequestList, Error> {
        let item = |flow: &QosFlow| {
            let qfi = ngap::QosFlowIdentifier(flow.qfi.into());
            ngap::QosFlowSetupRequestItem::new(qfi, flow.parameters(), None, None)
        };
        let list = self.iter().map(item).collect();
        Ok(ngap::QosFlowSetupRequestList(list))
    }
}

impl Element<ie::QosFlowAddOrModifyRequestList> for Vec<QosFlow> {
    /// None if one of them is of another kind.
    fn read(list: ngap::QosFlowAddOrModifyRequestList) -> Option<Self> {
        let item = |one: &ngap::QosFlowAddOrModifyRequestItem| {
            let qos = one.qos_flow_level_qos_parameters.as_ref()?;
            QosFlow::read(one.qos_flow_identifier.0, qos)
        };
        list.0.iter().map(item).collect()
    }

    fn write(&self) -> Result<ngap::QosFlowAddOrModifyRequestList, Error> {
        let item = |flow: &QosFlow| {
            let qfi = ngap::QosFlowIdentifier(flow.qfi.into());
            let qos = Some(flow.parameters());
            ngap::QosFlowAddOrModifyRequestItem::new(qfi, qos, None, None)
        };
        let list = self.iter().map(item).collect();
        Ok(ngap::QosFlowAddOrModifyRequestList(list))
    }
}

/// Flows that are gone.
impl Element<ie::QosFlowToReleaseList> for Vec<u8> {
    fn read(list: ngap::QosFlowListWithCause) -> Option<Self> {
        Some(read_with_cause(Some(&list)))
    }

    fn write(&self) -> Result<ngap::QosFlowListWithCause, Error> {
        let list = with_cause(self, || Cause::NORMAL_RELEASE);
        list.ok_or_else(|| Error::argument("no flows"))
    }
}

/// Flows, each with the cause.
pub(crate) fn with_cause(
    flows: &[u8],
    cause: impl Fn() -> Cause,
) -> Option<ngap::QosFlowListWithCause> {
    let item = |qfi: &u8| {
        let qfi = ngap::QosFlowIdentifier((*qfi).into());
        ngap::QosFlowWithCauseItem::new(qfi, cause().as_asn1(), None)
    };
    let list = ngap::QosFlowListWithCause(flows.iter().map(item).collect());
    (!flows.is_empty()).then_some(list)
}

/// Whether lists of one transfer name a flow twice: what it says of that flow contradicts itself (TS 38.413, 10.4).
pub(crate) fn is_twice(lists: &[&[u8]]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let mut flows = lists.iter().flat_map(|list| list.iter());
    flows.any(|qfi| !seen.insert(*qfi))
}

/// Flows of such a list.
pub(crate) fn read_with_cause(list: Option<&ngap::QosFlowListWithCause>) -> Vec<u8> {
    let flows = list.into_iter().flat_map(|list| list.0.iter());
    flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect()
}
