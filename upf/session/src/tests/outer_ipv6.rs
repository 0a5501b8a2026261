//! Tunnels over IPv6: F-TEIDs of either family or both, Outer Header Creation, Error Indications.

use super::bench::*;
use crate::network::TunnelAddresses;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_wire::ids::Teid;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionReportRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header};

const GNB_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 0x50);

fn choose(ipv4: bool, ipv6: bool) -> FTeid {
    FTeid::Choose {
        ipv4,
        ipv6,
        choose_id: None,
    }
}

fn removal(description: OuterHeaderRemovalDescription) -> OuterHeaderRemoval {
    OuterHeaderRemoval {
        description,
        ..OuterHeaderRemoval::GTPU_UDP_IP
    }
}

/// A session whose uplink tunnel is asked for and whose gNB is told so.
fn session(f_teid: FTeid, ohc: OuterHeaderCreation) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(UE, 1);
    request.create_pdr[0].pdi.local_f_teid = Some(f_teid);
    request.create_pdr[0].outer_header_removal = Some(OuterHeaderRemoval::GTPU_UDP_IP);
    let to_gnb = request.create_far[1].forwarding_parameters.as_mut();
    to_gnb.unwrap().outer_header_creation = Some(ohc);
    request
}

fn over_ipv6(teid: u32) -> OuterHeaderCreation {
    OuterHeaderCreation::gtpu_v6(Teid::new(teid).unwrap(), GNB_IPV6)
}

#[test]
fn an_f_teid_has_the_addresses_that_were_asked_for() {
    let both = TunnelAddresses {
        ipv4: Some(N3),
        ipv6: Some(N3_IPV6),
    };
    for (ipv4, ipv6) in [(true, true), (false, true), (true, false)] {
        let mut bench = Bench::new();
        let done = bench.establish(CP, &session(choose(ipv4, ipv6), over_ipv6(0xd007)));
        assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{:?}", done.offending);
        let view = bench.up.session(done.seid.0).unwrap();
        let told = both.of(ipv4, ipv6);
        assert_eq!(view.pdr[0].tunnel_address, told.all().next());
        assert_eq!(view.pdr[0].tunnel_address_ipv6, told.ipv6.filter(|_| ipv4));
        assert_eq!(view.far[1].peer, Some(IpAddr::V6(GNB_IPV6)));
        assert!(
            bench.net.held.keys().all(|peer| peer.is_ipv6()),
            "{:?}",
            bench.net.held
        );
        bench.delete(CP, done.seid);
        bench.assert_vacant();
    }
}

#[test]
fn a_header_is_removed_over_a_family_by_which_it_may_come() {
    type Description = OuterHeaderRemovalDescription;
    for (asked, description, is_granted) in [
        ((true, false), Description::GTPU_UDP_IPV4, true),
        ((true, false), Description::GTPU_UDP_IPV6, false),
        ((false, true), Description::GTPU_UDP_IPV6, true),
        ((false, true), Description::GTPU_UDP_IPV4, false),
        ((true, true), Description::GTPU_UDP_IPV6, true),
        ((false, true), Description::GTPU_UDP_IP, true),
    ] {
        let mut bench = Bench::new();
        let mut request = session(choose(asked.0, asked.1), over_ipv6(1));
        request.create_pdr[0].outer_header_removal = Some(removal(description));
        let done = bench.establish(CP, &request);
        let is_accepted = done.cause == Cause::REQUEST_ACCEPTED;
        assert_eq!(is_accepted, is_granted, "{asked:?} {description:?}");
    }
}

#[test]
fn of_a_dual_stack_gnb_the_address_of_our_family_is_taken() {
    let mut ohc = over_ipv6(0xd007);
    ohc.description = OuterHeaderDescription::GTPU_UDP_IPV4 | OuterHeaderDescription::GTPU_UDP_IPV6;
    ohc.ipv4 = Some(GNB);
    for (is_ipv6_alone, taken) in [(false, IpAddr::V4(GNB)), (true, IpAddr::V6(GNB_IPV6))] {
        let mut bench = Bench::new();
        bench.net.is_ipv6_alone = is_ipv6_alone;
        let done = bench.establish(CP, &session(choose(true, true), ohc));
        assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{:?}", done.offending);
        let view = bench.up.session(done.seid.0).unwrap();
        assert_eq!(view.far[1].peer, Some(taken));
    }
}

#[test]
fn an_error_indication_over_ipv6_is_reported_with_its_address() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &session(choose(false, true), over_ipv6(0xd007)));
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{:?}", done.offending);
    let stranger = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 50));
    for (peer, reports) in [(stranger, 0), (IpAddr::V6(GNB_IPV6), 1)] {
        let (now, wall) = (bench.now(), bench.wall());
        let told = bench.sent_by(|bench| {
            let out = &mut bench.out;
            bench.up.error_indication(now, wall, peer, 0xd007, out);
        });
        assert_eq!(told.len(), reports, "{peer}");
        for message in &told {
            let (_, body) = Header::parse(message).unwrap();
            let report = SessionReportRequest::parse(body).unwrap();
            let told = report.error_indication_report.unwrap();
            let expected = FTeid::v6(Teid::new(0xd007).unwrap(), GNB_IPV6);
            assert_eq!(told.remote_f_teid.iter().next(), Some(&expected));
        }
    }
}
