//! PDI: packet detection information of a PDR.

use crate::ids::Qfi;
use crate::limits;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{FTeid, InterfaceType, Name, Raw, SdfFilter, SourceInterface};
use crate::pfcp::value::{Text, UeIpAddress};

ie_table! {
    /// PDI (7.5.2.2, Table 7.5.2.2-2).
    pub struct Pdi<'a> {
        /// Which side the packets come from.
        required source_interface: SourceInterface = SOURCE_INTERFACE,
        /// The tunnel endpoint at which they arrive.
        optional local_f_teid: FTeid = F_TEID,
        /// The network instance in which they arrive.
        optional network_instance: Name<'a> = NETWORK_INSTANCE,
        /// The UE's addresses, as source or destination.
        list[limits::UE_IP_ADDRESSES] ue_ip_address: UeIpAddress = UE_IP_ADDRESS,
        /// Traffic endpoints that stand for F-TEID, network instance and UE addresses.
        list[limits::TRAFFIC_ENDPOINTS_PER_PDI] traffic_endpoint_id: u8 = TRAFFIC_ENDPOINT_ID,
        /// Flows; the packet must match one of them.
        list[limits::SDF_FILTERS_PER_PDI] sdf_filter: SdfFilter<'a> = SDF_FILTER,
        /// The application, by name.
        optional application_id: Text<'a> = APPLICATION_ID,
        /// Ethernet PDU Session Information, uninterpreted.
        optional ethernet_pdu_session_information: Raw<'a> = ETHERNET_PDU_SESSION_INFORMATION,
        /// Ethernet Packet Filters, uninterpreted.
        list[limits::ETHERNET_FILTERS_PER_PDI] ethernet_packet_filter: Raw<'a> =
            ETHERNET_PACKET_FILTER,
        /// QoS flows; the packet must be of one of them.
        list[limits::QFIS_PER_PDI] qfi: Qfi = QFI,
        /// IPv4 routes behind the UE, text (RFC 2865, 5.22).
        list[limits::FRAMED_ROUTES] framed_route: Text<'a> = FRAMED_ROUTE,
        /// How routes are announced (RFC 2865, 5.10).
        optional framed_routing: u32 = FRAMED_ROUTING,
        /// IPv6 routes behind the UE, text (RFC 3162, 2.5).
        list[limits::FRAMED_ROUTES] framed_ipv6_route: Text<'a> = FRAMED_IPV6_ROUTE,
        /// Source Interface Type.
        ignorable source_interface_type: InterfaceType = TGPP_INTERFACE_TYPE,
    }
}
