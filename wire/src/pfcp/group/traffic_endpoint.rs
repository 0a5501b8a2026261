//! Traffic endpoints shared by PDIs (PDIU).

use crate::ids::Qfi;
use crate::limits;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{FTeid, InterfaceType, Name, Raw, Text, UeIpAddress};

ie_table! {
    /// Create Traffic Endpoint (7.5.2.7).
    pub struct CreateTrafficEndpoint<'a> {
        /// The endpoint.
        required traffic_endpoint_id: u8 = TRAFFIC_ENDPOINT_ID,
        /// The tunnel endpoint at which packets arrive.
        optional local_f_teid: FTeid = F_TEID,
        /// The network instance in which they arrive.
        optional network_instance: Name<'a> = NETWORK_INSTANCE,
        /// The UE's addresses.
        list[limits::UE_IP_ADDRESSES] ue_ip_address: UeIpAddress = UE_IP_ADDRESS,
        /// Ethernet PDU Session Information, uninterpreted.
        optional ethernet_pdu_session_information: Raw<'a> = ETHERNET_PDU_SESSION_INFORMATION,
        /// IPv4 routes behind the UE, text (RFC 2865, 5.22).
        list[limits::FRAMED_ROUTES] framed_route: Text<'a> = FRAMED_ROUTE,
        /// How routes are announced (RFC 2865, 5.10).
        optional framed_routing: u32 = FRAMED_ROUTING,
        /// IPv6 routes behind the UE, text (RFC 3162, 2.5).
        list[limits::FRAMED_ROUTES] framed_ipv6_route: Text<'a> = FRAMED_IPV6_ROUTE,
        /// QoS flows.
        list[limits::QFIS_PER_PDI] qfi: Qfi = QFI,
        /// Source Interface Type.
        ignorable source_interface_type: InterfaceType = TGPP_INTERFACE_TYPE,
    }
}

ie_table! {
    /// Created Traffic Endpoint (7.5.3.5): what the UP function chose.
    pub struct CreatedTrafficEndpoint {
        /// The endpoint.
        required traffic_endpoint_id: u8 = TRAFFIC_ENDPOINT_ID,
        /// The F-TEIDs that it assigned: a second one is for redundant transmission.
        list[2] local_f_teid: FTeid = F_TEID,
        /// The UE addresses that it assigned.
        list[limits::UE_IP_ADDRESSES] ue_ip_address: UeIpAddress = UE_IP_ADDRESS,
    }
}

ie_table! {
    /// Update Traffic Endpoint (7.5.4.13); lists that are present replace the former ones.
    pub struct UpdateTrafficEndpoint<'a> {
        /// The endpoint.
        required traffic_endpoint_id: u8 = TRAFFIC_ENDPOINT_ID,
        /// The tunnel endpoint at which packets arrive.
        optional local_f_teid: FTeid = F_TEID,
        /// The network instance in which they arrive.
        optional network_instance: Name<'a> = NETWORK_INSTANCE,
        /// The UE's addresses.
        list[limits::UE_IP_ADDRESSES] ue_ip_address: UeIpAddress = UE_IP_ADDRESS,
        /// IPv4 routes behind the UE, text (RFC 2865, 5.22).
        list[limits::FRAMED_ROUTES] framed_route: Text<'a> = FRAMED_ROUTE,
        /// How routes are announced (RFC 2865, 5.10).
        optional framed_routing: u32 = FRAMED_ROUTING,
        /// IPv6 routes behind the UE, text (RFC 3162, 2.5).
        list[limits::FRAMED_ROUTES] framed_ipv6_route: Text<'a> = FRAMED_IPV6_ROUTE,
        /// QoS flows.
        list[limits::QFIS_PER_PDI] qfi: Qfi = QFI,
        /// Source Interface Type.
        ignorable source_interface_type: InterfaceType = TGPP_INTERFACE_TYPE,
    }
}

ie_table! {
    /// Remove Traffic Endpoint (7.5.4.14).
    pub struct RemoveTrafficEndpoint {
        /// The endpoint.
        required traffic_endpoint_id: u8 = TRAFFIC_ENDPOINT_ID,
    }
}
