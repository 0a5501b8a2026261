//! IPv6 packets in tunnels and on N6.

use crate::world::*;
use sluice_twin::{Drop, IcmpCause, Notice, Outcome, Sender, Sent, Twin};
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::value::*;

/// From the gNB: TEID 0x11, QFI 9, a UDP packet of the UE to the server, hop limit 64.
const UPLINK: &str = "020000000003 020000000103 0800 \
    45000061 00000000 4011f658 c0000232 c0000201 c350 0868 004d 0000 \
    34ff003d 00000011 00000085 01100900 \
    60000000 000d1140 20010db8004500070000000000000001 20010db8000600000000000000000080 \
    0fa0 0050 000d 0000 68656c6c6f";
const UPLINK_OUT: &str = "020000000106 020000000006 86dd \
    60000000 000d113f 20010db8004500070000000000000001 20010db8000600000000000000000080 \
    0fa0 0050 000d 0000 68656c6c6f";
const DOWNLINK: &str = "020000000006 020000000106 86dd \
    60000000 000d1140 20010db8000600000000000000000080 20010db8004500070000000000000001 \
    0050 0fa0 000d 0000 776f726c64";
/// In the tunnel 0xd01 with QFI 9; the source port is left open.
const DOWNLINK_OUT: &str = "020000000103 020000000003 0800 \
    45000061 00004000 4011b658 c0000201 c0000232 0000 0868 004d 0000 \
    34ff003d 00000d01 00000085 01000900 \
    60000000 000d113f 20010db8000600000000000000000080 20010db8004500070000000000000001 \
    0050 0fa0 000d 0000 776f726c64";

/// Where the inner IPv6 header stands in [`UPLINK`].
const INNER: usize = 14 + 20 + 8 + 16;

fn sent(outcomes: &[Outcome]) -> &Sent {
    match outcomes {
        [Outcome::Sent(sent)] => sent,
        other => panic!("{other:?}"),
    }
}

fn dropped(why: Drop) -> [Outcome; 1] {
    [Outcome::Dropped(why, None)]
}

#[test]
fn both_directions_are_forwarded() {
    let mut twin = with(&dual_request());
    let outcomes = twin.packet(0, 0, &hex(UPLINK));
    assert_eq!(sent(&outcomes).frame, hex(UPLINK_OUT));
    assert_eq!(sent(&outcomes).port, 1);
    let outcomes = twin.packet(0, 1, &hex(DOWNLINK));
    assert_eq!(sent(&outcomes).frame, hex(DOWNLINK_OUT));
    assert_eq!(sent(&outcomes).source_port_at, Some(34));
}

/// TS 23.501, 5.8.2.2: what a UE sends is of its prefix; RFC 8273: it has all of it.
#[test]
fn sources_must_lie_in_the_prefix() {
    let mut twin = with(&dual_request());
    let from = |source: &str| from_gnb(&ipv6(source, SERVER6, 17, &udp(4000, 80)));
    let own = from("2001:db8:45:7:ffff:ffff:ffff:ffff");
    assert!(matches!(twin.packet(0, 0, &own)[..], [Outcome::Sent(_)]));
    let others = from("2001:db8:45:8::1");
    assert_eq!(twin.packet(0, 0, &others), dropped(Drop::UeSource));

    let mut ipv4_only = with(&request());
    assert_eq!(
        ipv4_only.packet(0, 0, &hex(UPLINK)),
        dropped(Drop::UeSource)
    );
    assert_eq!(
        ipv4_only.packet(0, 1, &hex(DOWNLINK)),
        dropped(Drop::UnknownUe)
    );
}

/// RFC 8200, 3 and RFC 1812, 5.2.2 in its spirit.
#[test]
fn broken_headers_have_names() {
    let mut twin = with(&dual_request());
    let mut with_byte = |frame: &str, port, at: usize, value: u8| {
        let mut frame = hex(frame);
        frame[at] = value;
        twin.packet(0, port, &frame)
    };
    let long = INNER + 5;
    assert_eq!(
        with_byte(UPLINK, 0, INNER, 0x50),
        dropped(Drop::InnerHeader)
    );
    assert_eq!(with_byte(UPLINK, 0, long, 14), dropped(Drop::InnerLength));
    assert_eq!(with_byte(DOWNLINK, 1, 14, 0x40), dropped(Drop::Ipv6Header));
    assert_eq!(with_byte(DOWNLINK, 1, 19, 14), dropped(Drop::Ipv6Length));
    let short = &hex(DOWNLINK)[..14 + 39];
    assert_eq!(twin.packet(0, 1, short), dropped(Drop::Ipv6Header));
    let short = from_gnb(&ipv6(UE6, SERVER6, 17, &[])[..39]);
    assert_eq!(twin.packet(0, 0, &short), dropped(Drop::InnerHeader));
}

/// RFC 8200, 3: a hop limit that is 0 or becomes 0 ends the packet's way.
#[test]
fn a_last_hop_is_told_to_the_sender() {
    let mut twin = with(&dual_request());
    for (hops, ends) in [(0, true), (1, true), (2, false)] {
        let mut frame = hex(DOWNLINK);
        frame[14 + 7] = hops;
        let sender = Sender::DataNetwork("internet".to_owned());
        let notice = Notice::Icmp(IcmpCause::TtlExceeded, frame[14..].to_vec(), sender);
        let outcomes = twin.packet(0, 1, &frame);
        let expired = outcomes == [Outcome::Dropped(Drop::TtlExceeded, Some(notice))];
        assert_eq!(expired, ends, "{outcomes:?}");
    }
}

/// RFC 8200, 5: routers do not cut; RFC 4443, 3.2: Packet Too Big.
#[test]
fn what_does_not_fit_is_not_cut() {
    let mut twin = with(&dual_request());
    let mut of_length = |len: usize| {
        let payload = vec![0; len - 40];
        let packet = ipv6(SERVER6, UE6, 59, &payload);
        (twin.packet(0, 1, &on_n6(&packet)), packet)
    };
    // 1500 less 20, 8, 8, 4 for the optional fields and 4 for the container.
    let (outcomes, _) = of_length(1456);
    assert!(matches!(outcomes[..], [Outcome::Sent(_)]));
    let (outcomes, mut packet) = of_length(1457);
    packet[7] = 63;
    let sender = Sender::DataNetwork("internet".to_owned());
    let notice = Notice::Icmp(IcmpCause::TooBig(1456), packet, sender);
    assert_eq!(outcomes, [Outcome::Dropped(Drop::TooBig, Some(notice))]);
}

/// TS 29.244, 5.2.2.2: volume is that of the packets of users; here 40 octets and the payload.
#[test]
fn usage_and_rates_are_those_of_the_whole_packet() {
    let mut request = dual_request();
    request.create_qer[0].maximum_bitrate = Some(BitRate {
        uplink_kbps: 8,
        downlink_kbps: 0,
    });
    let mut twin = with(&request);
    // A bucket of 3200 octets holds 60 packets of 53.
    let frame = hex(UPLINK);
    let passed = (0..61).filter(|_| matches!(twin.packet(0, 0, &frame)[..], [Outcome::Sent(_)]));
    assert_eq!(passed.count(), 60);
    assert_eq!(twin.packet(0, 0, &frame), dropped(Drop::MbrExceeded));
    twin.packet(0, 1, &hex(DOWNLINK));
    let (reports, _) = twin.delete(1, (0, NOON)).expect("it is there");
    assert_eq!(reports[0].urr_id, UrrId(1));
    let volume = reports[0].volume_measurement.expect("it measures volume");
    assert_eq!((volume.uplink, volume.downlink), (Some(60 * 53), Some(53)));
}

#[test]
fn both_versions_draw_on_one_bucket() {
    let mut request = dual_request();
    request.create_qer[0].maximum_bitrate = Some(BitRate {
        uplink_kbps: 8,
        downlink_kbps: 0,
    });
    let mut twin = with(&request);
    let big = from_gnb(&ipv6(UE6, SERVER6, 59, &[0; 1360]));
    let ipv4 = hex("45000384 00000000 40110000 0a2d0007 c6336450");
    let mut ipv4 = [&ipv4[..], &[0; 880]].concat();
    // 4500 + 0384 + 4011 + 0a2d + 0007 + c633 + 6450 = 1bd4c; folded bd4d; its complement:
    ipv4[10..12].copy_from_slice(&[0x42, 0xb2]);
    let ipv4 = from_gnb(&ipv4);
    assert!(matches!(twin.packet(0, 0, &big)[..], [Outcome::Sent(_)]));
    assert!(matches!(twin.packet(0, 0, &ipv4)[..], [Outcome::Sent(_)]));
    assert_eq!(twin.packet(0, 0, &big), dropped(Drop::MbrExceeded));
    assert!(matches!(twin.packet(0, 0, &ipv4)[..], [Outcome::Sent(_)]));
    assert_eq!(twin.packet(0, 0, &ipv4), dropped(Drop::MbrExceeded));
}

/// The longest prefix: the link, a route to a router's link-local address, no one.
#[test]
fn routes_lead_to_the_link_or_to_a_router() {
    let mut twin = with(&dual_request());
    let to = |twin: &mut Twin, destination| {
        let frame = from_gnb(&ipv6(UE6, destination, 17, &udp(4000, 80)));
        twin.packet(0, 0, &frame)
    };
    let outcomes = to(&mut twin, SERVER6);
    assert_eq!(sent(&outcomes).frame[..6], [2, 0, 0, 0, 1, 6]);
    let outcomes = to(&mut twin, ELSEWHERE6);
    assert_eq!(sent(&outcomes).frame[..6], [2, 0, 0, 0, 1, 0xfe]);
    assert_eq!(to(&mut twin, "2001:db8:6::99"), [Outcome::Held]);
    let outcomes = to(&mut twin, N6_6);
    assert!(matches!(outcomes[..], [Outcome::Arrived(_)]));

    let mut world = world();
    world.links[1].routes6.clear();
    let mut twin = Twin::new(world);
    let granted = twin.establish(1, &dual_request(), &[], NOON);
    granted.expect("a sound session");
    assert_eq!(to(&mut twin, ELSEWHERE6), dropped(Drop::NoRoute));
}

/// RFC 4291, 2.8: a router's addresses and groups; RFC 2464, 7: their frames.
#[test]
fn packets_for_the_link_itself_go_to_the_control_core() {
    let mut twin = with(&dual_request());
    let mut to = |mac: &str, destination: &str, payload: &[u8]| {
        let frame = [
            hex(mac),
            hex("020000000106 86dd"),
            ipv6("fe80::80", destination, 58, payload),
        ];
        twin.packet(0, 1, &frame.concat())
    };
    let us = "020000000006";
    for destination in [N6_6, "fe80::ff:fe00:6", "ff02::1", "ff0e::1"] {
        assert_eq!(to(us, destination, &[128]), [Outcome::Control]);
    }
    let solicited = "ff02::1:ff00:1";
    assert_eq!(to("3333ff000001", solicited, &[135]), [Outcome::Control]);
    assert_eq!(to("333300000001", "ff02::1", &[134]), [Outcome::Control]);
    let not_ours = dropped(Drop::NotOurMac);
    assert_eq!(to("333300000016", "ff02::16", &[143]), not_ours);
    assert_eq!(to("333300000001", "ff02::1", &[]), not_ours);
    assert_eq!(to("020000000007", N6_6, &[135]), not_ours);
    assert_eq!(to("ffffffffffff", "ff02::1", &[135]), not_ours);
}

#[test]
fn links_of_tunnels_lead_nowhere() {
    let mut twin = with(&dual_request());
    let macs = hex("020000000003 020000000103 86dd");
    let frame = [macs, ipv6(SERVER6, UE6, 17, &udp(80, 4000))].concat();
    assert_eq!(twin.packet(0, 0, &frame), dropped(Drop::NoRoute));
    let group = hex("333300000001 020000000103 86dd");
    let frame = [group, ipv6("fe80::3", "ff02::1", 58, &[135])].concat();
    assert_eq!(twin.packet(0, 0, &frame), dropped(Drop::NotOurMac));
}

/// 8.2.56: of two addresses of the peer the UP function takes the one that it can reach.
#[test]
fn tunnels_have_ipv4_addresses() {
    let mut request = dual_request();
    let forwarding = &mut request.create_far[1].forwarding_parameters;
    let tunnel = forwarding
        .as_mut()
        .and_then(|f| f.outer_header_creation.as_mut());
    let tunnel = tunnel.expect("it has one");
    tunnel.description |= OuterHeaderDescription::GTPU_UDP_IPV6;
    tunnel.ipv6 = Some(address("2001:db8:3::50"));
    let mut twin = with(&request);
    let outcomes = twin.packet(0, 1, &hex(DOWNLINK));
    assert_eq!(sent(&outcomes).frame, hex(DOWNLINK_OUT));

    let forwarding = &mut request.create_far[1].forwarding_parameters;
    let forwarding = forwarding.as_mut().expect("it has some");
    let teid = sluice_wire::ids::Teid::new(0xd01).expect("not 0");
    let ipv6 = OuterHeaderCreation::gtpu_v6(teid, address("2001:db8:3::50"));
    forwarding.outer_header_creation = Some(ipv6);
    let refused = Twin::new(world()).establish(1, &request, &[], NOON);
    assert!(refused.is_err());
}
