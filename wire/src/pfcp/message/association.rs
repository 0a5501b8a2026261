//! Association setup, update and release; heartbeat.

use crate::limits;
use crate::pfcp::Cause;
use crate::pfcp::group::{SessionRetentionInformation, UeIpAddressPoolInformation};
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    AlternativeSmfIpAddress, AssociationReleaseRequestFlags, AssociationSetupRequestFlags,
    AssociationSetupResponseFlags, AssociationUpdateRequestFlags, CpFunctionFeatures, NodeId,
    NtpTime, Raw, SmfSetId, Timer, UpFunctionFeatures, UserPlaneIpResourceInformation,
};

ie_table! {
    /// Association Setup Request (7.4.4.1), from either side.
    pub struct AssociationSetupRequest<'a> {
        /// Who asks.
        required node_id: NodeId<'a> = NODE_ID,
        /// When the sender was started.
        required recovery_time_stamp: NtpTime = RECOVERY_TIME_STAMP,
        /// What the UP function can do, if it asks.
        optional up_function_features: UpFunctionFeatures = UP_FUNCTION_FEATURES,
        /// What the CP function can do, if it asks.
        optional cp_function_features: CpFunctionFeatures = CP_FUNCTION_FEATURES,
        /// Addresses for F-TEIDs that the CP function assigns, up to Release 15.
        list[limits::RESOURCES_PER_ASSOCIATION] user_plane_ip_resource_information:
            UserPlaneIpResourceInformation<'a> = USER_PLANE_IP_RESOURCE_INFORMATION,
        /// Where else the CP function can be reached.
        list[limits::SMF_ADDRESSES] alternative_smf_ip_address: AlternativeSmfIpAddress =
            ALTERNATIVE_SMF_IP_ADDRESS,
        /// The SMF set that the CP function belongs to.
        ignorable smf_set_id: SmfSetId<'a> = SMF_SET_ID,
        /// The sessions that are to be kept.
        optional pfcp_session_retention_information: SessionRetentionInformation =
            SESSION_RETENTION_INFORMATION,
        /// Address pools of the UP function.
        list[limits::POOLS_PER_ASSOCIATION] ue_ip_address_pool_information:
            UeIpAddressPoolInformation<'a> = UE_IP_ADDRESS_POOL_INFORMATION,
        /// GTP-U Path QoS Control Information, uninterpreted.
        list[limits::RAW_REPEATED] gtpu_path_qos_control_information: Raw<'a> =
            GTPU_PATH_QOS_CONTROL_INFORMATION,
        /// NF Instance ID of the UPF, 16 octets.
        ignorable nf_instance_id: Raw<'a> = NF_INSTANCE_ID,
        /// Flags.
        optional pfcpasreq_flags: AssociationSetupRequestFlags = PFCPASREQ_FLAGS,
    }
}

ie_table! {
    /// Association Setup Response (7.4.4.2), from either side.
    pub struct AssociationSetupResponse<'a> {
        /// Who answers.
        required node_id: NodeId<'a> = NODE_ID,
        /// Whether the association is accepted.
        required cause: Cause = CAUSE,
        /// When the sender was started.
        required recovery_time_stamp: NtpTime = RECOVERY_TIME_STAMP,
        /// What the UP function can do, if it answers.
        optional up_function_features: UpFunctionFeatures = UP_FUNCTION_FEATURES,
        /// What the CP function can do, if it answers.
        optional cp_function_features: CpFunctionFeatures = CP_FUNCTION_FEATURES,
        /// Addresses for F-TEIDs that the CP function assigns, up to Release 15.
        list[limits::RESOURCES_PER_ASSOCIATION] user_plane_ip_resource_information:
            UserPlaneIpResourceInformation<'a> = USER_PLANE_IP_RESOURCE_INFORMATION,
        /// Where else the CP function can be reached.
        list[limits::SMF_ADDRESSES] alternative_smf_ip_address: AlternativeSmfIpAddress =
            ALTERNATIVE_SMF_IP_ADDRESS,
        /// The SMF set that the CP function belongs to.
        ignorable smf_set_id: SmfSetId<'a> = SMF_SET_ID,
        /// Flags.
        optional pfcpasrsp_flags: AssociationSetupResponseFlags = PFCPASRSP_FLAGS,
        /// Address pools of the UP function.
        list[limits::POOLS_PER_ASSOCIATION] ue_ip_address_pool_information:
            UeIpAddressPoolInformation<'a> = UE_IP_ADDRESS_POOL_INFORMATION,
        /// NF Instance ID of the UPF, 16 octets.
        ignorable nf_instance_id: Raw<'a> = NF_INSTANCE_ID,
    }
}

ie_table! {
    /// Association Update Request (7.4.4.3), from either side.
    pub struct AssociationUpdateRequest<'a> {
        /// Who asks.
        required node_id: NodeId<'a> = NODE_ID,
        /// What the UP function can do.
        optional up_function_features: UpFunctionFeatures = UP_FUNCTION_FEATURES,
        /// What the CP function can do.
        optional cp_function_features: CpFunctionFeatures = CP_FUNCTION_FEATURES,
        /// The UP function asks for the release of the association.
        optional pfcp_association_release_request: AssociationReleaseRequestFlags =
            PFCP_ASSOCIATION_RELEASE_REQUEST,
        /// How long the UP function waits for the release.
        optional graceful_release_period: Timer = GRACEFUL_RELEASE_PERIOD,
        /// Flags.
        optional pfcpaureq_flags: AssociationUpdateRequestFlags = PFCPAUREQ_FLAGS,
        /// Addresses for F-TEIDs that the CP function assigns, up to Release 15.
        list[limits::RESOURCES_PER_ASSOCIATION] user_plane_ip_resource_information:
            UserPlaneIpResourceInformation<'a> = USER_PLANE_IP_RESOURCE_INFORMATION,
        /// Where else the CP function can be reached.
        list[limits::SMF_ADDRESSES] alternative_smf_ip_address: AlternativeSmfIpAddress =
            ALTERNATIVE_SMF_IP_ADDRESS,
        /// The SMF set that the CP function belongs to.
        ignorable smf_set_id: SmfSetId<'a> = SMF_SET_ID,
        /// Address pools of the UP function.
        list[limits::POOLS_PER_ASSOCIATION] ue_ip_address_pool_information:
            UeIpAddressPoolInformation<'a> = UE_IP_ADDRESS_POOL_INFORMATION,
        /// UE IP Address Usage Information, uninterpreted.
        list[limits::RAW_REPEATED] ue_ip_address_usage_information: Raw<'a> =
            UE_IP_ADDRESS_USAGE_INFORMATION,
    }
}

ie_table! {
    /// Association Update Response (7.4.4.4), from either side.
    pub struct AssociationUpdateResponse<'a> {
        /// Who answers.
        required node_id: NodeId<'a> = NODE_ID,
        /// Whether the update is accepted.
        required cause: Cause = CAUSE,
        /// What the UP function can do.
        optional up_function_features: UpFunctionFeatures = UP_FUNCTION_FEATURES,
        /// What the CP function can do.
        optional cp_function_features: CpFunctionFeatures = CP_FUNCTION_FEATURES,
    }
}

ie_table! {
    /// Association Release Request (7.4.4.5), from the CP function.
    pub struct AssociationReleaseRequest<'a> {
        /// Who asks.
        required node_id: NodeId<'a> = NODE_ID,
    }
}

ie_table! {
    /// Association Release Response (7.4.4.6), from the UP function.
    pub struct AssociationReleaseResponse<'a> {
        /// Who answers.
        required node_id: NodeId<'a> = NODE_ID,
        /// Whether the release is accepted.
        required cause: Cause = CAUSE,
    }
}

ie_table! {
    /// Heartbeat Request (7.4.2.1).
    pub struct HeartbeatRequest<'a> {
        /// When the sender was started.
        required recovery_time_stamp: NtpTime = RECOVERY_TIME_STAMP,
        /// Source IP Address, uninterpreted.
        ignorable source_ip_address: Raw<'a> = SOURCE_IP_ADDRESS,
    }
}

ie_table! {
    /// Heartbeat Response (7.4.2.2).
    pub struct HeartbeatResponse {
        /// When the sender was started.
        required recovery_time_stamp: NtpTime = RECOVERY_TIME_STAMP,
    }
}

ie_table! {
    /// Version Not Supported Response (7.4.4.7): a header alone, of the version that is supported.
    pub struct VersionNotSupportedResponse {
    }
}
