//! QoS flows on N2 (TS 38.413, 9.3.1.12): what a gNB is told of each, and changes of the flows of a
//! session that is there (9.3.4.3, 9.3.4.4, 9.3.4.17).

use oxirush_ngap::ngap::{self, decode_open_type};
use oxirush_ngap::{Error, build_ngap_ie, extract_ngap_ies};

use crate::cause::Cause;
use crate::session::{MOST_BPS, written};

/// A QoS flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QosFlow {
    /// Its number.
    pub qfi: u8,
    /// Its 5QI.
    pub five_qi: u8,
    /// Its allocation and retention priority, 1 to 15, 1 first.
    pub priority: u8,
    /// It may take the room of others of a lower priority.
    pub may_preempt: bool,
    /// Others of a higher priority may take its room.
    pub is_preemptable: bool,
    /// None of a flow without guaranteed bit rates.
    pub rates: Option<FlowRates>,
}

/// Bit rates of a flow that has guaranteed ones, bits per second, down and up (9.3.1.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRates {
    /// What it gets.
    pub guaranteed_bps: (u64, u64),
    /// What it may get.
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

pub(crate) fn setup_list(flows: &[QosFlow]) -> ngap::QosFlowSetupRequestList {
    let item = |flow: &QosFlow| {
        let qfi = ngap::QosFlowIdentifier(flow.qfi.into());
        ngap::QosFlowSetupRequestItem::new(qfi, flow.parameters(), None, None)
    };
    ngap::QosFlowSetupRequestList(flows.iter().map(item).collect())
}

/// None if one of them is of another kind.
pub(crate) fn read_setup_list(list: &ngap::QosFlowSetupRequestList) -> Option<Vec<QosFlow>> {
    let item = |one: &ngap::QosFlowSetupRequestItem| {
        let qfi = one.qos_flow_identifier.0;
        QosFlow::read(qfi, &one.qos_flow_level_qos_parameters)
    };
    list.0.iter().map(item).collect()
}

/// Flows, each with the cause.
pub(crate) fn with_cause(
    flows: &[u8],
    cause: impl Fn() -> Cause,
) -> Option<ngap::QosFlowListWithCause> {
    let item = |qfi: &u8| {
        let qfi = ngap::QosFlowIdentifier((*qfi).into());
        ngap::QosFlowWithCauseItem::new(qfi, cause().write(), None)
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

/// PDU Session Resource Modify Request Transfer (9.3.4.3).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModifyRequest {
    /// Another session AMBR, bits per second, down and up.
    pub ambr_bps: Option<(u64, u64)>,
    /// Flows that are new, or otherwise.
    pub flows: Vec<QosFlow>,
    /// Flows that are gone.
    pub released: Vec<u8>,
}

impl ModifyRequest {
    /// The octets.
    #[allow(clippy::expect_used)]
    pub fn encode(&self) -> Vec<u8> {
        let ies = self.ies().expect("our values are in their ranges");
        written(&ngap::PDUSessionResourceModifyRequestTransfer::new(
            ngap::ProtocolIEContainer(ies),
        ))
    }

    fn ies(&self) -> Result<Vec<ngap::ProtocolIEField<'static>>, Error> {
        let mut ies = Vec::new();
        if let Some((down, up)) = self.ambr_bps {
            let rate = |bps: u64| ngap::BitRate(bps.min(MOST_BPS));
            let ambr = ngap::PDUSessionAggregateMaximumBitRate::new(rate(down), rate(up), None);
            ies.push(build_ngap_ie!(
                PDUSessionResourceModifyRequestTransfer,
                PDUSessionAggregateMaximumBitRate(ambr)
            )?);
        }
        if !self.flows.is_empty() {
            let item = |flow: &QosFlow| {
                let qfi = ngap::QosFlowIdentifier(flow.qfi.into());
                let qos = Some(flow.parameters());
                ngap::QosFlowAddOrModifyRequestItem::new(qfi, qos, None, None)
            };
            let list = self.flows.iter().map(item).collect();
            let list = ngap::QosFlowAddOrModifyRequestList(list);
            ies.push(build_ngap_ie!(
                PDUSessionResourceModifyRequestTransfer,
                QosFlowAddOrModifyRequestList(list)
            )?);
        }
        if let Some(list) = with_cause(&self.released, || Cause::NORMAL_RELEASE) {
            ies.push(build_ngap_ie!(
                PDUSessionResourceModifyRequestTransfer,
                QosFlowToReleaseList(list)
            )?);
        }
        Ok(ies)
    }

    /// Of octets; none if they are none, or have a flow of another kind.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        Self::read(octets).ok().flatten()
    }

    fn read(octets: &[u8]) -> Result<Option<Self>, Error> {
        let transfer: ngap::PDUSessionResourceModifyRequestTransfer<'_> = decode_open_type(octets)?;
        extract_ngap_ies!(transfer, PDUSessionResourceModifyRequestTransfer,
            lax ambr: ngap::PDUSessionAggregateMaximumBitRate =
                PDUSessionAggregateMaximumBitRate(value) => value,
            lax flows: ngap::QosFlowAddOrModifyRequestList =
                QosFlowAddOrModifyRequestList(list) => list,
            lax released: ngap::QosFlowListWithCause = QosFlowToReleaseList(list) => list,
        );
        let item = |one: &ngap::QosFlowAddOrModifyRequestItem| {
            let qos = one.qos_flow_level_qos_parameters.as_ref()?;
            QosFlow::read(one.qos_flow_identifier.0, qos)
        };
        let flows = flows.iter().flat_map(|list| list.0.iter());
        let Some(flows) = flows.map(item).collect() else {
            return Ok(None);
        };
        Ok(Some(Self {
            ambr_bps: ambr.map(|ambr| {
                (
                    ambr.pdu_session_aggregate_maximum_bit_rate_dl.0,
                    ambr.pdu_session_aggregate_maximum_bit_rate_ul.0,
                )
            }),
            flows,
            released: read_with_cause(released.as_ref()),
        }))
    }
}

/// PDU Session Resource Modify Response Transfer (9.3.4.4).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModifyResponse {
    /// Flows that are set up, or changed.
    pub done: Vec<u8>,
    /// Flows that are not.
    pub failed: Vec<u8>,
}

impl ModifyResponse {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let item = |qfi: &u8| {
            let qfi = ngap::QosFlowIdentifier((*qfi).into());
            ngap::QosFlowAddOrModifyResponseItem::new(qfi, None)
        };
        let done = ngap::QosFlowAddOrModifyResponseList(self.done.iter().map(item).collect());
        let done = (!self.done.is_empty()).then_some(done);
        let failed = with_cause(&self.failed, || Cause::RADIO_RESOURCES_NOT_AVAILABLE);
        written(&ngap::PDUSessionResourceModifyResponseTransfer::new(
            None, None, done, None, failed, None,
        ))
    }

    /// Of octets; none if they are none, or name a flow twice.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::PDUSessionResourceModifyResponseTransfer<'_> =
            decode_open_type(octets).ok()?;
        let done = transfer.qos_flow_add_or_modify_response_list.iter();
        let done = done.flat_map(|list| list.0.iter());
        let failed = transfer.qos_flow_failed_to_add_or_modify_list.as_ref();
        let read = Self {
            done: done.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            failed: read_with_cause(failed),
        };
        Some(read).filter(|read| !is_twice(&[&read.done, &read.failed]))
    }
}

/// PDU Session Resource Modify Unsuccessful Transfer (9.3.4.17).
pub fn modify_failure(why: Cause) -> Vec<u8> {
    written(&ngap::PDUSessionResourceModifyUnsuccessfulTransfer::new(
        why.write(),
        None,
        None,
    ))
}

/// Why a gNB did not modify a session; [`Cause::Unknown`] of octets that do not say.
pub fn read_modify_failure(octets: &[u8]) -> Cause {
    decode_open_type::<ngap::PDUSessionResourceModifyUnsuccessfulTransfer>(octets)
        .map_or(Cause::Unknown, |transfer| Cause::read(&transfer.cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_flows_are_read_as_they_are_written() {
        let guaranteed = QosFlow {
            may_preempt: true,
            is_preemptable: true,
            rates: Some(FlowRates {
                guaranteed_bps: (128_000, 64_000),
                maximum_bps: (256_000, 128_000),
            }),
            ..QosFlow::new(2, 1, 5)
        };
        for request in [
            ModifyRequest {
                ambr_bps: Some((2_000, 1_000)),
                flows: vec![guaranteed, QosFlow::new(3, 7, 9)],
                released: vec![4, 5],
            },
            ModifyRequest {
                released: vec![4],
                ..ModifyRequest::default()
            },
        ] {
            assert_eq!(ModifyRequest::decode(&request.encode()), Some(request));
        }
        for response in [
            ModifyResponse::default(),
            ModifyResponse {
                done: vec![2],
                failed: vec![3],
            },
        ] {
            assert_eq!(ModifyResponse::decode(&response.encode()), Some(response));
        }
        let why = Cause::RADIO_RESOURCES_NOT_AVAILABLE;
        assert_eq!(read_modify_failure(&modify_failure(why)), why);
        assert_eq!(read_modify_failure(&[]), Cause::Unknown);
        assert_eq!(ModifyRequest::decode(&[0xff]), None);
        assert_eq!(ModifyResponse::decode(&[0xff]), None);
    }
}
