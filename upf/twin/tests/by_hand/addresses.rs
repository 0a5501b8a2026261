//! UE addresses in requests (TS 29.244, 8.2.62).

use crate::world::*;
use sluice_twin::{Drop, Outcome, Refused, Twin};
use sluice_wire::ids::{FarId, PdrId, Teid};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};
use std::net::Ipv4Addr;

/// 8.2.1: 73 is Rule creation/modification Failure.
fn is_about_the_address(result: Result<(), Refused>) -> bool {
    let rule = Cause::RULE_CREATION_MODIFICATION_FAILURE;
    let said = Some((rule, Some(IeType::UE_IP_ADDRESS)));
    matches!(result, Err(Refused::Request { said: s, .. }) if s == said)
}

fn establish(request: &SessionEstablishmentRequest<'_>) -> Result<(), Refused> {
    Twin::new(world()).establish(1, request, &[], NOON)
}

#[test]
fn one_ie_with_an_address_or_a_prefix_or_both() {
    let of = |change: fn(&mut UeIpAddress)| {
        let mut request = dual_request();
        for pdr in &mut request.create_pdr {
            change(&mut pdr.pdi.ue_ip_address[0]);
        }
        establish(&request)
    };
    for sound in [
        |_: &mut UeIpAddress| {},
        |ue: &mut UeIpAddress| ue.ipv4 = None,
        |ue: &mut UeIpAddress| ue.ipv6 = None,
        |ue: &mut UeIpAddress| ue.ipv6_prefix_length = Some(64),
        |ue: &mut UeIpAddress| ue.ipv6_prefix_delegation_bits = Some(0),
        // The prefix counts, not what stands behind it.
        |ue: &mut UeIpAddress| ue.ipv6 = Some(address(UE6)),
    ] {
        assert_eq!(of(sound), Ok(()));
    }
    for wrong in [
        |ue: &mut UeIpAddress| (ue.ipv4, ue.ipv6) = (None, None),
        |ue: &mut UeIpAddress| ue.ipv6_prefix_length = Some(65),
        |ue: &mut UeIpAddress| ue.ipv6_prefix_length = Some(128),
        |ue: &mut UeIpAddress| ue.ipv6_prefix_delegation_bits = Some(64),
        |ue: &mut UeIpAddress| (ue.ipv4, ue.choose_ipv4) = (None, true),
        |ue: &mut UeIpAddress| (ue.ipv6, ue.choose_ipv6) = (None, true),
        |ue: &mut UeIpAddress| ue.ipv4 = Some(Ipv4Addr::UNSPECIFIED),
        |ue: &mut UeIpAddress| ue.ipv4 = Some(Ipv4Addr::BROADCAST),
        |ue: &mut UeIpAddress| ue.ipv4 = Some(Ipv4Addr::LOCALHOST),
        |ue: &mut UeIpAddress| ue.ipv4 = Some(Ipv4Addr::new(224, 0, 0, 1)),
        |ue: &mut UeIpAddress| ue.ipv4 = Some(Ipv4Addr::new(169, 254, 0, 1)),
        |ue: &mut UeIpAddress| ue.ipv6 = Some(address("::")),
        |ue: &mut UeIpAddress| ue.ipv6 = Some(address("::1")),
        |ue: &mut UeIpAddress| ue.ipv6 = Some(address("fe80::1")),
        |ue: &mut UeIpAddress| ue.ipv6 = Some(address("ff0e::1")),
    ] {
        assert!(is_about_the_address(of(wrong)));
    }
    let mut request = dual_request();
    let ipv6 = UeIpAddress::v6(address(PREFIX), true);
    request.create_pdr[1].pdi.ue_ip_address[0].ipv6 = None;
    request.create_pdr[1].pdi.ue_ip_address.push(ipv6);
    assert!(is_about_the_address(establish(&request)), "two IEs");
}

#[test]
fn a_pdi_that_names_one_version_is_for_that_alone() {
    let mut request = dual_request();
    request.create_pdr[0].pdi.ue_ip_address[0].ipv6 = None;
    request.create_pdr[1].pdi.ue_ip_address[0].ipv4 = None;
    let mut twin = with(&request);
    let up = from_gnb(&ipv6(UE6, SERVER6, 17, &udp(4000, 80)));
    let no_pdr = [Outcome::Dropped(Drop::NoPdr, None)];
    assert_eq!(twin.packet(0, 0, &up), no_pdr);
    let down = on_n6(&ipv6(SERVER6, UE6, 17, &udp(80, 4000)));
    assert!(matches!(twin.packet(0, 1, &down)[..], [Outcome::Sent(_)]));
    let ipv4 = hex("45000014 00000000 403b45f8 c6336450 0a2d0007");
    // The UE is known by it, but no PDR is for it.
    assert_eq!(twin.packet(0, 1, &on_n6(&ipv4)), no_pdr);
}

#[test]
fn a_session_without_addresses_is_not_checked() {
    let mut request = dual_request();
    request.create_pdr.truncate(1);
    request.create_pdr[0].pdi.ue_ip_address.clear();
    let mut twin = with(&request);
    for source in [UE6, "2001:db8:99::1"] {
        let frame = from_gnb(&ipv6(source, SERVER6, 17, &udp(4000, 80)));
        assert!(matches!(twin.packet(0, 0, &frame)[..], [Outcome::Sent(_)]));
    }
}

#[test]
fn all_pdrs_agree_on_each_address() {
    let mut request = dual_request();
    request.create_pdr[0].pdi.ue_ip_address[0].ipv6 = Some(address("2001:db8:45:8::"));
    assert!(is_about_the_address(establish(&request)));
    let mut request = dual_request();
    request.create_pdr[0].pdi.ue_ip_address[0].ipv4 = Some(Ipv4Addr::new(10, 45, 0, 8));
    assert!(is_about_the_address(establish(&request)));
}

/// A downlink PDR that names addresses, as PDR 7 with FAR 2.
fn another(ue: UeIpAddress) -> SessionModificationRequest<'static> {
    let mut change = SessionModificationRequest::default();
    let mut pdr = pdr(7, SourceInterface::CORE);
    pdr.far_id = Some(FarId(2));
    pdr.pdi.ue_ip_address[0] = ue;
    change.create_pdr.push(pdr);
    change
}

#[test]
fn a_prefix_may_come_later_an_ipv4_address_may_not() {
    let prefix = UeIpAddress::v6(address(PREFIX), true);
    let other = UeIpAddress::v6(address("2001:db8:45:8::"), true);
    let ipv4 = UeIpAddress::v4(UE, true);
    let mut twin = with(&request());
    let modified = twin.modify(1, &another(prefix), &[], (0, NOON));
    modified.expect("a prefix may come later");
    let down = on_n6(&ipv6(SERVER6, UE6, 17, &udp(80, 4000)));
    assert!(matches!(twin.packet(0, 1, &down)[..], [Outcome::Sent(_)]));

    // It then stays, even when the PDR that named it goes.
    let mut change = another(other);
    change.remove_pdr.push(RemovePdr { pdr_id: PdrId(7) });
    let modified = twin.modify(1, &change, &[], (0, NOON));
    assert!(is_about_the_address(modified.map(drop)));

    let mut request = dual_request();
    for pdr in &mut request.create_pdr {
        pdr.pdi.ue_ip_address[0].ipv4 = None;
    }
    let mut twin = with(&request);
    let modified = twin.modify(1, &another(ipv4), &[], (0, NOON));
    assert!(is_about_the_address(modified.map(drop)));
    let modified = twin.modify(1, &another(prefix), &[], (0, NOON));
    modified.expect("it may be named again");
}

#[test]
fn a_prefix_is_one_sessions() {
    let mut twin = with(&dual_request());
    let mut request = dual_request();
    for pdr in &mut request.create_pdr {
        pdr.pdi.ue_ip_address[0].ipv4 = None;
    }
    let teid = Teid::new(0x12).expect("not 0");
    request.create_pdr[0].pdi.local_f_teid = Some(FTeid::v4(teid, UPF));
    assert!(twin.establish(2, &request, &[], NOON).is_err());
    request.create_pdr[0].pdi.ue_ip_address.clear();
    request.create_pdr[1].pdi.ue_ip_address[0].ipv6 = Some(address("2001:db8:45:8::"));
    let granted = twin.establish(2, &request, &[], NOON);
    granted.expect("another prefix");
}

/// 8.2.79.
#[test]
fn pdn_types_are_those_of_ip() {
    let mut request = dual_request();
    for (pdn_type, cause) in [
        (PdnType::IPV4, None),
        (PdnType::IPV6, None),
        (PdnType::IPV4V6, None),
        (PdnType::NON_IP, Some(Cause::SERVICE_NOT_SUPPORTED)),
        (PdnType::ETHERNET, Some(Cause::SERVICE_NOT_SUPPORTED)),
        (PdnType(7), Some(Cause::MANDATORY_IE_INCORRECT)),
    ] {
        request.pdn_type = Some(pdn_type);
        let said = match establish(&request) {
            Err(Refused::Request { said, .. }) => said,
            _ => None,
        };
        assert_eq!(said, cause.map(|c| (c, Some(IeType::PDN_TYPE))));
    }
}
