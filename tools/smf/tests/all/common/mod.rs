//! Shared parts of the tests: plans, a UPF that keeps books, a simulated wire, captures.
#![allow(dead_code, reason = "every test uses another part")]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

pub mod net;
pub mod outline;
pub mod pcap;
pub mod recorded;
pub mod upf;

use std::net::Ipv4Addr;
use std::sync::Arc;

use sluice_smf_emulator::{
    Dialect, Flow, FlowPackets, Imsi, Network, SessionPlan, Tunnel, UplinkTeid,
};
use sluice_wire::ids::{Precedence, Qfi, Teid};
use sluice_wire::pfcp::value::{BitRate, SNssai};

pub const SMF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
pub const UPF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// The UPF's address on N3.
pub const N3: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 2);
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

pub fn tunnel(teid: u32, ipv4: Ipv4Addr) -> Tunnel {
    Tunnel::v4(Teid::new(teid).unwrap(), ipv4)
}

pub fn gnb(n: u8) -> Tunnel {
    tunnel(
        0x6000_0000 + u32::from(n),
        Ipv4Addr::new(192, 168, 3, 100 + n),
    )
}

/// A flow with a guaranteed rate to one host of the data network.
pub fn flow() -> Flow {
    let rate = |kbps| BitRate {
        uplink_kbps: kbps,
        downlink_kbps: kbps,
    };
    Flow {
        packets: FlowPackets::Described("permit out ip from 198.18.6.2/32 to assigned".into()),
        precedence: Precedence(100),
        qfi: Qfi::new(2).unwrap(),
        mbr: Some(rate(1000)),
        gbr: Some(rate(500)),
    }
}

/// A measured session with AMBR and IMSI, whose TEID is chosen as the dialect does.
pub fn plan(dialect: Dialect, n: u8) -> SessionPlan {
    let network = Network::new("internet", "access.lab", "core.lab").unwrap();
    let [a, b, c, _] = UE.octets();
    let mut plan = SessionPlan::new(
        Ipv4Addr::new(a, b, c, n),
        Arc::new(network),
        Qfi::new(9).unwrap(),
    );
    plan.slice = SNssai {
        sst: 1,
        sd: Some(0x01_0203),
    };
    plan.imsi = Some(Imsi::new("001010000000001").unwrap());
    plan.ambr = Some(BitRate {
        uplink_kbps: 100_000,
        downlink_kbps: 200_000,
    });
    plan.measured = true;
    if dialect.chooses_teids() {
        plan.uplink = UplinkTeid::ChosenByCp(tunnel(0x5000_0000 + u32::from(n), N3));
    }
    plan
}
