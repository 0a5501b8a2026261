use super::*;
use FlowDescriptionError as Error;
use proptest::prelude::*;
use std::string::{String, ToString};

fn parse(text: &str) -> Result<FlowDescription, Error> {
    FlowDescription::parse(text.as_bytes())
}

fn everything() -> FlowDescription {
    FlowDescription {
        protocol: None,
        remote: AddressMatch::Any,
        remote_ports: Ports::new(),
        local: AddressMatch::Any,
        local_ports: Ports::new(),
    }
}

fn ports(ranges: &[(u16, u16)]) -> Ports {
    ranges.iter().copied().collect()
}

/// The texts that free5GC, Open5GS and TS 29.244 have for everything.
#[test]
fn any_and_assigned_are_every_address() {
    for text in [
        "permit out ip from any to assigned",
        "permit out ip from any to any",
        "\tpermit  out ip\nfrom assigned to any ",
    ] {
        assert_eq!(parse(text), Ok(everything()), "{text}");
    }
}

#[test]
fn all_parts_are_read() {
    let expected = FlowDescription {
        protocol: Some(17),
        remote: AddressMatch::V4 {
            address: Ipv4Addr::new(10, 32, 0, 0),
            len: 11,
        },
        remote_ports: ports(&[(53, 53), (1000, 2000)]),
        local: AddressMatch::V4 {
            address: Ipv4Addr::new(192, 0, 2, 1),
            len: 32,
        },
        local_ports: ports(&[(0, 65535)]),
    };
    let text = "permit out 17 from 10.45.1.2/11 53,1000-2000 to 192.0.2.1 0-65535";
    assert_eq!(parse(text), Ok(expected.clone()));
    let canonical = "permit out 17 from 10.32.0.0/11 53,1000-2000 to 192.0.2.1 0-65535";
    assert_eq!(expected.to_string(), canonical);
}

/// What Open5GS has for Router Solicitations.
#[test]
fn ipv6_addresses_have_128_bits() {
    let flow = parse("permit out 58 from ff02::2/128 to assigned").unwrap();
    let all_routers = "ff02::2".parse().unwrap();
    let expected = AddressMatch::V6 {
        address: all_routers,
        len: 128,
    };
    assert_eq!((flow.protocol, flow.remote), (Some(58), expected));
    let flow = parse("permit out ip from ::/0 to 2001:db8:1:2:3::4/50").unwrap();
    let (none, prefix) = ("::".parse().unwrap(), "2001:db8:1::".parse().unwrap());
    assert_eq!(
        flow.remote,
        AddressMatch::V6 {
            address: none,
            len: 0
        }
    );
    assert_eq!(
        flow.local,
        AddressMatch::V6 {
            address: prefix,
            len: 50
        }
    );
}

#[test]
fn every_ipv4_address_is_no_ipv6_address() {
    let flow = parse("permit out ip from 1.2.3.4/0 to any").unwrap();
    let every = AddressMatch::V4 {
        address: Ipv4Addr::UNSPECIFIED,
        len: 0,
    };
    assert_eq!(flow.remote, every);
}

#[test]
fn what_is_wrong_is_named_with_its_word() {
    for (text, error) in [
        ("", Error::Ended(1)),
        ("permit out ip from any to", Error::Ended(7)),
        ("permit out ip from any", Error::Ended(6)),
        ("deny out ip from any to any", Error::Action(1)),
        ("PERMIT out ip from any to any", Error::Action(1)),
        ("permit in ip from any to any", Error::Direction(2)),
        ("permit out tcp from any to any", Error::Protocol(3)),
        ("permit out 256 from any to any", Error::Protocol(3)),
        ("permit out +6 from any to any", Error::Protocol(3)),
        ("permit out 06 from any to any", Error::Protocol(3)),
        ("permit out ip to any from any", Error::From(4)),
        ("permit out ip from !10.0.0.1 to any", Error::Inverted(5)),
        ("permit out ip from any to !any", Error::Inverted(7)),
        ("permit out ip from 10.0.0 to any", Error::Address(5)),
        ("permit out ip from fe80::1%eth0 to any", Error::Address(5)),
        (
            "permit out ip from 10.0.0.1/33 to any",
            Error::PrefixLength(5),
        ),
        (
            "permit out ip from any to 10.0.0.1/",
            Error::PrefixLength(7),
        ),
        ("permit out ip from ::1/129 to any", Error::PrefixLength(5)),
        (
            "permit out ip from 10.0.0.0/255.0.0.0 to any",
            Error::PrefixLength(5),
        ),
        (
            "permit out ip from 10.0.0.1 to ::1",
            Error::MixedFamilies(7),
        ),
        (
            "permit out ip from ::/0 5 to 10.0.0.1",
            Error::MixedFamilies(8),
        ),
        ("permit out 6 from any 80, to any", Error::Ports(6)),
        ("permit out 6 from any 80-79 to any", Error::Ports(6)),
        ("permit out 6 from any 1-2-3 to any", Error::Ports(6)),
        ("permit out 6 from any 65536 to any", Error::Ports(6)),
        ("permit out 6 from any http to any", Error::Ports(6)),
        ("permit out 6 from any 80 81 to any", Error::Ports(7)),
        ("permit out 6 from any to any 80,81,", Error::Ports(8)),
        ("permit out 6 from any to any frag", Error::Option(8)),
        ("permit out 6 from any to any 80 81", Error::Option(9)),
        ("permit out 6 from any 1 to any 80 setup", Error::Option(10)),
    ] {
        assert_eq!(parse(text), Err(error), "{text}");
        assert!(
            error
                .to_string()
                .contains(&std::format!("word {}", error.word()))
        );
    }
    let nothing = FlowDescription::parse(b"permit out ip from \xff to any");
    assert_eq!(nothing, Err(Error::Address(5)));
}

#[test]
fn a_list_has_sixteen_ranges_at_most() {
    let list = |n: u16| {
        let ports: Vec<String> = (1..=n).map(|port| port.to_string()).collect();
        std::format!("permit out 6 from any {} to any", ports.join(","))
    };
    assert_eq!(parse(&list(16)).unwrap().remote_ports.len(), 16);
    assert_eq!(parse(&list(17)), Err(Error::TooManyPorts(6)));
}

fn some_ports() -> impl Strategy<Value = Ports> {
    let range = any::<(u16, u16)>().prop_map(|(a, b)| (a.min(b), a.max(b)));
    proptest::collection::vec(range, 0..=MAX_PORT_RANGES).prop_map(|list| ports(&list))
}

/// Two addresses of one family, or any.
fn some_addresses() -> impl Strategy<Value = (AddressMatch, AddressMatch)> {
    let any_or = |address: BoxedStrategy<AddressMatch>| {
        let one = prop_oneof![Just(AddressMatch::Any), address];
        (one.clone(), one)
    };
    let v4 = (any::<u32>(), 0..=32u8).prop_map(|(bits, len)| AddressMatch::v4(bits.into(), len));
    let v6 = (any::<u128>(), 0..=128u8).prop_map(|(bits, len)| AddressMatch::v6(bits.into(), len));
    prop_oneof![any_or(v4.boxed()), any_or(v6.boxed())]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        protocol in any::<Option<u8>>(), addresses in some_addresses(),
        remote_ports in some_ports(), local_ports in some_ports(),
    ) {
        let (remote, local) = addresses;
        let flow = FlowDescription { protocol, remote, remote_ports, local, local_ports };
        prop_assert_eq!(parse(&flow.to_string()), Ok(flow));
    }

    #[test]
    fn any_octets_parse_or_are_refused(octets in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = FlowDescription::parse(&octets);
    }

    #[test]
    fn any_words_parse_or_are_refused(
        words in proptest::collection::vec(prop::sample::select(vec![
            "permit", "out", "ip", "17", "from", "to", "any", "assigned", "10.0.0.0/8", "::1/64",
            "80", "1-2,3", "-", ",", "/", "!", "frag",
        ]), 0..12),
        start in 0..8usize,
    ) {
        let start: Vec<&str> =
            "permit out ip from any to any".split(' ').take(start).collect();
        let text = [start, words].concat().join(" ");
        match parse(&text) {
            Ok(flow) => prop_assert_eq!(parse(&flow.to_string()), Ok(flow)),
            Err(error) => prop_assert!((1..=10).contains(&error.word())),
        }
    }
}
