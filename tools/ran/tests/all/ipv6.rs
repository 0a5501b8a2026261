//! UEs with an IPv6 prefix: the kernel asks for a router through the tunnel and makes its address
//! of the answer (needs root).

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::common::{
    GNB_A, GNB_B, Lab, UE_1, UE_2, UPF_A, UPF_B, is_root, qfi, teid, ue, wait_until,
};
use sluice_host::link::Link;
use sluice_host::netns::Netns;
use sluice_host::tool;
use sluice_ran::{DropReason, Flow, Gnb, UeId};
use sluice_smf_emulator::UeAddresses;

const IPV6_1: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 1, 0, 0, 0, 0x101);
const IPV6_2: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 2, 0, 0, 0, 0x102);

/// Namespace and addresses of a UE with both families.
struct Seat<'l> {
    ns: &'l Netns,
    gnb: (&'l Gnb, Ipv4Addr),
    upf: Ipv4Addr,
    addresses: (Ipv4Addr, Ipv6Addr),
    teids: [u32; 2],
    flow: u8,
}

impl Seat<'_> {
    fn attach(&self, lab: &Lab) -> UeId {
        let (ipv4, ipv6) = self.addresses;
        let [uplink, downlink] = self.teids;
        let prefix = (ipv6.to_bits() >> 64) as u64;
        let (gnb, n3) = self.gnb;
        lab.upf
            .route_ipv6(teid(uplink), prefix, n3, teid(downlink), qfi(self.flow));
        let mut config = ue(self.ns, ipv4, self.upf, uplink, downlink, self.flow);
        config.addresses = UeAddresses::V4V6(ipv4, ipv6);
        let id = gnb.handle().attach(config).expect("attach");
        self.link()
            .autoconfigure_ipv6(ipv6.to_bits() as u64)
            .expect("IPv6");
        id
    }

    fn link(&self) -> Link {
        Link::new(self.ns, "ue").expect("name")
    }
}

#[test]
fn the_kernel_makes_its_address_of_the_prefix_and_pings_over_ipv6() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("v6");
    let seats = [
        Seat {
            ns: &lab.ns_ue1,
            gnb: (&lab.gnb_a, GNB_A),
            upf: UPF_A,
            addresses: (UE_1, IPV6_1),
            teids: [0x11, 0xa1],
            flow: 5,
        },
        Seat {
            ns: &lab.ns_ue2,
            gnb: (&lab.gnb_b, GNB_B),
            upf: UPF_B,
            addresses: (UE_2, IPV6_2),
            teids: [0x12, 0xb2],
            flow: 9,
        },
    ];
    let ids = [seats[0].attach(&lab), seats[1].attach(&lab)];
    for seat in &seats {
        wait_until("an address of the prefix", || {
            seat.link().global_ipv6().expect("table") == Some(seat.addresses.1)
        });
    }
    let target = IPV6_2.to_string();
    let ping = ["-c", "20", "-i", "0.01", "-s", "100", "-W", "5", &target];
    let text = tool::run(lab.ns_ue1.command("ping").args(ping)).expect("ping");
    assert!(text.contains(" 0% packet loss"), "{text}");
    for (seat, id) in seats.iter().zip(ids) {
        let detached = seat.gnb.0.handle().detach(id).expect("attached");
        let kernel = detached.tun.counters().expect("counters");
        let counters = detached.report.counters;
        let by_family = counters.by_family;
        let flow = |packets, bytes| Flow { packets, bytes };
        assert_eq!(
            by_family.ipv6_uplink,
            flow(kernel.tx_packets, kernel.tx_bytes)
        );
        assert_eq!(
            by_family.ipv6_downlink,
            flow(kernel.rx_packets, kernel.rx_bytes)
        );
        assert!(by_family.solicitations >= 1, "{by_family:?}");
        assert!(by_family.link_local_downlink.packets >= 1, "{by_family:?}");
        let pinged = flow(20, 20 * 148);
        assert_eq!(counters.usage()[0], pinged, "without the link");
        assert_eq!(counters.drops.total(), 0);
    }
}

#[test]
fn a_packet_of_another_prefix_is_not_given_to_the_ue() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("v6foreign");
    let seat = Seat {
        ns: &lab.ns_ue1,
        gnb: (&lab.gnb_a, GNB_A),
        upf: UPF_A,
        addresses: (UE_1, IPV6_1),
        teids: [0x11, 0xa1],
        flow: 5,
    };
    let id = seat.attach(&lab);
    // What is for the second UE is sent to the first one's tunnel.
    let prefix = (IPV6_2.to_bits() >> 64) as u64;
    lab.upf
        .route_ipv6(teid(0x77), prefix, GNB_A, teid(0xa1), qfi(5));
    wait_until("an address of the prefix", || {
        seat.link().global_ipv6().expect("table") == Some(IPV6_1)
    });
    let target = IPV6_2.to_string();
    let ping = ["-c", "1", "-W", "1", &target];
    // It fails: nobody answers.
    let _ = tool::run(lab.ns_ue1.command("ping").args(ping));
    wait_until("a drop", || {
        let report = lab.gnb_a.handle().ue(id).expect("attached");
        report.counters.drops.get(DropReason::ForeignDestination) == 1
    });
}
