//! The elementary procedures of NGAP (TS 38.413, 8.1, Release 17): who begins each, and which this AMF serves.

use oxirush_ngap::ngap::{Criticality, NGAP_PDU};

/// Who begins a procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// A gNB.
    Gnb,
    /// An AMF.
    Amf,
    /// Either.
    Both,
}

/// An elementary procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Procedure {
    /// Its code (9.4.7).
    pub code: u8,
    /// Its name.
    pub name: &'static str,
    /// The clause that describes it.
    pub clause: &'static str,
    /// Who begins it.
    pub side: Side,
    /// This AMF begins it, or answers it; what it does not serve it answers by criticality alone.
    pub is_served: bool,
}

/// All of Release 17, by their codes, which count from 0.
pub const PROCEDURES: &[Procedure] = &[
    of(0, "AMF Configuration Update", "8.7.3", Side::Amf, true),
    of(1, "AMF Status Indication", "8.7.6", Side::Amf, true),
    of(2, "Cell Traffic Trace", "8.11.4", Side::Gnb, false),
    of(3, "Deactivate Trace", "8.11.3", Side::Amf, false),
    of(4, "Downlink NAS Transport", "8.6.2", Side::Amf, true),
    of(
        5,
        "Downlink Non UE Associated NRPPa Transport",
        "8.10.4",
        Side::Amf,
        false,
    ),
    of(
        6,
        "Downlink RAN Configuration Transfer",
        "8.8.2",
        Side::Amf,
        true,
    ),
    of(7, "Downlink RAN Status Transfer", "8.4.7", Side::Amf, true),
    of(
        8,
        "Downlink UE Associated NRPPa Transport",
        "8.10.2",
        Side::Amf,
        false,
    ),
    of(9, "Error Indication", "8.7.5", Side::Both, true),
    of(10, "Handover Cancel", "8.4.5", Side::Gnb, true),
    of(11, "Handover Notification", "8.4.3", Side::Gnb, true),
    of(12, "Handover Preparation", "8.4.1", Side::Gnb, true),
    of(13, "Handover Resource Allocation", "8.4.2", Side::Amf, true),
    of(14, "Initial Context Setup", "8.3.1", Side::Amf, true),
    of(15, "Initial UE Message", "8.6.1", Side::Gnb, true),
    of(16, "Location Reporting Control", "8.12.1", Side::Amf, false),
    of(
        17,
        "Location Reporting Failure Indication",
        "8.12.2",
        Side::Gnb,
        false,
    ),
    of(18, "Location Report", "8.12.3", Side::Gnb, false),
    of(19, "NAS Non Delivery Indication", "8.6.4", Side::Gnb, true),
    of(20, "NG Reset", "8.7.4", Side::Both, true),
    of(21, "NG Setup", "8.7.1", Side::Gnb, true),
    of(22, "Overload Start", "8.7.7", Side::Amf, true),
    of(23, "Overload Stop", "8.7.8", Side::Amf, true),
    of(24, "Paging", "8.5.1", Side::Amf, true),
    of(25, "Path Switch Request", "8.4.4", Side::Gnb, true),
    of(26, "PDU Session Resource Modify", "8.2.3", Side::Amf, true),
    of(
        27,
        "PDU Session Resource Modify Indication",
        "8.2.5",
        Side::Gnb,
        true,
    ),
    of(28, "PDU Session Resource Release", "8.2.2", Side::Amf, true),
    of(29, "PDU Session Resource Setup", "8.2.1", Side::Amf, true),
    of(30, "PDU Session Resource Notify", "8.2.4", Side::Gnb, true),
    of(31, "Private Message", "8.17", Side::Both, false),
    of(32, "PWS Cancel", "8.9.2", Side::Amf, false),
    of(33, "PWS Failure Indication", "8.9.4", Side::Gnb, false),
    of(34, "PWS Restart Indication", "8.9.3", Side::Gnb, false),
    of(35, "RAN Configuration Update", "8.7.2", Side::Gnb, true),
    of(36, "Reroute NAS Request", "8.6.5", Side::Amf, false),
    of(
        37,
        "RRC Inactive Transition Report",
        "8.3.5",
        Side::Gnb,
        false,
    ),
    of(38, "Trace Failure Indication", "8.11.2", Side::Gnb, false),
    of(39, "Trace Start", "8.11.1", Side::Amf, false),
    of(40, "UE Context Modification", "8.3.4", Side::Amf, true),
    of(41, "UE Context Release", "8.3.3", Side::Amf, true),
    of(42, "UE Context Release Request", "8.3.2", Side::Gnb, true),
    of(43, "UE Radio Capability Check", "8.14.2", Side::Amf, false),
    of(
        44,
        "UE Radio Capability Info Indication",
        "8.14.1",
        Side::Gnb,
        true,
    ),
    of(45, "UE TNLA Binding Release", "8.13.1", Side::Amf, false),
    of(46, "Uplink NAS Transport", "8.6.3", Side::Gnb, true),
    of(
        47,
        "Uplink Non UE Associated NRPPa Transport",
        "8.10.5",
        Side::Gnb,
        false,
    ),
    of(
        48,
        "Uplink RAN Configuration Transfer",
        "8.8.1",
        Side::Gnb,
        true,
    ),
    of(49, "Uplink RAN Status Transfer", "8.4.6", Side::Gnb, true),
    of(
        50,
        "Uplink UE Associated NRPPa Transport",
        "8.10.3",
        Side::Gnb,
        false,
    ),
    of(51, "Write-Replace Warning", "8.9.1", Side::Amf, false),
    of(
        52,
        "Secondary RAT Data Usage Report",
        "8.15.1",
        Side::Gnb,
        false,
    ),
    of(
        53,
        "Uplink RIM Information Transfer",
        "8.16.1",
        Side::Gnb,
        false,
    ),
    of(
        54,
        "Downlink RIM Information Transfer",
        "8.16.2",
        Side::Amf,
        false,
    ),
    of(55, "Retrieve UE Information", "8.3.9", Side::Gnb, false),
    of(56, "UE Information Transfer", "8.3.10", Side::Amf, false),
    of(
        57,
        "RAN CP Relocation Indication",
        "8.3.8",
        Side::Gnb,
        false,
    ),
    of(58, "UE Context Resume", "8.3.12", Side::Gnb, false),
    of(59, "UE Context Suspend", "8.3.11", Side::Gnb, false),
    of(
        60,
        "UE Radio Capability ID Mapping",
        "8.14.3",
        Side::Gnb,
        false,
    ),
    of(61, "Handover Success", "8.4.8", Side::Amf, false),
    of(
        62,
        "Uplink RAN Early Status Transfer",
        "8.4.9",
        Side::Gnb,
        false,
    ),
    of(
        63,
        "Downlink RAN Early Status Transfer",
        "8.4.10",
        Side::Amf,
        false,
    ),
    of(
        64,
        "AMF CP Relocation Indication",
        "8.3.7",
        Side::Amf,
        false,
    ),
    of(
        65,
        "Connection Establishment Indication",
        "8.3.6",
        Side::Amf,
        false,
    ),
    of(
        66,
        "Broadcast Session Modification",
        "8.17.2",
        Side::Amf,
        false,
    ),
    of(67, "Broadcast Session Release", "8.17.3", Side::Amf, false),
    of(68, "Broadcast Session Setup", "8.17.1", Side::Amf, false),
    of(69, "Distribution Setup", "8.18.1", Side::Gnb, false),
    of(70, "Distribution Release", "8.18.2", Side::Gnb, false),
    of(
        71,
        "Multicast Session Activation",
        "8.18.3",
        Side::Amf,
        false,
    ),
    of(
        72,
        "Multicast Session Deactivation",
        "8.18.4",
        Side::Amf,
        false,
    ),
    of(73, "Multicast Session Update", "8.18.5", Side::Amf, false),
    of(74, "Multicast Group Paging", "8.18.6", Side::Amf, false),
    of(
        75,
        "Broadcast Session Release Required",
        "8.17.4",
        Side::Gnb,
        false,
    ),
];

const fn of(
    code: u8,
    name: &'static str,
    clause: &'static str,
    side: Side,
    is_served: bool,
) -> Procedure {
    Procedure {
        code,
        name,
        clause,
        side,
        is_served,
    }
}

/// The name of the procedure with this code.
pub(crate) fn name(code: u8) -> &'static str {
    let known = PROCEDURES.get(usize::from(code));
    known.map_or("a procedure of a later release", |one| one.name)
}

/// Whether a gNB may say this to this AMF: it begins a procedure that is served, or ends one that the AMF began.
pub(crate) fn is_for_amf(pdu: &NGAP_PDU) -> bool {
    let begins = if pdu.is_initiating() {
        Side::Gnb
    } else {
        Side::Amf
    };
    PROCEDURES
        .get(usize::from(pdu.procedure_code()))
        .is_some_and(|one| one.is_served && (one.side == begins || one.side == Side::Both))
}

/// Whether the sender of a message that is not for this AMF hears of it (10.3.4.1): not where its criticality says
/// that it is to be ignored. Reports of a gNB are such, and many gNBs release a UE whose report is answered by an
/// Error Indication.
pub(crate) fn is_answered(pdu: &NGAP_PDU) -> bool {
    pdu.is_initiating() && pdu.criticality() != Criticality::ignore
}
