//! IPv6 in files that are refused, with the exact words that people see.

use super::refused::{refusal, refuses};
use super::short_with;

#[test]
fn ipv6_addresses_fit_their_links() {
    let own = "addresses: 203.0.113.2/24, gateway: 203.0.113.1,";
    let with = |rest: &str| format!("addresses: [203.0.113.2/24, '2001:db8:6::2/64'], {rest},");
    for (rest, message) in [
        (
            "gateway: [203.0.113.1, '2001:db8:7::1']",
            "gateway[1]: 2001:db8:7::1 is not on the link; expected an address in 2001:db8:6::/64",
        ),
        (
            "gateway: ['2001:db8:6::1', 'fe80::1']",
            "gateway[1]: fe80::1 is where 2001:db8:6::1 (line 7) leads, too; \
             expected one gateway for each family",
        ),
        (
            "gateway: '2001:db8:6::2'",
            "gateway: 2001:db8:6::2 is our own address (line 7); \
             expected the address of another station",
        ),
        (
            "gateway: '2001:db8:6::1', routes: [{to: '::/0', via: 'fe80::1'}]",
            "routes: ::/0 is also where gateway (line 7) leads; expected one of both",
        ),
        (
            "routes: [{to: '2001:db8:9::/48', via: 203.0.113.1}]",
            "routes[0].via: 2001:db8:9::/48 leads nowhere by 203.0.113.1; \
             expected a prefix and a station of one family",
        ),
        (
            "routes: [{to: '2001:db8:9::1/48', via: 'fe80::1'}]",
            "routes[0].to: got '2001:db8:9::1/48'; expected an IP prefix without host bits, such \
             as 192.0.2.0/24 or 2001:db8::/32",
        ),
        (
            "gateway: '2001:db8:6::1', proxy_nd: '2001:db8::/32'",
            "proxy_nd[0]: 2001:db8::/32 contains the gateway 2001:db8:6::1 (line 7); \
             expected prefixes of UEs only",
        ),
        (
            "proxy_nd: 10.45.0.0/16",
            "proxy_nd: got '10.45.0.0/16'; \
             expected an IPv6 prefix without host bits, such as 2001:db8::/32",
        ),
    ] {
        refuses(
            own,
            &with(rest),
            &format!("upf.yaml:7: interfaces[1].{message}"),
        );
    }
}

#[test]
fn own_ipv6_addresses_are_those_of_stations_and_leave_link_local_ones_to_us() {
    for (address, message) in [
        (
            "2001:db8:6::/64",
            "2001:db8:6::/64 is no address of a station; \
             expected an address inside its subnet, not an edge of it",
        ),
        (
            "fe80::6/64",
            "fe80::6/64 is link-local; \
             expected other addresses: the link-local one is made of the MAC address",
        ),
    ] {
        let both = format!("[203.0.113.2/24, '{address}']");
        let message = format!("upf.yaml:7: interfaces[1].addresses[1]: {message}");
        refuses("203.0.113.2/24", &both, &message);
    }
}

#[test]
fn what_needs_the_other_family_says_so() {
    refuses(
        "gateway: 203.0.113.1",
        "gateway: [203.0.113.1, 'fe80::1']",
        "upf.yaml:7: interfaces[1].gateway[1]: fe80::1 is not on the link; \
         expected an IPv6 address among the interface's addresses",
    );
    refuses(
        "gateway: 203.0.113.1",
        "proxy_nd: '2001:db8:45::/48'",
        "upf.yaml:7: interfaces[1].proxy_nd: the interface has no IPv6 address to answer from; \
         expected an IPv6 address among the interface's addresses",
    );
    refuses(
        "addresses: 198.51.100.1/24, n3: {}",
        "addresses: '2001:db8:3::1/64', n9: {side: access}",
        "upf.yaml:6: interfaces[0].n9.address: the interface has IPv6 addresses only; \
         expected an IPv4 address of the interface",
    );
    refuses(
        "n3: {}",
        "n9: {side: access, address: '2001:db8:3::1'}",
        "upf.yaml:6: interfaces[0].n9.address: 2001:db8:3::1 is of IPv6; \
         expected an IPv4 address: N9 over IPv6 is not supported",
    );
}

#[test]
fn n3_has_an_address_of_either_family_or_of_both() {
    for (addresses, n3) in [
        ("'2001:db8:3::1/64'", "{}"),
        ("'2001:db8:3::1/64'", "{address: '2001:db8:3::1'}"),
        (
            "[198.51.100.1/24, '2001:db8:3::1/64']",
            "{address: [198.51.100.1, '2001:db8:3::1']}",
        ),
    ] {
        let text = short_with(
            "addresses: 198.51.100.1/24, n3: {}",
            &format!("addresses: {addresses}, n3: {n3}"),
        );
        assert!(super::load(&text).is_ok(), "{addresses} {n3}");
    }
    for (n3, message) in [
        (
            "{address: [198.51.100.1, 198.51.100.2]}",
            "198.51.100.2 beside 198.51.100.1; expected one address, or one of IPv4 and one of IPv6",
        ),
        (
            "{address: [198.51.100.1, '2001:db8:3::2']}",
            "2001:db8:3::2 is none of the interface's addresses; expected one of its addresses",
        ),
    ] {
        let both = "addresses: [198.51.100.1/24, 198.51.100.2/24, '2001:db8:3::1/64']";
        refuses(
            "addresses: 198.51.100.1/24, n3: {}",
            &format!("{both}, n3: {n3}"),
            &format!("upf.yaml:6: interfaces[0].n3.address: {message}"),
        );
    }
    refuses(
        "addresses: 198.51.100.1/24, n3: {}",
        "addresses: [198.51.100.1/24, 198.51.100.2/24, '2001:db8:3::1/64'], n3: [\
         {address: 198.51.100.1, network_instance: a}, \
         {address: '2001:db8:3::1', network_instance: b}, \
         {address: [198.51.100.1, '2001:db8:3::1'], network_instance: c}]",
        "upf.yaml:6: interfaces[0].n3.address: joins addresses that other entries have apart; \
         expected the same pairs everywhere",
    );
}

#[test]
fn an_ipv6_address_beside_the_only_ipv4_address_leaves_a_role_clear() {
    let both = "addresses: [198.51.100.1/24, '2001:db8:3::1/64']";
    let text = short_with("addresses: 198.51.100.1/24", both);
    assert!(super::load(&text).is_ok());
}

#[test]
fn advertisements_say_what_ues_can_use() {
    let refusal = |section: &str| {
        refusal(&short_with(
            "pools:",
            &format!("router_advertisement: {section}\npools:"),
        ))
    };
    assert_eq!(
        refusal("{lifetime_s: 600}"),
        "upf.yaml:9: router_advertisement.lifetime_s: got '600'; \
         expected a whole number of seconds from 1800 to 65535"
    );
    assert_eq!(
        refusal("{mtu: 1279}"),
        "upf.yaml:9: router_advertisement.mtu: got '1279'; \
         expected auto or a whole number of bytes from 1280 to 9216"
    );
    assert_eq!(
        refusal("{dns: ['2001:db8::53', 'fe80::53']}"),
        "upf.yaml:9: router_advertisement.dns[1]: got 'fe80::53'; \
         expected an IPv6 address that UEs can reach"
    );
    let many = vec!["'2001:db8::53'"; 128].join(", ");
    assert_eq!(
        refusal(&format!("{{dns: [{many}]}}")),
        "upf.yaml:9: router_advertisement.dns: 128 servers; expected at most 127"
    );
}

#[test]
fn pools_say_what_of_them_is_given() {
    let pool = "prefix: 10.45.0.0/16";
    for (with, message) in [
        (
            "prefix: '2001:db8:45::/48', rest_s: 5",
            "pools[0].rest_s: nothing of this pool is given by us; \
             expected it beside allocate: true",
        ),
        (
            "prefix: 'fe80::/48', allocate: true",
            "pools[0].prefix: got 'fe80::/48'; expected an IPv4 prefix of 8 to 32 bits without host \
             bits, such as 10.45.0.0/16, or an IPv6 prefix of 40 to 64 bits",
        ),
        (
            "prefix: 10.45.0.0/16, identity: homes",
            "pools[0].identity: nothing of this pool is given by us; \
             expected it beside allocate: true",
        ),
        (
            "prefix: 10.45.0.0/16, allocate: true, rest_s: 86401",
            "pools[0].rest_s: got '86401'; expected a whole number of seconds from 0 to 86400",
        ),
    ] {
        refuses(pool, with, &format!("upf.yaml:10: {message}"));
    }
}
