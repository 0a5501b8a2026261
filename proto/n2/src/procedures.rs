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

/// A row a procedure: code, clause, who begins it, whether it is served, and its name.
macro_rules! procedures {
    ($($code:literal $clause:literal $side:ident $is_served:ident $name:literal,)*) => {
        [$(Procedure {
            code: $code,
            name: $name,
            clause: $clause,
            side: Side::$side,
            is_served: procedures!(@$is_served),
        }),*]
    };
    (@served) => { true };
    (@not_served) => { false };
}

/// All of Release 17, by their codes, which count from 0.
pub const PROCEDURES: &[Procedure] = &procedures![
    0 "8.7.3" Amf served "AMF Configuration Update",
    1 "8.7.6" Amf served "AMF Status Indication",
    2 "8.11.4" Gnb not_served "Cell Traffic Trace",
    3 "8.11.3" Amf not_served "Deactivate Trace",
    4 "8.6.2" Amf served "Downlink NAS Transport",
    5 "8.10.4" Amf not_served "Downlink Non UE Associated NRPPa Transport",
    6 "8.8.2" Amf served "Downlink RAN Configuration Transfer",
    7 "8.4.7" Amf served "Downlink RAN Status Transfer",
    8 "8.10.2" Amf not_served "Downlink UE Associated NRPPa Transport",
    9 "8.7.5" Both served "Error Indication",
    10 "8.4.5" Gnb served "Handover Cancel",
    11 "8.4.3" Gnb served "Handover Notification",
    12 "8.4.1" Gnb served "Handover Preparation",
    13 "8.4.2" Amf served "Handover Resource Allocation",
    14 "8.3.1" Amf served "Initial Context Setup",
    15 "8.6.1" Gnb served "Initial UE Message",
    16 "8.12.1" Amf not_served "Location Reporting Control",
    17 "8.12.2" Gnb not_served "Location Reporting Failure Indication",
    18 "8.12.3" Gnb not_served "Location Report",
    19 "8.6.4" Gnb served "NAS Non Delivery Indication",
    20 "8.7.4" Both served "NG Reset",
    21 "8.7.1" Gnb served "NG Setup",
    22 "8.7.7" Amf served "Overload Start",
    23 "8.7.8" Amf served "Overload Stop",
    24 "8.5.1" Amf served "Paging",
    25 "8.4.4" Gnb served "Path Switch Request",
    26 "8.2.3" Amf served "PDU Session Resource Modify",
    27 "8.2.5" Gnb served "PDU Session Resource Modify Indication",
    28 "8.2.2" Amf served "PDU Session Resource Release",
    29 "8.2.1" Amf served "PDU Session Resource Setup",
    30 "8.2.4" Gnb served "PDU Session Resource Notify",
    31 "8.17" Both not_served "Private Message",
    32 "8.9.2" Amf not_served "PWS Cancel",
    33 "8.9.4" Gnb not_served "PWS Failure Indication",
    34 "8.9.3" Gnb not_served "PWS Restart Indication",
    35 "8.7.2" Gnb served "RAN Configuration Update",
    36 "8.6.5" Amf not_served "Reroute NAS Request",
    37 "8.3.5" Gnb not_served "RRC Inactive Transition Report",
    38 "8.11.2" Gnb not_served "Trace Failure Indication",
    39 "8.11.1" Amf not_served "Trace Start",
    40 "8.3.4" Amf served "UE Context Modification",
    41 "8.3.3" Amf served "UE Context Release",
    42 "8.3.2" Gnb served "UE Context Release Request",
    43 "8.14.2" Amf not_served "UE Radio Capability Check",
    44 "8.14.1" Gnb served "UE Radio Capability Info Indication",
    45 "8.13.1" Amf not_served "UE TNLA Binding Release",
    46 "8.6.3" Gnb served "Uplink NAS Transport",
    47 "8.10.5" Gnb not_served "Uplink Non UE Associated NRPPa Transport",
    48 "8.8.1" Gnb served "Uplink RAN Configuration Transfer",
    49 "8.4.6" Gnb served "Uplink RAN Status Transfer",
    50 "8.10.3" Gnb not_served "Uplink UE Associated NRPPa Transport",
    51 "8.9.1" Amf not_served "Write-Replace Warning",
    52 "8.15.1" Gnb not_served "Secondary RAT Data Usage Report",
    53 "8.16.1" Gnb not_served "Uplink RIM Information Transfer",
    54 "8.16.2" Amf not_served "Downlink RIM Information Transfer",
    55 "8.3.9" Gnb not_served "Retrieve UE Information",
    56 "8.3.10" Amf not_served "UE Information Transfer",
    57 "8.3.8" Gnb not_served "RAN CP Relocation Indication",
    58 "8.3.12" Gnb not_served "UE Context Resume",
    59 "8.3.11" Gnb not_served "UE Context Suspend",
    60 "8.14.3" Gnb not_served "UE Radio Capability ID Mapping",
    61 "8.4.8" Amf not_served "Handover Success",
    62 "8.4.9" Gnb not_served "Uplink RAN Early Status Transfer",
    63 "8.4.10" Amf not_served "Downlink RAN Early Status Transfer",
    64 "8.3.7" Amf not_served "AMF CP Relocation Indication",
    65 "8.3.6" Amf not_served "Connection Establishment Indication",
    66 "8.17.2" Amf not_served "Broadcast Session Modification",
    67 "8.17.3" Amf not_served "Broadcast Session Release",
    68 "8.17.1" Amf not_served "Broadcast Session Setup",
    69 "8.18.1" Gnb not_served "Distribution Setup",
    70 "8.18.2" Gnb not_served "Distribution Release",
    71 "8.18.3" Amf not_served "Multicast Session Activation",
    72 "8.18.4" Amf not_served "Multicast Session Deactivation",
    73 "8.18.5" Amf not_served "Multicast Session Update",
    74 "8.18.6" Amf not_served "Multicast Group Paging",
    75 "8.17.4" Gnb not_served "Broadcast Session Release Required",
];

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
