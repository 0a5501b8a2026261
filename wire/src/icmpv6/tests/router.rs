//! Router Advertisement: every field in its place.

use super::*;

fn bare() -> RouterAdvertisement<'static> {
    RouterAdvertisement {
        hop_limit: 64,
        managed: false,
        other: false,
        router_lifetime_s: 9000,
        reachable_time_ms: 0,
        retrans_timer_ms: 0,
        source_mac: None,
        prefix: None,
        mtu: None,
        rdnss: &[],
        rdnss_lifetime_s: 0,
    }
}

/// The message as written from a router to all nodes, its checksum verified and taken out.
fn written(advertisement: &RouterAdvertisement<'_>) -> Vec<u8> {
    let mut out = [0; 200];
    let source = link_local_of(ROUTER_MAC);
    let len = advertisement.write(&mut out, source, ALL_NODES).unwrap();
    let whole = packet(source, ALL_NODES, ON_LINK_HOP_LIMIT, &out[..len]);
    let ip = Ipv6::parse(&whole).unwrap();
    assert_eq!(Icmpv6::parse(&ip).unwrap().kind(), ROUTER_ADVERTISEMENT);
    out[2..4].fill(0);
    out[..len].to_vec()
}

#[test]
fn what_is_not_given_is_left_out() {
    let expected = [134, 0, 0, 0, 64, 0, 0x23, 0x28, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(written(&bare()), expected);
    let flags = |managed, other| {
        written(&RouterAdvertisement {
            managed,
            other,
            ..bare()
        })[5]
    };
    assert_eq!((flags(true, false), flags(false, true)), (0x80, 0x40));
}

/// What a UE gets: RFC 4861, 4.2, 4.6.2 and 4.6.4, and RFC 8106, 5.1, field by field.
#[test]
fn a_prefix_an_mtu_and_dns_servers_follow() {
    let servers = [address("2001:db8::53"), address("2001:db8::54")];
    let advertisement = RouterAdvertisement {
        reachable_time_ms: 0x0102_0304,
        retrans_timer_ms: 0x0506_0708,
        source_mac: Some(ROUTER_MAC),
        prefix: Some(PrefixInformation {
            prefix: 0x2001_0db8_0001_0002,
            on_link: false,
            autonomous: true,
            valid_lifetime_s: u32::MAX,
            preferred_lifetime_s: 3600,
        }),
        mtu: Some(1400),
        rdnss: &servers,
        rdnss_lifetime_s: 7200,
        ..bare()
    };
    let mut expected = vec![134, 0, 0, 0, 64, 0, 0x23, 0x28, 1, 2, 3, 4, 5, 6, 7, 8];
    expected.extend([1, 1, 2, 0, 0, 0, 0, 1]);
    expected.extend([3, 4, 64, 0x40, 0xff, 0xff, 0xff, 0xff, 0, 0, 0x0e, 0x10]);
    expected.extend([0, 0, 0, 0, 0x20, 1, 0x0d, 0xb8, 0, 1, 0, 2]);
    expected.extend([0; 8]);
    expected.extend([5, 1, 0, 0, 0, 0, 0x05, 0x78]);
    expected.extend([25, 5, 0, 0, 0, 0, 0x1c, 0x20]);
    expected.extend(servers.iter().flat_map(Ipv6Addr::octets));
    assert_eq!(written(&advertisement), expected);
    let kinds: Vec<u8> = DiscoveryOptions::new(&expected[16..])
        .map(|option| option.unwrap().kind)
        .collect();
    assert_eq!(kinds, [1, 3, 5, 25]);
}

#[test]
fn what_does_not_fit_is_not_written() {
    let servers = [ue(); MAX_RDNSS + 1];
    let write = |servers, room: usize| {
        let mut out = vec![0; room];
        let advertisement = RouterAdvertisement {
            rdnss: servers,
            ..bare()
        };
        advertisement.write(&mut out, server(), ue())
    };
    let most = 16 + 8 + 16 * MAX_RDNSS;
    assert_eq!(write(&servers[1..], most), Some(most));
    assert_eq!(write(&servers[1..], most - 1), None);
    assert_eq!(write(&servers[..], most + 16), None);
    assert_eq!(write(&[], 15), None);
}
