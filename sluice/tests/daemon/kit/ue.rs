//! A UE: its session at the SMF, its tunnel at the gNB, its device in the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_host::link::LinkCounters;
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_ran::{FTeid, GnbHandle, HandoverTarget, UeConfig, UeId};
use sluice_smf_emulator::{Established, Imsi, Network, SessionPlan, SmfHandle, Tunnel};
use sluice_wire::ids::{Qfi, Seid, Teid};

use super::{Lab, SERVER, SOON, ue_address};

/// With its tunnel, a packet of it fits into a frame of N3.
const MTU: u16 = 1400;

/// A UE with a session through which packets flow.
pub struct Ue {
    pub address: Ipv4Addr,
    pub session: Established,
    tun: sluice_host::link::Link,
    id: UeId,
    number: u8,
}

impl Ue {
    /// Establishes the session of the UE with this number and attaches it.
    pub fn attach(lab: &Lab, smf: &SmfHandle, gnb: &GnbHandle, number: u8) -> Self {
        Self::attach_with(lab, smf, gnb, number, MTU)
    }

    /// The same with another MTU of its device.
    pub fn attach_with(lab: &Lab, smf: &SmfHandle, gnb: &GnbHandle, number: u8, mtu: u16) -> Self {
        Self::attach_planned(lab, smf, gnb, number, mtu, Self::plan(gnb.n3(), number))
    }

    /// The same with another plan of its session.
    pub fn attach_planned(
        lab: &Lab,
        smf: &SmfHandle,
        gnb: &GnbHandle,
        number: u8,
        mtu: u16,
        plan: SessionPlan,
    ) -> Self {
        let has_framed_routes = !plan.framed_routes.is_empty() || plan.ipv6_prefix_bits < 64;
        let addresses = plan.ue;
        let session = smf.establish(plan).unwrap();
        let address = ue_address(number);
        let name = format!("ue{number}");
        let route = TunRoute::BySource {
            table: 10 + u32::from(number),
        };
        let config = TunConfig {
            name,
            address: Some(address),
            mtu,
            route,
        };
        let tun = Tun::create(&lab.ue, &config).unwrap();
        let link = tun.link().clone();
        if let Some(ipv6) = addresses.ipv6() {
            start_ipv6(lab, &link, number, ipv6);
        }
        let id = gnb
            .attach(UeConfig {
                addresses,
                uplink: endpoint(session.uplink),
                downlink_teid: downlink(gnb.n3(), number).teid,
                qfi: qfi(),
                rules: Default::default(),
                tun,
                has_framed_routes,
            })
            .unwrap();
        Self {
            address,
            session,
            tun: link,
            id,
            number,
        }
    }

    /// It goes to another gNB.
    pub fn hand_over(&self, from: &GnbHandle, to: &GnbHandle, target: HandoverTarget) {
        from.hand_over(self.id, to, target).unwrap();
    }

    /// Has the gNB send its packets to another tunnel.
    pub fn set_uplink(&self, gnb: &GnbHandle, to: Tunnel) {
        gnb.set_uplink(self.id, endpoint(to)).unwrap();
    }

    /// The time to live of the server's answer to a ping.
    pub fn ttl_of_an_answer(&self, lab: &Lab) -> u8 {
        let mut command = lab.ue.command("ping");
        command.args(["-c1", "-W10", "-I", &self.address.to_string()]);
        let output = command.arg(SERVER.to_string()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let ttl = text.split("ttl=").nth(1).and_then(|t| t.split(' ').next());
        ttl.and_then(|t| t.parse().ok()).expect(&text)
    }

    /// Establishes its session anew, after the old one was lost.
    pub fn establish_again(&mut self, smf: &SmfHandle, gnb: &GnbHandle) {
        let plan = Self::plan(gnb.n3(), self.number);
        self.session = smf.establish(plan).unwrap();
        gnb.set_uplink(self.id, endpoint(self.session.uplink))
            .unwrap();
    }

    /// The session of the UE with this number: measured, its gNB's endpoint known.
    pub fn plan(gnb: impl Into<IpAddr>, number: u8) -> SessionPlan {
        let network = Network::new("internet", "access", "core").unwrap();
        let mut plan = SessionPlan::new(ue_address(number), Arc::new(network), qfi());
        plan.measured = true;
        plan.gnb = Some(downlink(gnb.into(), number));
        plan.imsi = Imsi::new(&format!("00101{number:010}")).ok();
        plan
    }

    /// The gNB's end of its tunnel.
    pub fn downlink(&self, gnb: &GnbHandle) -> Tunnel {
        downlink(gnb.n3(), self.number)
    }

    /// The UP SEID as `sluice ctl` takes it.
    pub fn seid(&self) -> String {
        format!("{:#x}", self.session.up_seid.0)
    }

    /// The CP SEID, by which the SMF calls the session.
    pub fn cp_seid(&self) -> Seid {
        self.session.cp_seid
    }

    /// Pings the server with packets of `bytes` in all, header included; says how many answers
    /// came.
    pub fn ping(&self, lab: &Lab, count: u32, bytes: u16) -> u32 {
        // All at once: behind its last packet `ping` waits for twice the longest time so far, or for
        // the interval, and a machine that is away for longer would make it count a loss.
        let all = count.to_string();
        self.ping_for(lab, count, bytes, &["-i5", "-W10", "-l", &all])
    }

    /// Pings 20 ms apart; says how many answers its device has got in the end.
    pub fn ping_for_a_while(&self, lab: &Lab, count: u32, bytes: u16) -> u32 {
        let before = self.counters().rx_packets;
        self.ping_for(lab, count, bytes, &["-i0.02", "-W10"]);
        let mut came = 0;
        let mut is_all = || {
            came = (self.counters().rx_packets - before) as u32;
            came >= count
        };
        let until = Instant::now() + SOON;
        while !is_all() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        came
    }

    /// Pings that nobody is expected to answer; says how many answers came all the same.
    pub fn ping_in_vain(&self, lab: &Lab, count: u32, bytes: u16) -> u32 {
        self.ping_for(lab, count, bytes, &["-i0.02", "-W1"])
    }

    fn ping_for(&self, lab: &Lab, count: u32, bytes: u16, times: &[&str]) -> u32 {
        let (count, payload) = (count.to_string(), (bytes - 28).to_string());
        let mut command = lab.ue.command("ping");
        command.args(["-q", "-M", "do"]).args(times);
        command.args(["-c", &count, "-s", &payload]);
        command.args(["-I", &self.address.to_string()]);
        let output = command.arg(SERVER.to_string()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let received = text
            .split(", ")
            .find_map(|part| part.strip_suffix(" received"));
        let Some(received) = received.and_then(|n| n.parse().ok()) else {
            panic!("ping: {text}{}", String::from_utf8_lossy(&output.stderr));
        };
        received
    }

    /// The kernel's counters of its device: `tx` is uplink.
    pub fn counters(&self) -> LinkCounters {
        self.tun.counters().unwrap()
    }
}

/// Its address is known from the SMF; all that comes from it leaves by its device.
fn start_ipv6(lab: &Lab, link: &sluice_host::link::Link, number: u8, address: Ipv6Addr) {
    link.add_ipv6_address(address, 128).unwrap();
    let (name, table) = (link.name(), 10 + u32::from(number));
    let lines = format!(
        "-6 route add default dev {name} table {table}\n-6 rule add from {address} lookup {table}\n"
    );
    lab.ue.ip_batch(&lines).unwrap();
}

fn downlink(gnb: IpAddr, number: u8) -> Tunnel {
    let teid = Teid::new(0x000a_0001 + u32::from(number)).unwrap();
    Tunnel { teid, address: gnb }
}

/// A tunnel as gNBs have it.
pub fn endpoint(tunnel: Tunnel) -> FTeid {
    FTeid {
        address: tunnel.address,
        teid: tunnel.teid,
    }
}

fn qfi() -> Qfi {
    Qfi::new(9).unwrap()
}
