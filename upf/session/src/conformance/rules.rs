//! IEs of PDRs, FARs, QERs, BARs and traffic endpoints.

use super::{Row, Status, Table, ie_tables, status};
#[cfg(test)]
use crate::tests::requests::{
    IPV6_REMOVAL, far, five_rates, forwarding as to, pdr, qer_rule as qer,
};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::*;
#[cfg(test)]
use sluice_wire::{ids::*, pfcp::value::*};

ie_tables! {
    CreatePdr "Create PDR (7.5.2.2)" {
        PDR_ID enforced "" the_first_and_last_identifiers_are_ordinary;
        PRECEDENCE enforced "lower first, then the lower PDR ID" precedence_decides_between_filters_that_match;
        PDI enforced "" a_default_session_becomes_two_entries_of_one_shard;
        OUTER_HEADER_REMOVAL enforced "GTP-U/UDP/IPv4, GTP-U/UDP/IPv6, GTP-U/UDP/IP" uplink_leaves_plain_with_one_hop_less;
        OUTER_HEADER_REMOVAL refused(73) "others, or where no outer header can be", pdr(2) => |r| r.create_pdr[1].outer_header_removal = Some(OuterHeaderRemoval::GTPU_UDP_IP);
        OUTER_HEADER_REMOVAL refused(73) "over a family of which the F-TEID has no address", pdr(1) => |r| r.create_pdr[0].outer_header_removal = Some(IPV6_REMOVAL);
        OUTER_HEADER_REMOVAL refused(73) "missing in a PDR of a tunnel that forwards", pdr(1) => |r| r.create_pdr[0].outer_header_removal = None;
        FAR_ID enforced "" a_default_session_becomes_two_entries_of_one_shard;
        FAR_ID refused(67) "missing", pdr(1) => |r| r.create_pdr[0].far_id = None;
        FAR_ID refused(73) "unknown", pdr(2) => |r| r.create_pdr[1].far_id = Some(FarId(u32::MAX));
        URR_ID enforced "" deletion_reports_every_urr_once;
        URR_ID refused(73) "unknown", pdr(1) => |r| r.create_pdr[0].urr_id.push(UrrId(65535));
        QER_ID enforced "up to four with rates" the_lower_of_session_and_flow_rate_holds_and_what_exceeds_it_counts_where_a_urr_asks;
        QER_ID refused(73) "unknown", pdr(1) => |r| r.create_pdr[0].qer_id.push(QerId(7));
        QER_ID refused(75) "more than four with rates", pdr(1) => five_rates;
        ACTIVATE_PREDEFINED_RULES enforced "one of `predefined` in upf.yaml; it matches in the PDR's place" a_predefined_rule_matches_in_the_place_of_its_pdr;
        ACTIVATE_PREDEFINED_RULES refused(80) "unknown", pdr(1) => |r| r.create_pdr[0].activate_predefined_rules.push(Text(b"gold"));
        ACTIVATE_PREDEFINED_RULES refused(73) "beside filters in the PDI, which is then named: SDF Filter" names_filters_and_qers_that_do_not_go_together_are_refused;
        ACTIVATION_TIME refused(73) "";
        DEACTIVATION_TIME refused(73) "";
        MAR_ID refused(73) "";
        PACKET_REPLICATION_AND_DETECTION_CARRY_ON_INFORMATION refused(73) "";
        UE_IP_ADDRESS_POOL_IDENTITY enforced "where the UE's address is left to us; it is not looked at otherwise" a_pool_may_be_asked_for_by_its_identity;
        UE_IP_ADDRESS_POOL_IDENTITY refused(73) "none of the network instance's pools for the family" a_pool_may_be_asked_for_by_its_identity;
    }
    Pdi "PDI (Table 7.5.2.2-2)" {
        SOURCE_INTERFACE enforced "Access, Core, SGi-LAN/N6-LAN" the_n6_lan_is_n6_as_a_source_too;
        SOURCE_INTERFACE enforced "CP function: N4-u (5.3), at an address towards the RAN" packets_of_the_cp_function_enter_by_a_tunnel_and_go_to_the_ue;
        SOURCE_INTERFACE refused(73) "5G VN internal", pdr(1) => |r| r.create_pdr[0].pdi.source_interface = SourceInterface::FIVE_G_VN_INTERNAL;
        SOURCE_INTERFACE refused(69) "a value that is none", pdr(1) => |r| r.create_pdr[0].pdi.source_interface = SourceInterface(9);
        F_TEID enforced "CHOOSE and CHOOSE ID; or the CP function's choice at an address of ours" one_choose_id_is_one_tunnel_with_a_chain_of_rules;
        F_TEID enforced "of IPv4, IPv6 or both, as N3 has them" an_f_teid_has_the_addresses_that_were_asked_for;
        F_TEID refused(73) "missing in a PDR from Access", pdr(1) => |r| r.create_pdr[0].pdi.local_f_teid = None;
        F_TEID refused(73) "a family that the interface has no address of, as N9 has none of IPv6; not ours; 71 where `n4.accept_cp_fteid` or, with CHOOSE, `n4.choose_fteid` is false" an_establishment_that_cannot_be_served_is_refused_by_name;
        NETWORK_INSTANCE enforced "one of upf.yaml" tunnels_without_a_name_serve_what_has_no_tunnels_of_its_own;
        NETWORK_INSTANCE refused(73) "unknown", pdr(2) => |r| r.create_pdr[1].pdi.network_instance = Some(Name(b"elsewhere"));
        NETWORK_INSTANCE refused(73) "not text", pdr(2) => |r| r.create_pdr[1].pdi.network_instance = Some(Name(&[0xff; 300]));
        UE_IP_ADDRESS enforced "IPv4, an IPv6 prefix of 64 bits or fewer, or both" both_addresses_lead_to_one_entry_in_the_shard_of_the_ipv4_address;
        UE_IP_ADDRESS enforced "a shorter prefix (IPv6D, IP6PL): all of it is the UE's" a_delegated_prefix_is_the_ues_as_a_whole;
        UE_IP_ADDRESS enforced "CHV4, CHV6 where UEIP is set" every_pdr_that_asks_is_told_the_addresses_of_its_session_and_all_is_at_home_in_one_shard;
        UE_IP_ADDRESS refused(79) "all addresses of the pools are given" a_pool_is_given_out_to_the_last_host_and_what_comes_back_rests;
        UE_IP_ADDRESS refused(73) "another session's; CHOOSE without a pool; a prefix of more than 64 bits" an_establishment_that_cannot_be_served_is_refused_by_name;
        TRAFFIC_ENDPOINT_ID refused(73) "";
        SDF_FILTER enforced "`permit out`, ToS, SPI, flow label, filter ID" one_of_several_filters_is_enough;
        SDF_FILTER refused(73) "what says more; a filter ID that no PDR of the session has" an_establishment_that_cannot_be_served_is_refused_by_name;
        APPLICATION_ID enforced "its flows in place of filters, now and when they change" a_pdi_with_an_application_matches_its_flows;
        APPLICATION_ID refused(81) "neither told by PFD Management nor in `applications` of upf.yaml", pdr(2) => |r| r.create_pdr[1].pdi.application_id = Some(Text(b"web"));
        ETHERNET_PDU_SESSION_INFORMATION refused(73) "";
        ETHERNET_PACKET_FILTER refused(73) "";
        QFI enforced "packets of one of these flows match" several_qfis_in_a_pdi_are_several_rules;
        FRAMED_ROUTE enforced "told at the establishment, for as long as the session lives" packets_to_a_framed_route_find_the_entry_of_its_ue;
        FRAMED_ROUTE refused(73) "a pool of ours is inside", pdr(2) => |r| r.create_pdr[1].pdi.framed_route.push(Text(b"10.0.0.0/8"));
        FRAMED_ROUTE refused(73) "no prefix; what meets a pool, or a prefix of another session; new in a modification" routes_that_meet_are_refused;
        FRAMED_ROUTING ignored "0: nobody speaks a routing protocol" what_stands_before_a_route_counts_alone;
        FRAMED_ROUTING refused(73) "another value" what_stands_before_a_route_counts_alone;
        FRAMED_IPV6_ROUTE enforced "as Framed-Route, up to 64 bits" packets_to_a_framed_route_find_the_entry_of_its_ue;
        FRAMED_IPV6_ROUTE refused(73) "as Framed-Route; of more than 64 bits" routes_that_meet_are_refused;
        TGPP_INTERFACE_TYPE ignored "tells charging and the like (5.20)";
    }
    UpdatePdr "Update PDR (7.5.4.2)" {
        PDR_ID enforced "" an_update_without_entry_keeps_the_tunnel;
        OUTER_HEADER_REMOVAL enforced "" a_pdi_is_replaced_with_its_filters;
        PRECEDENCE enforced "" a_pdi_is_replaced_with_its_filters;
        PDI enforced "replaces the former one" a_pdi_is_replaced_with_its_filters;
        FAR_ID enforced "" a_far_that_turns_round_turns_the_direction;
        URR_ID enforced "a list replaces the former one" a_urr_that_goes_or_is_left_by_its_last_pdr_reports_its_end;
        QER_ID enforced "a list replaces the former one" a_bucket_stays_as_full_as_it_is_when_it_moves_to_a_block_and_back;
        ACTIVATE_PREDEFINED_RULES enforced "beside those that are active" activation_and_deactivation_change_what_matches_and_leave_nothing;
        ACTIVATE_PREDEFINED_RULES refused(80) "as in Create PDR" names_filters_and_qers_that_do_not_go_together_are_refused;
        DEACTIVATE_PREDEFINED_RULES enforced "one that is not active changes nothing" activation_and_deactivation_change_what_matches_and_leave_nothing;
        DEACTIVATE_PREDEFINED_RULES refused(80) "unknown" names_filters_and_qers_that_do_not_go_together_are_refused;
        ACTIVATION_TIME refused(73) "";
        DEACTIVATION_TIME refused(73) "";
    }
    RemovePdr "Remove PDR (7.5.4.6)" {
        PDR_ID enforced "" the_last_rule_of_a_chain_goes_back_into_the_entry;
    }
    CreateFar "Create FAR (7.5.2.3)" {
        FAR_ID enforced "" the_first_and_last_identifiers_are_ordinary;
        APPLY_ACTION enforced "DROP, FORW, BUFF; NOCP with it" the_first_packet_of_an_idle_ue_is_reported_once_until_the_far_is_updated;
        APPLY_ACTION refused(73) "DUPL, IPMA, IPMD, DFRT, EDRT, BDPN, DDPN, FSSM, MBSU", far(1) => |r| r.create_far[0].apply_action = ApplyAction::FORW | ApplyAction::DUPL;
        APPLY_ACTION refused(73) "several at once", far(1) => |r| r.create_far[0].apply_action = ApplyAction::DROP | ApplyAction::FORW;
        APPLY_ACTION refused(69) "none", far(1) => |r| r.create_far[0].apply_action = ApplyAction::new(0);
        FORWARDING_PARAMETERS enforced "where the FAR forwards" a_far_that_drops_ignores_where_to;
        DUPLICATING_PARAMETERS refused(73) "";
        BAR_ID enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        REDUNDANT_TRANSMISSION_FORWARDING_PARAMETERS refused(73) "";
    }
    ForwardingParameters "Forwarding Parameters (Table 7.5.2.3-2)" {
        DESTINATION_INTERFACE enforced "Access, Core, SGi-LAN/N6-LAN" the_n6_lan_is_n6_where_it_is_not_configured;
        DESTINATION_INTERFACE enforced "CP function: N4-u (5.3) with Outer Header Creation; without, packets are dropped" packets_to_the_cp_function_leave_by_its_tunnel;
        DESTINATION_INTERFACE refused(73) "LI function, 5G VN internal", far(1) => |r| to(r, 0).destination_interface = DestinationInterface::LI_FUNCTION;
        DESTINATION_INTERFACE refused(69) "a value that is none", far(1) => |r| to(r, 0).destination_interface = DestinationInterface(9);
        NETWORK_INSTANCE enforced "" tunnels_without_a_name_serve_what_has_no_tunnels_of_its_own;
        NETWORK_INSTANCE refused(73) "unknown, towards N6", far(1) => |r| to(r, 0).network_instance = Some(Name(b"elsewhere"));
        NETWORK_INSTANCE refused(73) "unknown, towards N3", far(2) => |r| to(r, 1).network_instance = Some(Name(b"elsewhere"));
        REDIRECT_INFORMATION refused(73) "";
        OUTER_HEADER_CREATION enforced "GTP-U/UDP/IPv6, where our address on that side has it (N3)" packets_leave_over_ipv6_with_their_checksum;
        OUTER_HEADER_CREATION enforced "GTP-U/UDP/IPv4; of both families IPv4, if our address has it" of_a_dual_stack_gnb_the_ipv4_address_is_taken;
        OUTER_HEADER_CREATION refused(73) "others; an address that is no station's" an_establishment_that_cannot_be_served_is_refused_by_name;
        TRANSPORT_LEVEL_MARKING enforced "the DSCP bits that its mask has, of outer IPv4 and IPv6 headers, before those of `dscp` of upf.yaml; ECN bits stay the packet's; without an outer header there is nothing to mark" outer_headers_are_marked_as_their_far_says;
        FORWARDING_POLICY refused(70) "";
        HEADER_ENRICHMENT refused(73) "";
        TRAFFIC_ENDPOINT_ID refused(73) "";
        PROXYING refused(73) "";
        TGPP_INTERFACE_TYPE ignored "tells charging and the like (5.20)";
        DATA_NETWORK_ACCESS_IDENTIFIER ignored "the Network Instance tells where to (Table 7.5.2.3-2)";
    }
    UpdateFar "Update FAR (7.5.4.3)" {
        FAR_ID enforced "" a_session_goes_idle_and_comes_back_by_one_entry_each;
        APPLY_ACTION enforced "as in Create FAR" a_session_goes_idle_and_comes_back_by_one_entry_each;
        UPDATE_FORWARDING_PARAMETERS enforced "" a_handover_moves_the_downlink_and_marks_the_end_of_the_old_tunnel;
        FORWARDING_PARAMETERS enforced "in place of the former, as SD-Core sends it" an_update_far_may_have_its_parameters_under_the_type_of_create_far;
        UPDATE_DUPLICATING_PARAMETERS refused(73) "";
        BAR_ID enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
    }
    UpdateForwardingParameters "Update Forwarding Parameters (Table 7.5.4.3-2)" {
        DESTINATION_INTERFACE enforced "" a_far_that_turns_round_turns_the_direction;
        NETWORK_INSTANCE enforced "" a_far_that_drops_ignores_where_to;
        REDIRECT_INFORMATION refused(73) "";
        OUTER_HEADER_CREATION enforced "" the_gnb_may_be_told_later;
        TRANSPORT_LEVEL_MARKING enforced "of null length it ends" a_far_marks_anew_or_no_longer;
        FORWARDING_POLICY refused(70) "";
        HEADER_ENRICHMENT refused(73) "";
        PFCPSMREQ_FLAGS enforced "SNDEM: an End Marker ends the old tunnel" a_handover_moves_the_downlink_and_marks_the_end_of_the_old_tunnel;
        TRAFFIC_ENDPOINT_ID refused(73) "";
        TGPP_INTERFACE_TYPE ignored "tells charging and the like (5.20)";
        DATA_NETWORK_ACCESS_IDENTIFIER ignored "the Network Instance tells where to";
    }
    RemoveFar "Remove FAR (7.5.4.7)" {
        FAR_ID enforced "" a_modification_is_refused_whole;
    }
    CreateQer "Create QER (7.5.2.5)" {
        QER_ID enforced "" the_first_and_last_identifiers_are_ordinary;
        QER_CORRELATION_ID refused(73) "";
        GATE_STATUS enforced "" a_closed_gate_stops_one_direction_and_usage_counts_what_left;
        MBR enforced "by policing, or by delaying packets where `shaping` is on; `n4.mbr_zero` says what 0 means" the_lower_of_session_and_flow_rate_holds_and_what_exceeds_it_counts_where_a_urr_asks;
        GBR ignored "admitted by the CP function; nothing is reserved (5.4.4)";
        PACKET_RATE refused(73) "";
        PACKET_RATE_STATUS refused(73) "";
        DL_FLOW_LEVEL_MARKING refused(73) "";
        QFI enforced "marks the PDU Session Container" downlink_leaves_in_the_tunnel_with_its_qfi;
        RQI refused(73) "with RQI set", qer(1) => |r| r.create_qer[0].reflective_qos = Some(Rqi::RQI);
        PAGING_POLICY_INDICATOR refused(73) "";
        AVERAGING_WINDOW ignored "of a GBR, which is not supervised";
        QER_CONTROL_INDICATIONS ignored "RCSR and MOED are of packet rates (8.2.174)";
        QER_INDICATIONS refused(73) "with IQFIS set";
    }
    UpdateQer "Update QER (7.5.4.5)" {
        QER_ID enforced "" a_rate_that_changes_touches_its_bucket_alone;
        QER_CORRELATION_ID refused(73) "";
        GATE_STATUS enforced "" a_closed_gate_stops_one_direction_and_usage_counts_what_left;
        MBR enforced "" a_rate_that_changes_touches_its_bucket_alone;
        GBR ignored "as in Create QER";
        PACKET_RATE refused(73) "";
        DL_FLOW_LEVEL_MARKING refused(73) "";
        QFI enforced "" a_rate_that_changes_touches_its_bucket_alone;
        RQI refused(73) "with RQI set" an_establishment_that_cannot_be_served_is_refused_by_name;
        PAGING_POLICY_INDICATOR refused(73) "";
        AVERAGING_WINDOW ignored "of a GBR, which is not supervised";
        QER_CONTROL_INDICATIONS ignored "RCSR and MOED are of packet rates (8.2.174)";
        QER_INDICATIONS refused(73) "with IQFIS set";
    }
    RemoveQer "Remove QER (7.5.4.9)" {
        QER_ID enforced "" a_modification_is_refused_whole;
    }
    CreateBar "Create BAR (7.5.2.6)" {
        BAR_ID enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        DOWNLINK_DATA_NOTIFICATION_DELAY enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        SUGGESTED_BUFFERING_PACKETS_COUNT enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        MT_EDT_CONTROL_INFORMATION ignored "MT-EDT is not set";
    }
    UpdateBar "Update BAR (7.5.4.11)" {
        BAR_ID enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        DOWNLINK_DATA_NOTIFICATION_DELAY enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        SUGGESTED_BUFFERING_PACKETS_COUNT enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        MT_EDT_CONTROL_INFORMATION ignored "MT-EDT is not set";
    }
    RemoveBar "Remove BAR (7.5.4.12)" {
        BAR_ID enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
    }
}
