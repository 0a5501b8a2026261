//! Two data networks whose UEs have the same addresses: a UE in each has the same address at the same time, and packets go
//! to each its own.

use std::net::Ipv4Addr;
use std::sync::Arc;

use sluice_host::netns::{Netns, Ns};
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_host::veth::{Veth, VethEnd};
use sluice_ran::{FTeid, GnbHandle, UeConfig};
use sluice_smf_emulator::{Established, Imsi, Network, SmfHandle, Tunnel};
use sluice_wire::ids::{Qfi, Teid};

use super::kit::*;

/// The second data network.
const IMS_UPF: Ipv4Addr = Ipv4Addr::new(198, 18, 7, 1);
const IMS_SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 7, 2);

/// A UE with the address of all, in a namespace of its own.
fn attach(ns: &Ns, smf: &SmfHandle, gnb: &GnbHandle, instance: &str, number: u32) -> Established {
    let mut plan = Ue::plan(gnb.n3(), 0);
    plan.network = Arc::new(Network::new(instance, "access", instance).unwrap());
    plan.imsi = Imsi::new(&format!("00101{number:010}")).ok();
    let teid = Teid::new(0x000a_0001 + number).unwrap();
    plan.gnb = Some(Tunnel {
        teid,
        address: gnb.n3(),
    });
    let addresses = plan.ue;
    let session = smf.establish(plan).unwrap();
    let config = TunConfig {
        name: "ue".to_owned(),
        address: Some(ue_address(0)),
        mtu: 1400,
        route: TunRoute::Default,
    };
    let uplink = FTeid {
        address: session.uplink.address,
        teid: session.uplink.teid,
    };
    gnb.attach(UeConfig {
        addresses,
        uplink,
        downlink_teid: teid,
        qfi: Qfi::new(9).unwrap(),
        tun: Tun::create(ns, &config).unwrap(),
        rules: Default::default(),
        has_framed_routes: false,
    })
    .unwrap();
    session
}

/// Answers to three pings at once.
fn answers(ns: &Ns, to: Ipv4Addr, wait_s: u32) -> usize {
    let mut command = ns.command("ping");
    command.args(["-i5", "-l3", "-c3", &format!("-W{wait_s}"), &to.to_string()]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    text.matches("bytes from").count()
}

#[test]
fn the_same_address_in_two_network_instances_is_two_ues() {
    let Some(lab) = Lab::new("twice") else { return };
    let [ims, other_ue] = ["ims", "ue2"].map(|n| Netns::create(&format!("twice-{n}")).unwrap());
    let near = VethEnd::bare(&ims, "n6").with_address(IMS_SERVER, 24);
    let _link = Veth::create(&near, &VethEnd::bare(&lab.upf, "m6"), 1500).unwrap();
    let route = format!("route add 10.60.0.0/24 via {IMS_UPF} dev n6\n");
    ims.ip_batch(&route).unwrap();
    let mut config = Config::new();
    config
        .ports
        .push("name: m6, device: 'net_af_packet2,iface=m6'".to_owned());
    config.interfaces.push(format!(
        "name: m6, port: m6, addresses: {IMS_UPF}/24, gateway: {IMS_SERVER}, \
         n6: {{network_instance: ims}}"
    ));
    config
        .pools
        .push("network_instance: ims, prefix: 10.60.0.0/24".to_owned());
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let handle = gnb.handle();
    let first = attach(&lab.ue, &smf, handle, "core", 0);
    let second = attach(&other_ue, &smf, handle, "ims", 1);
    assert_eq!(answers(&lab.ue, SERVER, 10), 3);
    assert_eq!(answers(&other_ue, IMS_SERVER, 10), 3);
    // A server reaches the UE of its own network, and a UE the servers of its own alone.
    let ue = ue_address(0);
    assert_eq!(answers(&lab.dn, ue, 10), 3);
    assert_eq!(answers(&other_ue, SERVER, 1), 0);
    // Each was charged its own: three pings of its own and the answers, and the same of the server's.
    let octets = |session: &Established| {
        let last = smf.delete(session.cp_seid).unwrap();
        let all = last.urrs.iter().map(|urr| urr.volume.total.unwrap_or(0));
        all.collect::<Vec<_>>()
    };
    assert_eq!(octets(&first)[0], 12 * 84);
    // The other one goes on, under the address that the first has left.
    assert_eq!(answers(&ims, ue, 10), 3);
    assert_eq!(answers(&lab.dn, ue, 1), 0);
    assert_eq!(octets(&second)[0] % 84, 0);
    assert_eq!(daemon.ledger()["balances"], true);
}
