//! Two daemons joined by shared memory with buffers of 1 KiB: what is larger arrives in pieces.

use sluice::cli::args::CtlQuery;

use super::kit::*;

/// Where the second daemon's interface is.
const FAR_MAC: &str = "02:00:00:00:00:77";

#[test]
fn packets_in_several_segments_are_joined_or_dropped_by_name() {
    let Some(lab) = Lab::with_mtu("memif", 9000) else {
        return;
    };
    let socket = lab.path("memif.sock");
    let memif = |number: u8, role: &str, mac: &str| {
        let socket = socket.display();
        format!(
            "name: n6, mac: '{mac}', device: 'net_memif{number},role={role},id=0,socket={socket},\
             socket-abstract=no,rsize=10,bsize=1024'"
        )
    };
    let mut near = Config::new();
    near.dpdk = "memory_mb: 192, mbufs: 8191".to_owned();
    near.ports[0].push_str(", mtu: 9000");
    near.ports[1] = memif(0, "server", "02:00:00:00:00:66") + ", mtu: 9000";
    near.interfaces[1].push_str(&format!(
        ", neighbours: {{address: {SERVER}, mac: '{FAR_MAC}'}}"
    ));
    let near = Daemon::start(&lab, &near);
    let mut far = Config::new();
    far.n4 = "listen: 127.0.0.1, peers: 127.0.0.2".to_owned();
    far.ports[0] = "name: n3, device: 'net_null0,no-rx=1'".to_owned();
    far.ports[1] = memif(1, "client", FAR_MAC);
    far.interfaces[1] = far.interfaces[1].replace("198.18.6.1/24", "198.18.6.9/24");
    let far = Daemon::start_as(&lab, "far", &far);
    eventually("the memif is connected", || {
        [&near, &far]
            .iter()
            .all(|d| d.ask(&CtlQuery::Ports)["ports"][1]["link"] == "up")
    });
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach_with(&lab, &smf, gnb.handle(), 0, 8956);
    // Nobody answers; what matters is what the second daemon makes of them.
    assert_eq!(
        ue.ping_in_vain(&lab, 2, 1500)
            + ue.ping_in_vain(&lab, 4, 900)
            + ue.ping_in_vain(&lab, 3, 6000),
        0
    );
    // A frame of 1514 bytes takes two buffers of the ring, and is read as the one packet that it
    // is: otherwise its total length would be a lie (`ipv4_length`).
    eventually("whole packets, and those in two pieces, are read", || {
        far.dropped("unknown_ue") == 2 + 4
    });
    assert_eq!(far.dropped("ipv4_length"), 0);
    eventually("those in pieces are dropped", || {
        far.dropped("not_linear") == 3
    });
}
