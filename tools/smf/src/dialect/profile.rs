//! Dialect profiles: the differences between SMFs, as data.

use sluice_wire::ids::{BarId, Precedence, Qfi};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, DestinationInterface, InterfaceType, MeasurementInformation,
    MeasurementMethod, NotificationDelay, OuterHeaderRemoval, ReportingTriggers, Volume,
};

/// How one SMF encodes a session. Every field is a fact about the project named in `source`.
#[derive(Debug)]
pub struct Profile {
    /// The name that users give.
    pub name: &'static str,
    /// The project, and where in its source the facts stand.
    pub source: &'static str,
    /// CP Function Features of the association set-up; `None`: the IE is not sent.
    pub cp_function_features: Option<CpFunctionFeatures>,
    /// Message priorities of the session related requests.
    pub priority: MessagePriorities,
    /// CP F-SEID where the TS does not ask for it.
    pub cp_f_seid: ExtraFSeid,
    pub session: SessionIes,
    pub network_instance: NetworkInstanceStyle,
    pub numbering: Numbering,
    /// The downlink rules come before the uplink rules and have the lower numbers.
    pub downlink_first: bool,
    /// The F-TEID of the uplink PDR.
    pub f_teid: FTeidStyle,
    pub pdr: PdrStyle,
    pub far: FarStyle,
    pub qer: QerStyle,
    /// URRs of a measured session.
    pub urr: &'static [UrrStyle],
    pub bar: Option<BarStyle>,
    /// A pair of PDRs between UE and CP function, for router solicitations and advertisements.
    pub cp_channels: bool,
    /// Dedicated flows; `None`: they are not emulated.
    pub flow: Option<FlowStyle>,
    pub change: ChangeStyle,
    /// Session Report Responses carry PFCPSRRsp-Flags with no flag set.
    pub report_response_flags: bool,
}

/// MP flag and priority in the header (TS 29.244, 7.2.2.2); `None`: no flag.
#[derive(Debug, Default)]
pub struct MessagePriorities {
    pub establishment: Option<u8>,
    pub modification: Option<u8>,
    pub deletion: Option<u8>,
}

/// Requests that repeat the CP F-SEID though it does not change.
#[derive(Debug)]
pub struct ExtraFSeid {
    /// Every Session Modification Request has it.
    pub in_modification: bool,
    /// Every Session Deletion Request has it.
    pub in_deletion: bool,
}

/// IEs of a Session Establishment Request beside the rules.
#[derive(Debug)]
pub struct SessionIes {
    pub pdn_type: bool,
    pub user_id: UserIdStyle,
    /// APN/DNN, as DNS labels.
    pub apn_dnn: bool,
    pub s_nssai: bool,
}

/// Which identity of the subscriber the UPF learns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UserIdStyle {
    /// None.
    Absent,
    /// IMSI, IMEISV and MSISDN, in TBCD, as far as they are known.
    Imsi,
    Supi,
}

/// Network Instance (TS 29.244, 8.2.4).
#[derive(Debug)]
pub struct NetworkInstanceStyle {
    pub coding: NameCoding,
    /// Values of the Network Instance.
    pub names: NamedBy,
}

/// How a name is put into octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameCoding {
    Text,
    Labels,
}

/// Meaning of a Network Instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamedBy {
    /// The DNN, on both sides.
    Dnn,
    Side,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// They begin at 1 in each session.
    PerSession,
    /// They are taken from one pool for the whole UPF.
    PerUpf,
}

/// CHOOSE of the uplink F-TEID (TS 29.244, 8.2.3).
#[derive(Debug)]
pub struct FTeidStyle {
    /// The SMF always chooses TEIDs itself; a plan that says otherwise is followed all the same.
    pub chosen_by_cp: bool,
    /// An IPv6 address is asked for too.
    pub choose_ipv6: bool,
    pub choose_id: Option<u8>,
}

#[derive(Debug)]
pub struct PdrStyle {
    pub precedence: Precedence,
    /// The uplink PDI has the UE IP Address too.
    pub uplink_ue_address: bool,
    /// UE IP Address has the interface identifier behind the IPv6 prefix, not 0.
    pub interface_identifier: bool,
    /// S/D of the UE IP Address in the downlink PDR.
    pub destination_flag: bool,
    /// The uplink PDI has the QFI.
    pub uplink_qfi: bool,
    pub outer_header_removal: OuterHeaderRemoval,
    /// Source Interface Type of the uplink PDI.
    pub uplink_type: Option<InterfaceType>,
    /// Source Interface Type of the downlink PDI.
    pub downlink_type: Option<InterfaceType>,
    /// Flow description of both PDIs.
    pub flow_description: Option<&'static str>,
}

#[derive(Debug)]
pub struct FarStyle {
    /// Apply Action has two octets rather than one (TS 29.244, 8.2.26: since Release 16).
    pub two_octet_action: bool,
    pub uplink_destination: DestinationInterface,
    /// Destination Interface Type of the uplink FAR.
    pub uplink_type: Option<InterfaceType>,
    /// Destination Interface Type of the downlink FAR.
    pub downlink_type: Option<InterfaceType>,
    /// The downlink FAR while the gNB is not known.
    pub before_gnb: BeforeGnb,
    /// DSCP of outer headers by 5QI, in Transport Level Marking (TS 29.244, 5.4.4, 8.2.12); flows of other 5QIs have
    /// none. A flow's QFI is its 5QI, as it may be (TS 23.501, 5.7.1.3).
    pub dscp: &'static [(Qfi, u8)],
}

impl FarStyle {
    /// The DSCP of a flow's outer headers.
    pub fn dscp_of(&self, flow: Qfi) -> Option<u8> {
        let mut all = self.dscp.iter();
        all.find(|(qfi, _)| *qfi == flow).map(|(_, dscp)| *dscp)
    }
}

/// Downlink FAR before the gNB is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeforeGnb {
    Buffer,
    Drop,
    /// FORW to the access side without Outer Header Creation.
    ForwardWithoutTunnel,
    /// There is no downlink rule yet.
    Absent,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QerStyle {
    /// One for the session AMBR and one for the flow, in both PDRs.
    SessionAndFlow {
        /// The QFI stands in the session's QER too.
        session_qfi: bool,
        /// PDRs name the flow's QER first.
        flow_first: bool,
    },
    /// One with QFI, and the session AMBR as its MBR, in both PDRs.
    Merged {
        /// A flow that has an MBR gets another one, named first.
        flow_apart: bool,
    },
    /// One for each direction with QFI, and an MBR whose other direction is 0.
    PerDirection,
}

#[derive(Debug)]
pub struct UrrStyle {
    pub method: MeasurementMethod,
    /// When a report is made.
    pub triggers: ReportingTriggers,
    /// Reporting Triggers has two octets, as up to Release 15, rather than three.
    pub two_octet_triggers: bool,
    /// From one periodic report to the next, seconds.
    pub period_s: Option<u32>,
    /// Volume threshold, octets.
    pub volume_threshold: Option<Volume>,
    /// Time threshold, seconds.
    pub time_threshold_s: Option<u32>,
    pub information: Option<MeasurementInformation>,
    /// The uplink PDR refers to it.
    pub of_uplink: bool,
    /// The downlink PDR refers to it.
    pub of_downlink: bool,
}

#[derive(Debug)]
pub struct BarStyle {
    pub bar_id: BarId,
    pub delay: Option<NotificationDelay>,
    /// FARs with BUFF name it.
    pub named_by_far: bool,
}

/// PDRs, FARs and QER of a dedicated flow.
#[derive(Debug)]
pub struct FlowStyle {
    /// They come with the session; otherwise by a modification, without the gNB's tunnel.
    pub with_session: bool,
    /// Their PDIs have the UE IP Address as those of the session.
    pub ue_address: bool,
    /// The downlink PDI has source and destination of the description exchanged.
    pub downlink_exchanged: bool,
    /// PDRs name the session's QER behind the flow's.
    pub session_qer: bool,
    /// The flow has URRs of its own, and does not share those of the session.
    pub own_urrs: bool,
}

/// How rules change after the establishment.
#[derive(Debug)]
pub struct ChangeStyle {
    /// How the gNB's tunnel is told for the first time.
    pub first_gnb: FirstGnb,
    /// How a later one is told.
    pub path_switch: PathSwitch,
    /// Rules of an idle UE.
    pub idle: Idle,
    /// Network Instance stands in Update Forwarding Parameters.
    pub network_instance: bool,
    /// PFCPSMReq-Flags stands in Update Forwarding Parameters though no flag is set.
    pub flags_always: bool,
    /// The type of the group with the parameters in an Update FAR.
    pub parameters_ie: IeType,
}

/// How the gNB's tunnel is told for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstGnb {
    UpdateFar,
    UpdateFarAndPdr,
    /// Update FAR, and Update PDR of both directions with what they were.
    UpdateFarAndPdrs,
    /// Create FAR, QER and PDR.
    CreateRules,
}

/// How the tunnel of another gNB is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathSwitch {
    EndMarker,
    /// Update FAR, and Update PDR with what it was; no End Marker is asked for.
    UpdatePdrToo,
}

/// Change of the rules when the UE becomes idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// The downlink FAR gets BUFF and NOCP.
    Buffer {
        /// Update Forwarding Parameters say what they were.
        repeats: Repeats,
        /// The tunnel that replaces it afterwards counts as a path switch: SNDEM is sent.
        end_marker_after: bool,
    },
    /// All rules but the URRs are removed, and made anew later, with new numbers and TEID.
    Remove,
}

/// Parts that an Update FAR for an idle UE repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    Nothing,
    /// The forwarding parameters without the tunnel.
    WithoutTunnel,
    Everything,
}
