//! Forwarding Action Rules.

use crate::ids::{BarId, FarId};
use crate::limits;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    ApplyAction, DestinationInterface, Edit, ForwardingPolicy, HeaderEnrichment, InterfaceType,
    Name, OuterHeaderCreation, Raw, RedirectInformation, SessionModificationRequestFlags,
    TransportLevelMarking,
};
use crate::pfcp::{IeType, Reject};

ie_table! {
    /// Create FAR (7.5.2.3, Table 7.5.2.3-1).
    pub struct CreateFar<'a> {
        /// The rule.
        required far_id: FarId = FAR_ID,
        /// What happens to packets.
        required apply_action: ApplyAction = APPLY_ACTION,
        /// Where they go; there if the action is FORW.
        optional forwarding_parameters: ForwardingParameters<'a> = FORWARDING_PARAMETERS,
        /// Where copies go.
        list[limits::DUPLICATIONS_PER_FAR] duplicating_parameters: DuplicatingParameters<'a> =
            DUPLICATING_PARAMETERS,
        /// How they are buffered.
        optional bar_id: BarId = BAR_ID,
        /// Redundant Transmission Forwarding Parameters, uninterpreted.
        optional redundant_transmission_forwarding_parameters: Raw<'a> =
            REDUNDANT_TRANSMISSION_FORWARDING_PARAMETERS,
    }
    check = forwarding_needs_parameters;
}

fn forwarding_needs_parameters(far: &CreateFar<'_>) -> Result<(), Reject> {
    if far.apply_action.contains(ApplyAction::FORW) && far.forwarding_parameters.is_none() {
        return Err(Reject::conditional_missing(IeType::FORWARDING_PARAMETERS));
    }
    Ok(())
}

ie_table! {
    /// Forwarding Parameters (7.5.2.3, Table 7.5.2.3-2).
    pub struct ForwardingParameters<'a> {
        /// Which side the packets go to.
        required destination_interface: DestinationInterface = DESTINATION_INTERFACE,
        /// The network instance in which they are sent.
        optional network_instance: Name<'a> = NETWORK_INSTANCE,
        /// Where they are redirected.
        optional redirect_information: RedirectInformation<'a> = REDIRECT_INFORMATION,
        /// The header that is put on.
        optional outer_header_creation: OuterHeaderCreation = OUTER_HEADER_CREATION,
        /// The DSCP of the outer header.
        optional transport_level_marking: TransportLevelMarking = TRANSPORT_LEVEL_MARKING,
        /// A configured policy.
        optional forwarding_policy: ForwardingPolicy<'a> = FORWARDING_POLICY,
        /// What is put into HTTP headers.
        list[limits::HEADER_ENRICHMENTS_PER_FAR] header_enrichment: HeaderEnrichment<'a> = HEADER_ENRICHMENT,
        /// The traffic endpoint of the other direction.
        optional linked_traffic_endpoint_id: u8 = TRAFFIC_ENDPOINT_ID,
        /// Proxying of ARP or neighbour solicitations, uninterpreted.
        optional proxying: Raw<'a> = PROXYING,
        /// Destination Interface Type.
        ignorable destination_interface_type: InterfaceType = TGPP_INTERFACE_TYPE,
        /// Data Network Access Identifier, uninterpreted.
        optional data_network_access_identifier: Raw<'a> = DATA_NETWORK_ACCESS_IDENTIFIER,
    }
}

ie_table! {
    /// Duplicating Parameters (7.5.2.3, Table 7.5.2.3-3).
    pub struct DuplicatingParameters<'a> {
        /// Which side the copies go to.
        required destination_interface: DestinationInterface = DESTINATION_INTERFACE,
        /// The header that is put on.
        optional outer_header_creation: OuterHeaderCreation = OUTER_HEADER_CREATION,
        /// The DSCP of the outer header.
        optional transport_level_marking: TransportLevelMarking = TRANSPORT_LEVEL_MARKING,
        /// A configured policy.
        optional forwarding_policy: ForwardingPolicy<'a> = FORWARDING_POLICY,
    }
}

ie_table! {
    /// Update FAR (7.5.4.3, Table 7.5.4.3-1).
    pub struct UpdateFar<'a> {
        /// The rule.
        required far_id: FarId = FAR_ID,
        /// What happens to packets.
        optional apply_action: ApplyAction = APPLY_ACTION,
        /// Where they go.
        optional update_forwarding_parameters: UpdateForwardingParameters<'a> =
            UPDATE_FORWARDING_PARAMETERS,
        /// The same under the type of Create FAR: not in the TS, but SD-Core's SMF sends it.
        optional forwarding_parameters: UpdateForwardingParameters<'a> = FORWARDING_PARAMETERS,
        /// Where copies go; of null length: nowhere.
        list[limits::DUPLICATIONS_PER_FAR] update_duplicating_parameters:
            Edit<UpdateDuplicatingParameters<'a>> = UPDATE_DUPLICATING_PARAMETERS,
        /// How they are buffered.
        optional bar_id: Edit<BarId> = BAR_ID,
    }
}

ie_table! {
    /// Update Forwarding Parameters (7.5.4.3, Table 7.5.4.3-2).
    pub struct UpdateForwardingParameters<'a> {
        /// Which side the packets go to.
        optional destination_interface: DestinationInterface = DESTINATION_INTERFACE,
        /// The network instance in which they are sent.
        optional network_instance: Edit<Name<'a>> = NETWORK_INSTANCE,
        /// Where they are redirected.
        optional redirect_information: Edit<RedirectInformation<'a>> = REDIRECT_INFORMATION,
        /// The header that is put on.
        optional outer_header_creation: Edit<OuterHeaderCreation> = OUTER_HEADER_CREATION,
        /// The DSCP of the outer header.
        optional transport_level_marking: Edit<TransportLevelMarking> = TRANSPORT_LEVEL_MARKING,
        /// A configured policy.
        optional forwarding_policy: Edit<ForwardingPolicy<'a>> = FORWARDING_POLICY,
        /// What is put into HTTP headers.
        list[limits::HEADER_ENRICHMENTS_PER_FAR] header_enrichment: Edit<HeaderEnrichment<'a>> =
            HEADER_ENRICHMENT,
        /// SNDEM: send End Marker packets to the old F-TEID.
        optional pfcpsmreq_flags: SessionModificationRequestFlags = PFCPSMREQ_FLAGS,
        /// The traffic endpoint of the other direction.
        optional linked_traffic_endpoint_id: Edit<u8> = TRAFFIC_ENDPOINT_ID,
        /// Destination Interface Type.
        ignorable destination_interface_type: InterfaceType = TGPP_INTERFACE_TYPE,
        /// Data Network Access Identifier, uninterpreted.
        optional data_network_access_identifier: Raw<'a> = DATA_NETWORK_ACCESS_IDENTIFIER,
    }
}

ie_table! {
    /// Update Duplicating Parameters (7.5.4.3, Table 7.5.4.3-3).
    pub struct UpdateDuplicatingParameters<'a> {
        /// Which side the copies go to.
        optional destination_interface: DestinationInterface = DESTINATION_INTERFACE,
        /// The header that is put on.
        optional outer_header_creation: Edit<OuterHeaderCreation> = OUTER_HEADER_CREATION,
        /// The DSCP of the outer header.
        optional transport_level_marking: Edit<TransportLevelMarking> = TRANSPORT_LEVEL_MARKING,
        /// A configured policy.
        optional forwarding_policy: Edit<ForwardingPolicy<'a>> = FORWARDING_POLICY,
    }
}

ie_table! {
    /// Remove FAR (7.5.4.7).
    pub struct RemoveFar {
        /// The rule.
        required far_id: FarId = FAR_ID,
    }
}
