//! The IE types of TS 29.244, Table 8.1.2-1 (Release 17).

use core::fmt;

/// The type of an information element: 16 bits; types with the top bit set belong to a vendor
/// (TS 29.244, 8.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct IeType(pub u16);

impl IeType {
    /// The bit that marks a vendor's type; an Enterprise ID then leads the value.
    pub const VENDOR_BIT: u16 = 0x8000;

    /// Whether a vendor, not 3GPP, defined this type.
    pub const fn is_vendor_specific(self) -> bool {
        self.0 & Self::VENDOR_BIT != 0
    }
}

impl fmt::Debug for IeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IeType({self})")
    }
}

/// Prints the name and the number, "PDR ID (56)", or the number alone when it has no name here.
impl fmt::Display for IeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "IE {}", self.0),
        }
    }
}

/// Makes one named constant per line, and the look-up of names.
macro_rules! ie_types {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        impl IeType {
            $(
                #[doc = concat!($name, ": type ", $number, ".")]
                pub const $constant: Self = Self($number);
            )*

            /// All types that have a name here.
            pub const ALL: &'static [Self] = &[$(Self($number)),*];

            /// The name that the TS gives this type.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

ie_types! {
    CREATE_PDR = 1, "Create PDR";
    PDI = 2, "PDI";
    CREATE_FAR = 3, "Create FAR";
    FORWARDING_PARAMETERS = 4, "Forwarding Parameters";
    DUPLICATING_PARAMETERS = 5, "Duplicating Parameters";
    CREATE_URR = 6, "Create URR";
    CREATE_QER = 7, "Create QER";
    CREATED_PDR = 8, "Created PDR";
    UPDATE_PDR = 9, "Update PDR";
    UPDATE_FAR = 10, "Update FAR";
    UPDATE_FORWARDING_PARAMETERS = 11, "Update Forwarding Parameters";
    UPDATE_BAR_IN_SESSION_REPORT_RESPONSE = 12, "Update BAR (PFCP Session Report Response)";
    UPDATE_URR = 13, "Update URR";
    UPDATE_QER = 14, "Update QER";
    REMOVE_PDR = 15, "Remove PDR";
    REMOVE_FAR = 16, "Remove FAR";
    REMOVE_URR = 17, "Remove URR";
    REMOVE_QER = 18, "Remove QER";
    CAUSE = 19, "Cause";
    SOURCE_INTERFACE = 20, "Source Interface";
    F_TEID = 21, "F-TEID";
    NETWORK_INSTANCE = 22, "Network Instance";
    SDF_FILTER = 23, "SDF Filter";
    APPLICATION_ID = 24, "Application ID";
    GATE_STATUS = 25, "Gate Status";
    MBR = 26, "MBR";
    GBR = 27, "GBR";
    QER_CORRELATION_ID = 28, "QER Correlation ID";
    PRECEDENCE = 29, "Precedence";
    TRANSPORT_LEVEL_MARKING = 30, "Transport Level Marking";
    VOLUME_THRESHOLD = 31, "Volume Threshold";
    TIME_THRESHOLD = 32, "Time Threshold";
    MONITORING_TIME = 33, "Monitoring Time";
    SUBSEQUENT_VOLUME_THRESHOLD = 34, "Subsequent Volume Threshold";
    SUBSEQUENT_TIME_THRESHOLD = 35, "Subsequent Time Threshold";
    INACTIVITY_DETECTION_TIME = 36, "Inactivity Detection Time";
    REPORTING_TRIGGERS = 37, "Reporting Triggers";
    REDIRECT_INFORMATION = 38, "Redirect Information";
    REPORT_TYPE = 39, "Report Type";
    OFFENDING_IE = 40, "Offending IE";
    FORWARDING_POLICY = 41, "Forwarding Policy";
    DESTINATION_INTERFACE = 42, "Destination Interface";
    UP_FUNCTION_FEATURES = 43, "UP Function Features";
    APPLY_ACTION = 44, "Apply Action";
    DOWNLINK_DATA_SERVICE_INFORMATION = 45, "Downlink Data Service Information";
    DOWNLINK_DATA_NOTIFICATION_DELAY = 46, "Downlink Data Notification Delay";
    DL_BUFFERING_DURATION = 47, "DL Buffering Duration";
    DL_BUFFERING_SUGGESTED_PACKET_COUNT = 48, "DL Buffering Suggested Packet Count";
    PFCPSMREQ_FLAGS = 49, "PFCPSMReq-Flags";
    PFCPSRRSP_FLAGS = 50, "PFCPSRRsp-Flags";
    LOAD_CONTROL_INFORMATION = 51, "Load Control Information";
    SEQUENCE_NUMBER = 52, "Sequence Number";
    METRIC = 53, "Metric";
    OVERLOAD_CONTROL_INFORMATION = 54, "Overload Control Information";
    TIMER = 55, "Timer";
    PDR_ID = 56, "PDR ID";
    F_SEID = 57, "F-SEID";
    APPLICATION_IDS_PFDS = 58, "Application ID's PFDs";
    PFD_CONTEXT = 59, "PFD Context";
    NODE_ID = 60, "Node ID";
    PFD_CONTENTS = 61, "PFD Contents";
    MEASUREMENT_METHOD = 62, "Measurement Method";
    USAGE_REPORT_TRIGGER = 63, "Usage Report Trigger";
    MEASUREMENT_PERIOD = 64, "Measurement Period";
    FQ_CSID = 65, "FQ-CSID";
    VOLUME_MEASUREMENT = 66, "Volume Measurement";
    DURATION_MEASUREMENT = 67, "Duration Measurement";
    APPLICATION_DETECTION_INFORMATION = 68, "Application Detection Information";
    TIME_OF_FIRST_PACKET = 69, "Time of First Packet";
    TIME_OF_LAST_PACKET = 70, "Time of Last Packet";
    QUOTA_HOLDING_TIME = 71, "Quota Holding Time";
    DROPPED_DL_TRAFFIC_THRESHOLD = 72, "Dropped DL Traffic Threshold";
    VOLUME_QUOTA = 73, "Volume Quota";
    TIME_QUOTA = 74, "Time Quota";
    START_TIME = 75, "Start Time";
    END_TIME = 76, "End Time";
    QUERY_URR = 77, "Query URR";
    USAGE_REPORT_IN_SESSION_MODIFICATION_RESPONSE = 78, "Usage Report (Session Modification Response)";
    USAGE_REPORT_IN_SESSION_DELETION_RESPONSE = 79, "Usage Report (Session Deletion Response)";
    USAGE_REPORT_IN_SESSION_REPORT_REQUEST = 80, "Usage Report (Session Report Request)";
    URR_ID = 81, "URR ID";
    LINKED_URR_ID = 82, "Linked URR ID";
    DOWNLINK_DATA_REPORT = 83, "Downlink Data Report";
    OUTER_HEADER_CREATION = 84, "Outer Header Creation";
    CREATE_BAR = 85, "Create BAR";
    UPDATE_BAR_IN_SESSION_MODIFICATION_REQUEST = 86, "Update BAR (Session Modification Request)";
    REMOVE_BAR = 87, "Remove BAR";
    BAR_ID = 88, "BAR ID";
    CP_FUNCTION_FEATURES = 89, "CP Function Features";
    USAGE_INFORMATION = 90, "Usage Information";
    APPLICATION_INSTANCE_ID = 91, "Application Instance ID";
    FLOW_INFORMATION = 92, "Flow Information";
    UE_IP_ADDRESS = 93, "UE IP Address";
    PACKET_RATE = 94, "Packet Rate";
    OUTER_HEADER_REMOVAL = 95, "Outer Header Removal";
    RECOVERY_TIME_STAMP = 96, "Recovery Time Stamp";
    DL_FLOW_LEVEL_MARKING = 97, "DL Flow Level Marking";
    HEADER_ENRICHMENT = 98, "Header Enrichment";
    ERROR_INDICATION_REPORT = 99, "Error Indication Report";
    MEASUREMENT_INFORMATION = 100, "Measurement Information";
    NODE_REPORT_TYPE = 101, "Node Report Type";
    USER_PLANE_PATH_FAILURE_REPORT = 102, "User Plane Path Failure Report";
    REMOTE_GTPU_PEER = 103, "Remote GTP-U Peer";
    UR_SEQN = 104, "UR-SEQN";
    UPDATE_DUPLICATING_PARAMETERS = 105, "Update Duplicating Parameters";
    ACTIVATE_PREDEFINED_RULES = 106, "Activate Predefined Rules";
    DEACTIVATE_PREDEFINED_RULES = 107, "Deactivate Predefined Rules";
    FAR_ID = 108, "FAR ID";
    QER_ID = 109, "QER ID";
    OCI_FLAGS = 110, "OCI Flags";
    PFCP_ASSOCIATION_RELEASE_REQUEST = 111, "PFCP Association Release Request";
    GRACEFUL_RELEASE_PERIOD = 112, "Graceful Release Period";
    PDN_TYPE = 113, "PDN Type";
    FAILED_RULE_ID = 114, "Failed Rule ID";
    TIME_QUOTA_MECHANISM = 115, "Time Quota Mechanism";
    USER_PLANE_IP_RESOURCE_INFORMATION = 116, "User Plane IP Resource Information";
    USER_PLANE_INACTIVITY_TIMER = 117, "User Plane Inactivity Timer";
    AGGREGATED_URRS = 118, "Aggregated URRs";
    MULTIPLIER = 119, "Multiplier";
    AGGREGATED_URR_ID = 120, "Aggregated URR ID";
    SUBSEQUENT_VOLUME_QUOTA = 121, "Subsequent Volume Quota";
    SUBSEQUENT_TIME_QUOTA = 122, "Subsequent Time Quota";
    RQI = 123, "RQI";
    QFI = 124, "QFI";
    QUERY_URR_REFERENCE = 125, "Query URR Reference";
    ADDITIONAL_USAGE_REPORTS_INFORMATION = 126, "Additional Usage Reports Information";
    CREATE_TRAFFIC_ENDPOINT = 127, "Create Traffic Endpoint";
    CREATED_TRAFFIC_ENDPOINT = 128, "Created Traffic Endpoint";
    UPDATE_TRAFFIC_ENDPOINT = 129, "Update Traffic Endpoint";
    REMOVE_TRAFFIC_ENDPOINT = 130, "Remove Traffic Endpoint";
    TRAFFIC_ENDPOINT_ID = 131, "Traffic Endpoint ID";
    ETHERNET_PACKET_FILTER = 132, "Ethernet Packet Filter";
    MAC_ADDRESS = 133, "MAC Address";
    C_TAG = 134, "C-TAG";
    S_TAG = 135, "S-TAG";
    ETHERTYPE = 136, "Ethertype";
    PROXYING = 137, "Proxying";
    ETHERNET_FILTER_ID = 138, "Ethernet Filter ID";
    ETHERNET_FILTER_PROPERTIES = 139, "Ethernet Filter Properties";
    SUGGESTED_BUFFERING_PACKETS_COUNT = 140, "Suggested Buffering Packets Count";
    USER_ID = 141, "User ID";
    ETHERNET_PDU_SESSION_INFORMATION = 142, "Ethernet PDU Session Information";
    ETHERNET_TRAFFIC_INFORMATION = 143, "Ethernet Traffic Information";
    MAC_ADDRESSES_DETECTED = 144, "MAC Addresses Detected";
    MAC_ADDRESSES_REMOVED = 145, "MAC Addresses Removed";
    ETHERNET_INACTIVITY_TIMER = 146, "Ethernet Inactivity Timer";
    ADDITIONAL_MONITORING_TIME = 147, "Additional Monitoring Time";
    EVENT_QUOTA = 148, "Event Quota";
    EVENT_THRESHOLD = 149, "Event Threshold";
    SUBSEQUENT_EVENT_QUOTA = 150, "Subsequent Event Quota";
    SUBSEQUENT_EVENT_THRESHOLD = 151, "Subsequent Event Threshold";
    TRACE_INFORMATION = 152, "Trace Information";
    FRAMED_ROUTE = 153, "Framed-Route";
    FRAMED_ROUTING = 154, "Framed-Routing";
    FRAMED_IPV6_ROUTE = 155, "Framed-IPv6-Route";
    TIME_STAMP = 156, "Time Stamp";
    AVERAGING_WINDOW = 157, "Averaging Window";
    PAGING_POLICY_INDICATOR = 158, "Paging Policy Indicator";
    APN_DNN = 159, "APN/DNN";
    TGPP_INTERFACE_TYPE = 160, "3GPP Interface Type";
    PFCPSRREQ_FLAGS = 161, "PFCPSRReq-Flags";
    PFCPAUREQ_FLAGS = 162, "PFCPAUReq-Flags";
    ACTIVATION_TIME = 163, "Activation Time";
    DEACTIVATION_TIME = 164, "Deactivation Time";
    CREATE_MAR = 165, "Create MAR";
    ACCESS_FORWARDING_ACTION_INFORMATION_1 = 166, "Access Forwarding Action Information 1";
    ACCESS_FORWARDING_ACTION_INFORMATION_2 = 167, "Access Forwarding Action Information 2";
    REMOVE_MAR = 168, "Remove MAR";
    UPDATE_MAR = 169, "Update MAR";
    MAR_ID = 170, "MAR ID";
    STEERING_FUNCTIONALITY = 171, "Steering Functionality";
    STEERING_MODE = 172, "Steering Mode";
    WEIGHT = 173, "Weight";
    PRIORITY = 174, "Priority";
    UPDATE_ACCESS_FORWARDING_ACTION_INFORMATION_1 = 175, "Update Access Forwarding Action Information 1";
    UPDATE_ACCESS_FORWARDING_ACTION_INFORMATION_2 = 176, "Update Access Forwarding Action Information 2";
    UE_IP_ADDRESS_POOL_IDENTITY = 177, "UE IP address Pool Identity";
    ALTERNATIVE_SMF_IP_ADDRESS = 178, "Alternative SMF IP Address";
    PACKET_REPLICATION_AND_DETECTION_CARRY_ON_INFORMATION = 179, "Packet Replication and Detection Carry-On Information";
    SMF_SET_ID = 180, "SMF Set ID";
    QUOTA_VALIDITY_TIME = 181, "Quota Validity Time";
    NUMBER_OF_REPORTS = 182, "Number of Reports";
    SESSION_RETENTION_INFORMATION = 183, "PFCP Session Retention Information";
    PFCPASRSP_FLAGS = 184, "PFCPASRsp-Flags";
    CP_PFCP_ENTITY_IP_ADDRESS = 185, "CP PFCP Entity IP Address";
    PFCPSEREQ_FLAGS = 186, "PFCPSEReq-Flags";
    USER_PLANE_PATH_RECOVERY_REPORT = 187, "User Plane Path Recovery Report";
    IP_MULTICAST_ADDRESSING_INFO = 188, "IP Multicast Addressing Info";
    JOIN_IP_MULTICAST_INFORMATION = 189, "Join IP Multicast Information";
    LEAVE_IP_MULTICAST_INFORMATION = 190, "Leave IP Multicast Information";
    IP_MULTICAST_ADDRESS = 191, "IP Multicast Address";
    SOURCE_IP_ADDRESS = 192, "Source IP Address";
    PACKET_RATE_STATUS = 193, "Packet Rate Status";
    CREATE_BRIDGE_INFO_FOR_TSC = 194, "Create Bridge Info for TSC";
    CREATED_BRIDGE_INFO_FOR_TSC = 195, "Created Bridge Info for TSC";
    DS_TT_PORT_NUMBER = 196, "DS-TT Port Number";
    NW_TT_PORT_NUMBER = 197, "NW-TT Port Number";
    FIVE_GS_USER_PLANE_NODE = 198, "5GS User Plane Node";
    TSC_MANAGEMENT_INFORMATION_IN_SESSION_MODIFICATION_REQUEST = 199, "TSC Management Information";
    TSC_MANAGEMENT_INFORMATION_IN_SESSION_MODIFICATION_RESPONSE = 200, "Port Management Information for TSC";
    TSC_MANAGEMENT_INFORMATION_IN_SESSION_REPORT_REQUEST = 201, "Port Management Information for TSC";
    PORT_MANAGEMENT_INFORMATION_CONTAINER = 202, "Port Management Information Container";
    CLOCK_DRIFT_CONTROL_INFORMATION = 203, "Clock Drift Control Information";
    REQUESTED_CLOCK_DRIFT_INFORMATION = 204, "Requested Clock Drift Information";
    CLOCK_DRIFT_REPORT = 205, "Clock Drift Report";
    TIME_DOMAIN_NUMBER = 206, "Time Domain Number";
    TIME_OFFSET_THRESHOLD = 207, "Time Offset Threshold";
    CUMULATIVE_RATERATIO_THRESHOLD = 208, "Cumulative rateRatio Threshold";
    TIME_OFFSET_MEASUREMENT = 209, "Time Offset Measurement";
    CUMULATIVE_RATERATIO_MEASUREMENT = 210, "Cumulative rateRatio Measurement";
    REMOVE_SRR = 211, "Remove SRR";
    CREATE_SRR = 212, "Create SRR";
    UPDATE_SRR = 213, "Update SRR";
    SESSION_REPORT = 214, "Session Report";
    SRR_ID = 215, "SRR ID";
    ACCESS_AVAILABILITY_CONTROL_INFORMATION = 216, "Access Availability Control Information";
    REQUESTED_ACCESS_AVAILABILITY_INFORMATION = 217, "Requested Access Availability Information";
    ACCESS_AVAILABILITY_REPORT = 218, "Access Availability Report";
    ACCESS_AVAILABILITY_INFORMATION = 219, "Access Availability Information";
    PROVIDE_ATSSS_CONTROL_INFORMATION = 220, "Provide ATSSS Control Information";
    ATSSS_CONTROL_PARAMETERS = 221, "ATSSS Control Parameters";
    MPTCP_CONTROL_INFORMATION = 222, "MPTCP Control Information";
    ATSSS_LL_CONTROL_INFORMATION = 223, "ATSSS-LL Control Information";
    PMF_CONTROL_INFORMATION = 224, "PMF Control Information";
    MPTCP_PARAMETERS = 225, "MPTCP Parameters";
    ATSSS_LL_PARAMETERS = 226, "ATSSS-LL Parameters";
    PMF_PARAMETERS = 227, "PMF Parameters";
    MPTCP_ADDRESS_INFORMATION = 228, "MPTCP Address Information";
    UE_LINK_SPECIFIC_IP_ADDRESS = 229, "UE Link-Specific IP Address";
    PMF_ADDRESS_INFORMATION = 230, "PMF Address Information";
    ATSSS_LL_INFORMATION = 231, "ATSSS-LL Information";
    DATA_NETWORK_ACCESS_IDENTIFIER = 232, "Data Network Access Identifier";
    UE_IP_ADDRESS_POOL_INFORMATION = 233, "UE IP address Pool Information";
    AVERAGE_PACKET_DELAY = 234, "Average Packet Delay";
    MINIMUM_PACKET_DELAY = 235, "Minimum Packet Delay";
    MAXIMUM_PACKET_DELAY = 236, "Maximum Packet Delay";
    QOS_REPORT_TRIGGER = 237, "QoS Report Trigger";
    GTPU_PATH_QOS_CONTROL_INFORMATION = 238, "GTP-U Path QoS Control Information";
    GTPU_PATH_QOS_REPORT = 239, "GTP-U Path QoS Report";
    QOS_INFORMATION_IN_GTPU_PATH_QOS_REPORT = 240, "QoS Information in GTP-U Path QoS Report";
    GTPU_PATH_INTERFACE_TYPE = 241, "GTP-U Path Interface Type";
    QOS_MONITORING_PER_QOS_FLOW_CONTROL_INFORMATION = 242, "QoS Monitoring per QoS flow Control Information";
    REQUESTED_QOS_MONITORING = 243, "Requested QoS Monitoring";
    REPORTING_FREQUENCY = 244, "Reporting Frequency";
    PACKET_DELAY_THRESHOLDS = 245, "Packet Delay Thresholds";
    MINIMUM_WAIT_TIME = 246, "Minimum Wait Time";
    QOS_MONITORING_REPORT = 247, "QoS Monitoring Report";
    QOS_MONITORING_MEASUREMENT = 248, "QoS Monitoring Measurement";
    MT_EDT_CONTROL_INFORMATION = 249, "MT-EDT Control Information";
    DL_DATA_PACKETS_SIZE = 250, "DL Data Packets Size";
    QER_CONTROL_INDICATIONS = 251, "QER Control Indications";
    PACKET_RATE_STATUS_REPORT = 252, "Packet Rate Status Report";
    NF_INSTANCE_ID = 253, "NF Instance ID";
    ETHERNET_CONTEXT_INFORMATION = 254, "Ethernet Context Information";
    REDUNDANT_TRANSMISSION_DETECTION_PARAMETERS = 255, "Redundant Transmission Detection Parameters";
    UPDATED_PDR = 256, "Updated PDR";
    S_NSSAI = 257, "S-NSSAI";
    IP_VERSION = 258, "IP version";
    PFCPASREQ_FLAGS = 259, "PFCPASReq-Flags";
    DATA_STATUS = 260, "Data Status";
    PROVIDE_RDS_CONFIGURATION_INFORMATION = 261, "Provide RDS Configuration Information";
    RDS_CONFIGURATION_INFORMATION = 262, "RDS Configuration Information";
    QUERY_PACKET_RATE_STATUS = 263, "Query Packet Rate Status";
    PACKET_RATE_STATUS_REPORT_IN_SESSION_MODIFICATION_RESPONSE = 264, "Query Packet Rate Status Report";
    MPTCP_APPLICABLE_INDICATION = 265, "MPTCP Applicable Indication";
    USER_PLANE_NODE_MANAGEMENT_INFORMATION_CONTAINER = 266, "User Plane Node Management Information Container";
    UE_IP_ADDRESS_USAGE_INFORMATION = 267, "UE IP Address Usage Information";
    NUMBER_OF_UE_IP_ADDRESSES = 268, "Number of UE IP Addresses";
    VALIDITY_TIMER = 269, "Validity Timer";
    REDUNDANT_TRANSMISSION_FORWARDING_PARAMETERS = 270, "Redundant Transmission Forwarding Parameters";
    TRANSPORT_DELAY_REPORTING = 271, "Transport Delay Reporting";
    PARTIAL_FAILURE_INFORMATION = 272, "Partial Failure Information";
    OFFENDING_IE_INFORMATION = 274, "Offending IE Information";
    RAT_TYPE = 275, "RAT Type";
    L2TP_TUNNEL_INFORMATION = 276, "L2TP Tunnel Information";
    L2TP_SESSION_INFORMATION = 277, "L2TP Session Information";
    L2TP_USER_AUTHENTICATION = 278, "L2TP User Authentication";
    CREATED_L2TP_SESSION = 279, "L2TP Session Information";
    LNS_ADDRESS = 280, "LNS Address";
    TUNNEL_PREFERENCE = 281, "Tunnel Preference";
    CALLING_NUMBER = 282, "Calling Number";
    CALLED_NUMBER = 283, "Called Number";
    L2TP_SESSION_INDICATIONS = 284, "L2TP Session Indications";
    DNS_SERVER_ADDRESS = 285, "DNS Server Address";
    NBNS_SERVER_ADDRESS = 286, "NBNS Server Address";
    MAXIMUM_RECEIVE_UNIT = 287, "Maximum Receive Unit";
    THRESHOLDS = 288, "Thresholds";
    STEERING_MODE_INDICATOR = 289, "Steering Mode Indicator";
    PFCP_SESSION_CHANGE_INFO = 290, "PFCP Session Change Info";
    GROUP_ID = 291, "Group ID";
    CP_IP_ADDRESS = 292, "CP IP Address";
    IP_ADDRESS_AND_PORT_NUMBER_REPLACEMENT = 293, "IP Address and Port Number Replacement";
    DNS_QUERY_FILTER = 294, "DNS Query Filter";
    DIRECT_REPORTING_INFORMATION = 295, "Direct Reporting Information";
    EVENT_NOTIFICATION_URI = 296, "Event Notification URI";
    NOTIFICATION_CORRELATION_ID = 297, "Notification Correlation ID";
    REPORTING_FLAGS = 298, "Reporting Flags";
    PREDEFINED_RULES_NAME = 299, "Predefined Rules Name";
    MBS_SESSION_N4MB_CONTROL_INFORMATION = 300, "MBS Session N4mb Control Information";
    MBS_MULTICAST_PARAMETERS = 301, "MBS Multicast Parameters";
    ADD_MBS_UNICAST_PARAMETERS = 302, "Add MBS Unicast Parameters";
    MBS_SESSION_N4MB_INFORMATION = 303, "MBS Session N4mb Information";
    REMOVE_MBS_UNICAST_PARAMETERS = 304, "Remove MBS Unicast Parameters";
    MBS_SESSION_IDENTIFIER = 305, "MBS Session Identifier";
    MULTICAST_TRANSPORT_INFORMATION = 306, "Multicast Transport Information";
    MBSN4MBREQ_FLAGS = 307, "MBSN4mbReq Flags";
    LOCAL_INGRESS_TUNNEL = 308, "Local Ingress Tunnel";
    MBS_UNICAST_PARAMETERS_ID = 309, "MBS Unicast Parameters ID";
    MBS_SESSION_N4_CONTROL_INFORMATION = 310, "MBS Session N4 Control Information";
    MBS_SESSION_N4_INFORMATION = 311, "MBS Session N4 Control Information";
    MBSN4RESP_FLAGS = 312, "MBSN4Resp-Flags";
    TUNNEL_PASSWORD = 313, "Tunnel Password";
    AREA_SESSION_ID = 314, "Area Session ID";
    PEER_UP_RESTART_REPORT = 315, "Peer UP Restart Report";
    DSCP_TO_PPI_CONTROL_INFORMATION = 316, "DSCP to PPI Control Information";
    DSCP_TO_PPI_MAPPING_INFORMATION = 317, "DSCP to PPI Mapping Information";
    PFCPSDRSP_FLAGS = 318, "PFCPSDRsp-Flags";
    QER_INDICATIONS = 319, "QER Indications";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_prints_its_name_and_number() {
        assert_eq!(IeType::PDR_ID.to_string(), "PDR ID (56)");
        assert_eq!(IeType(9999).to_string(), "IE 9999");
        assert_eq!(IeType::QER_INDICATIONS.0, 319);
    }

    #[test]
    fn the_top_bit_marks_a_vendor() {
        assert!(IeType(0x8001).is_vendor_specific());
        assert!(!IeType(0x7fff).is_vendor_specific());
    }
}
