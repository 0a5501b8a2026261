//! What is asked for, what is wrong with it, and what the response must say.

use super::super::bench::*;
use core::net::Ipv4Addr;
use sluice_wire::ids::{FarId, PdrId, QerId, Teid, UrrId};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

pub type Request = SessionEstablishmentRequest<'static>;
pub type Change = SessionModificationRequest<'static>;

pub const RULE: Cause = Cause::RULE_CREATION_MODIFICATION_FAILURE;

pub const fn pdr(id: u16) -> Option<FailedRuleId> {
    Some(FailedRuleId::Pdr(PdrId(id)))
}

pub const fn far(id: u32) -> Option<FailedRuleId> {
    Some(FailedRuleId::Far(FarId(id)))
}

pub const fn qer_id(id: u32) -> Option<FailedRuleId> {
    Some(FailedRuleId::Qer(QerId(id)))
}

pub const fn urr_id(id: u32) -> Option<FailedRuleId> {
    Some(FailedRuleId::Urr(UrrId(id)))
}

/// What is wrong, and the answer.
#[derive(Clone, Copy)]
pub struct Case(
    pub &'static str,
    pub fn(&mut Request),
    pub Cause,
    pub Option<IeType>,
    pub Option<FailedRuleId>,
);

pub const DETECTION: &[Case] = &[Case(
    "a PDR twice",
    |r| r.create_pdr[1].pdr_id = PdrId(1),
    RULE,
    None,
    pdr(1),
)];

pub const PDI: &[Case] = &[
    Case(
        "a PDI that matches nowhere",
        |r| {
            for pdr in &mut r.create_pdr {
                pdr.pdi.ue_ip_address.clear();
            }
        },
        RULE,
        Some(IeType::PDI),
        pdr(2),
    ),
    Case(
        "an IPv6 F-TEID of N9, which has none",
        |r| {
            r.create_pdr[0].pdi.source_interface = SourceInterface::CORE;
            r.create_pdr[0].pdi.local_f_teid = Some(FTeid::Choose {
                ipv4: false,
                ipv6: true,
                choose_id: None,
            });
        },
        RULE,
        Some(IeType::F_TEID),
        pdr(1),
    ),
    Case(
        "an F-TEID that is not ours",
        |r| r.create_pdr[0].pdi.local_f_teid = Some(FTeid::v4(Teid::new(5).unwrap(), GNB)),
        RULE,
        Some(IeType::F_TEID),
        pdr(1),
    ),
    Case(
        "an F-TEID at our address of another side",
        |r| {
            let n9 = Ipv4Addr::new(192, 0, 2, 2);
            r.create_pdr[0].pdi.local_f_teid = Some(FTeid::v4(Teid::new(5).unwrap(), n9));
        },
        RULE,
        Some(IeType::F_TEID),
        pdr(1),
    ),
];
