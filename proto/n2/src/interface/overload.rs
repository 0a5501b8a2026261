//! Overload Start and Overload Stop (TS 38.413, 8.7.7 and 8.7.8).

use oxirush_ngap::{Error, ie, ngap};

use crate::table::{Element, message};

message! {
    /// Overload Start (9.2.6.14).
    #[derive(Copy, Default)]
    pub struct Overload = OverloadStart, "Overload Start" {
        /// UEs that gNBs keep away.
        expected action: OverloadAction = AMFOverloadResponse,
        /// How many of a hundred of these, 1 to 99; none: all (9.3.1.106).
        ignorable percent: u8 = AMFTrafficLoadReductionIndication,
    }
}

message! {
    /// Overload Stop (9.2.6.15).
    pub struct OverloadStop = OverloadStop, "Overload Stop" {}
}

/// UEs that gNBs keep away from an AMF that has too much to do (9.3.1.105).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OverloadAction {
    /// UEs that have data and begin by themselves, but for emergencies.
    #[default]
    RejectData,
    /// UEs that have signalling alone.
    RejectSignalling,
    /// All but emergencies and those that are called.
    PermitEmergency,
    /// All but those of high priority and those that are called.
    PermitHighPriority,
}

use ngap::OverloadAction as Action;

const ACTIONS: [(OverloadAction, Action); 4] = [
    (
        OverloadAction::RejectData,
        Action::reject_non_emergency_mo_dt,
    ),
    (
        OverloadAction::RejectSignalling,
        Action::reject_rrc_cr_signalling,
    ),
    (
        OverloadAction::PermitEmergency,
        Action::permit_emergency_sessions_and_mobile_terminated_services_only,
    ),
    (
        OverloadAction::PermitHighPriority,
        Action::permit_high_priority_sessions_and_mobile_terminated_services_only,
    ),
];

impl Element<ie::AMFOverloadResponse> for OverloadAction {
    fn read(response: ngap::OverloadResponse) -> Option<Self> {
        let ngap::OverloadResponse::overloadAction(action) = response else {
            return Some(Self::RejectData);
        };
        let known = ACTIONS.iter().find(|(_, asn1)| *asn1 == action);
        Some(known.map_or(Self::RejectData, |(ours, _)| *ours))
    }

    fn write(&self) -> Result<ngap::OverloadResponse, Error> {
        let known = ACTIONS.iter().find(|(ours, _)| ours == self);
        let action = known.map_or(Action::reject_non_emergency_mo_dt, |(_, asn1)| *asn1);
        Ok(ngap::OverloadResponse::overloadAction(action))
    }
}

impl Element<ie::AMFTrafficLoadReductionIndication> for u8 {
    fn read(percent: ngap::TrafficLoadReductionIndication) -> Option<Self> {
        Some(percent.0)
    }

    fn write(&self) -> Result<ngap::TrafficLoadReductionIndication, Error> {
        Ok(ngap::TrafficLoadReductionIndication(
            self.clamp(&1, &99).to_owned(),
        ))
    }
}
