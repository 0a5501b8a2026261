//! Packets that are too large for N3 with their tunnel: cut, joined, or told.

use sluice_host::link::Link;
use sluice_host::netns::Ns;
use sluice_smf_emulator::UrrUsage;

use super::kit::*;

/// What N3 leaves for a packet of a UE: 1500 without IPv4, UDP, GTP-U and PDU Session Container.
const FITS: u64 = 1456;

#[test]
fn what_is_too_large_for_n3_is_cut_and_joined_or_the_sender_is_told() {
    let Some(lab) = Lab::new("sizes") else { return };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach_with(&lab, &smf, gnb.handle(), 0, 1500);
    let (from, server) = (ue.address.to_string(), SERVER.to_string());
    // The gNB's kernel cuts the tunnel packets, and the UPF joins them. The answers may be cut, and the
    // UPF does, within the tunnel.
    let cut = ping(&lab.ue, &["-M", "dont", "-s", "1472", "-I", &from, &server]);
    assert!(cut.contains(" 3 received"), "{cut}");
    assert_eq!(daemon.ledger()["merged"], 3);
    // What may be cut passes to the UE as well, and its answers come back.
    let cut = ping(&lab.dn, &["-M", "dont", "-s", "1472", &from]);
    assert!(cut.contains(" 3 received"), "{cut}");
    assert_eq!(daemon.ledger()["dropped_total"], 0);
    // What may not is answered with the size that does (RFC 1191), which the kernel believes.
    let told = ping(&lab.dn, &["-M", "do", "-s", "1472", &from]);
    assert!(told.contains(&format!("mtu = {FITS}")), "{told}");
    assert!(told.contains(&format!("From {N6_UPF}")), "{told}");
    assert!(daemon.dropped("too_big") >= 1);
    let payload = (FITS - 28).to_string();
    let whole = ping(&lab.dn, &["-M", "do", "-s", &payload, &from]);
    assert!(whole.contains(" 3 received"), "{whole}");
    // A packet counts once, cut or not, and what was refused does not count.
    let usage = smf.delete(ue.cp_seid()).unwrap();
    let traffic = usage.urrs.iter().map(UrrUsage::traffic).next().unwrap();
    let bytes = 6 * 1500 + 3 * FITS;
    assert_eq!(
        (traffic.uplink_octets, traffic.downlink_octets),
        (bytes, bytes)
    );
}

#[test]
fn many_fragments_of_a_tunnel_packet_come_by_a_packet_socket_as_they_are() {
    for mtu in [1400, 576, 128] {
        let Some(lab) = Lab::new(&format!("pieces{mtu}")) else {
            return;
        };
        let mut config = Config::new();
        // Two workers and two queues: pieces of a datagram must not be dealt to both.
        config.more = "workers: {count: 2, share_cores: true}\n".to_owned();
        let daemon = Daemon::start(&lab, &config);
        let (smf, gnb) = (lab.smf(), lab.gnb());
        let ue = Ue::attach_with(&lab, &smf, gnb.handle(), 0, 1500);
        // Of the route, not of the link: a narrow veth would not take the UPF's frames either.
        let narrow = format!("route add {N3_UPF}/32 dev n3 mtu lock {mtu}\n");
        lab.gnb.ip_batch(&narrow).unwrap();
        assert_eq!(ue.ping(&lab, 5, 1500), 5, "{mtu}");
        let pieces = 1544u64.div_ceil((mtu - 20) / 8 * 8);
        assert_eq!(daemon.ledger()["merged"], 5 * (pieces - 1), "{mtu}");
        for reason in ["reassembly", "outer_fragment", "ipv4_length"] {
            assert_eq!(daemon.dropped(reason), 0, "{reason}");
        }
    }
}

#[test]
fn fragments_of_tunnel_packets_are_joined() {
    let Some(mut lab) = Lab::new("joined") else {
        return;
    };
    let mut config = Config::new();
    // A tap gives fragments as the kernel makes them.
    config.ports[0] = "name: n3, device: 'net_tap0,iface=tap3'".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let tap = Link::new(&lab.upf, "tap3").unwrap();
    tap.disable_ipv6().unwrap();
    tap.switch_offloads_off().unwrap();
    tap.add_address(N3_GNB, 24).unwrap();
    tap.up().unwrap();
    let smf = lab.smf();
    // The gNB sits beside the UPF, behind the kernel's end of the tap.
    std::mem::swap(&mut lab.gnb, &mut lab.upf);
    let gnb = lab.gnb();
    std::mem::swap(&mut lab.gnb, &mut lab.upf);
    let ue = Ue::attach_with(&lab, &smf, gnb.handle(), 0, 1500);
    assert_eq!(ue.ping(&lab, 2, 84), 2);
    assert_eq!(daemon.ledger()["merged"], 0);
    assert_eq!(ue.ping(&lab, 5, 1500), 5);
    // Five packets, of which each came in two pieces.
    assert_eq!(daemon.ledger()["merged"], 5);
    for reason in ["reassembly", "outer_fragment", "udp_checksum"] {
        assert_eq!(daemon.dropped(reason), 0, "{reason}");
    }
    let usage = smf.delete(ue.cp_seid()).unwrap();
    let traffic = usage.urrs.iter().map(UrrUsage::traffic).next().unwrap();
    assert_eq!(traffic.uplink_octets, 2 * 84 + 5 * 1500);
}

/// Three pings, and what was said of them.
fn ping(from: &Ns, arguments: &[&str]) -> String {
    let mut command = from.command("ping");
    command
        .args(["-c3", "-l3", "-i5", "-W", "10"])
        .args(arguments);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}
