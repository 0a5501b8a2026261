//! Neighbour Discovery: what is written is read, and what RFC 4861 wants dropped is refused.

use super::*;

const ASKER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
/// The S flag.
const SOLICITED: u8 = 0x40;

fn asker() -> Ipv6Addr {
    link_local_of(ASKER_MAC)
}

fn target() -> Ipv6Addr {
    address("2001:db8::aa:bbcc")
}

fn solicitation(source_mac: Option<MacAddr>) -> NeighbourSolicitation {
    NeighbourSolicitation {
        target: target(),
        source_mac,
    }
}

/// The packet of a solicitation for [`target`].
fn solicit(source: Ipv6Addr, destination: Ipv6Addr, mac: Option<MacAddr>) -> Vec<u8> {
    let mut out = [0; 32];
    let len = solicitation(mac).write(&mut out, source, destination);
    packet(source, destination, ON_LINK_HOP_LIMIT, &out[..len.unwrap()])
}

fn parse(packet: &[u8]) -> Result<Discovery, DiscoveryError> {
    Discovery::parse(&Ipv6::parse(packet).unwrap())
}

/// A packet around `message`, whose checksum is filled in.
fn sealed(destination: Ipv6Addr, hop_limit: u8, message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let len = message.len() as u32;
    let sum = pseudo_header_sum(asker(), destination, Protocol::ICMPV6, len);
    let sum = sum.add_bytes(&message).finish();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    packet(asker(), destination, hop_limit, &message)
}

#[test]
fn a_solicitation_is_that_of_rfc_4861_and_read_again() {
    let whole = solicit(asker(), solicited_node(target()), Some(ASKER_MAC));
    assert_eq!(whole[24..40], address("ff02::1:ffaa:bbcc").octets());
    let mut message = whole[40..].to_vec();
    message[2..4].fill(0);
    let mut expected = vec![135, 0, 0, 0, 0, 0, 0, 0];
    expected.extend(target().octets());
    expected.extend([1, 1, 2, 0, 0, 0, 0, 9]);
    assert_eq!(message, expected);
    let read = Discovery::NeighbourSolicitation(solicitation(Some(ASKER_MAC)));
    assert_eq!(parse(&whole), Ok(read));
}

#[test]
fn an_advertisement_answers_a_solicitation() {
    let answer = solicitation(Some(ASKER_MAC)).reply_from(asker(), ROUTER_MAC, false);
    let mut out = [0; 32];
    let len = answer.write(&mut out, target(), asker()).unwrap();
    assert_eq!((len, out[0], out[4]), (32, 136, 0xe0));
    assert_eq!(out[8..24], target().octets());
    assert_eq!(out[24..], [2, 1, 2, 0, 0, 0, 0, 1]);
    let whole = packet(target(), asker(), 255, &out);
    assert_eq!(parse(&whole), Ok(Discovery::NeighbourAdvertisement(answer)));
    let proxy = solicitation(None).reply_from(Ipv6Addr::UNSPECIFIED, ROUTER_MAC, true);
    assert!(proxy.is_router && !proxy.is_solicited && !proxy.overrides);
}

#[test]
fn a_router_solicitation_is_recognised() {
    for source_mac in [None, Some(ASKER_MAC)] {
        let solicitation = RouterSolicitation { source_mac };
        let mut out = [0; 16];
        let len = solicitation.write(&mut out, asker(), ALL_ROUTERS).unwrap();
        let whole = packet(asker(), ALL_ROUTERS, 255, &out[..len]);
        assert_eq!((len, out[0]), (8 + source_mac.map_or(0, |_| 8), 133));
        let read = Discovery::RouterSolicitation(solicitation);
        assert_eq!(parse(&whole), Ok(read));
    }
}

/// RFC 4861, 7.1.1: duplicate address detection asks the target's group, and has no MAC address.
#[test]
fn the_unspecified_address_asks_only_for_itself() {
    let nobody = Ipv6Addr::UNSPECIFIED;
    let own_group = solicited_node(target());
    assert!(parse(&solicit(nobody, own_group, None)).is_ok());
    for (destination, mac) in [(own_group, Some(ASKER_MAC)), (ALL_NODES, None)] {
        let refused = parse(&solicit(nobody, destination, mac));
        assert_eq!(refused, Err(DiscoveryError::Source));
    }
}

#[test]
fn what_comes_from_another_link_or_is_wrong_is_named() {
    let message = |kind: u8, code: u8, flags: u8, target: Ipv6Addr, options: &[u8]| {
        let fixed = [kind, code, 0, 0, flags, 0, 0, 0];
        [&fixed[..], &target.octets(), options].concat()
    };
    let refused = |destination, hop_limit, message: &[u8]| {
        parse(&sealed(destination, hop_limit, message)).unwrap_err()
    };
    let sound = message(135, 0, 0, target(), &[]);
    assert!(parse(&sealed(target(), 255, &sound)).is_ok());
    let from_afar = refused(target(), 254, &sound);
    assert_eq!(from_afar, DiscoveryError::HopLimit(254));
    let code = refused(target(), 255, &message(135, 1, 0, target(), &[]));
    assert_eq!(code, DiscoveryError::Code(1));
    let cut = refused(target(), 255, &sound[..23]);
    assert_eq!(cut, DiscoveryError::Truncated);
    let group = refused(target(), 255, &message(136, 0, 0, ALL_NODES, &[]));
    assert_eq!(group, DiscoveryError::Target);
    let solicited = refused(ALL_NODES, 255, &message(136, 0, SOLICITED, target(), &[]));
    assert_eq!(solicited, DiscoveryError::Solicited);
    let other = refused(target(), 255, &message(134, 0, 0, target(), &[]));
    assert_eq!(other, DiscoveryError::Type(134));
    let endless = refused(target(), 255, &message(135, 0, 0, target(), &[9, 0]));
    assert_eq!(endless, DiscoveryError::Option(OptionError::Length));
    let long_mac = [&[1, 2][..], &[0; 14]].concat();
    let long_mac = refused(target(), 255, &message(135, 0, 0, target(), &long_mac));
    assert_eq!(long_mac, DiscoveryError::Option(OptionError::Length));
    let damaged = parse(&packet(asker(), target(), 255, &sound)).unwrap_err();
    assert_eq!(damaged, DiscoveryError::Icmpv6(Icmpv6Error::Checksum));
}

proptest! {
    #[test]
    fn any_message_is_read_or_refused(
        kind in 132u8..138, code in 0u8..2, hop_limit in 254u8..,
        body in proptest::collection::vec(prop_oneof![Just(1u8), Just(2), any::<u8>()], 4..80),
    ) {
        let message = [&[kind, code, 0, 0][..], &body].concat();
        match parse(&sealed(target(), hop_limit, &message)) {
            Ok(_) => prop_assert_eq!((hop_limit, code), (255, 0)),
            Err(error) => {
                prop_assert_ne!(error, DiscoveryError::Icmpv6(Icmpv6Error::Checksum));
                prop_assert!(!std::string::ToString::to_string(&error).is_empty());
            }
        }
    }

    #[test]
    fn what_is_written_is_read(
        bits in any::<u128>(), mac in any::<Option<[u8; 6]>>(), flags in any::<[bool; 3]>(),
    ) {
        let target = Ipv6Addr::from_bits(bits & !(0xff << 120));
        let [is_router, is_solicited, overrides] = flags;
        let target_mac = mac.map(MacAddr);
        let written = NeighbourAdvertisement {
            is_router, is_solicited, overrides, target, target_mac,
        };
        let mut out = [0; 32];
        let len = written.write(&mut out, asker(), ue()).unwrap();
        let whole = packet(asker(), ue(), 255, &out[..len]);
        prop_assert_eq!(parse(&whole), Ok(Discovery::NeighbourAdvertisement(written)));
    }
}
