//! Groups of node-related messages.

use crate::limits;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{CpPfcpEntityIpAddress, IpVersion, Name, SNssai, UeIpAddressPoolIdentity};

ie_table! {
    /// Session Retention Information (7.4.4.1): the UP function is asked to keep the sessions.
    pub struct SessionRetentionInformation {
        /// Of these CP functions only; empty: of all.
        list[limits::SMF_ADDRESSES] cp_pfcp_entity_ip_address: CpPfcpEntityIpAddress =
            CP_PFCP_ENTITY_IP_ADDRESS,
    }
}

ie_table! {
    /// UE IP address Pool Information (7.4.4.1).
    pub struct UeIpAddressPoolInformation<'a> {
        /// The names of the pools.
        some[limits::NAMES_PER_POOL] ue_ip_address_pool_identity: UeIpAddressPoolIdentity<'a> =
            UE_IP_ADDRESS_POOL_IDENTITY,
        /// The network instance that they belong to.
        optional network_instance: Name<'a> = NETWORK_INSTANCE,
        /// The slices that they serve.
        list[limits::SLICES_PER_POOL] s_nssai: SNssai = S_NSSAI,
        /// The IP versions that they hold.
        optional ip_version: IpVersion = IP_VERSION,
    }
}
