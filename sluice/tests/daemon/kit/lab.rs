//! Namespaces and links; nothing but the daemon joins the UEs to the server.
//!
//! ```text
//!   ue              gnb                    upf                   dn
//!   [TUN] <- gNB -> [n3] ---- N3 veth ---- [n3]  [n6] -- veth -- [n6] kernel as server
//!                   smf [n4] -- N4 veth -- [n4]
//! ```

use std::net::{IpAddr, SocketAddrV4};
use std::path::PathBuf;

use sluice_host::env_check::{self, Need};
use sluice_host::netns::Netns;
use sluice_host::veth::{Veth, VethEnd};
use sluice_ran::{Gnb, GnbConfig};
use sluice_smf_emulator::{Dialect, Smf, SmfConfig};
use sluice_wire::pfcp;
use tempfile::TempDir;

use super::{N3_GNB, N3_GNB_V6, N4_SMFS, N4_UPF, N6_UPF, N6_UPF_V6, SERVER, SERVER_V6};

/// All of it; links come before namespaces, so that they go first.
pub struct Lab {
    pub n3: Veth,
    pub n4: Veth,
    pub n6: Veth,
    pub ue: Netns,
    pub gnb: Netns,
    pub upf: Netns,
    pub dn: Netns,
    pub smf: Netns,
    dir: TempDir,
}

impl Lab {
    /// A laboratory of links with an MTU of 1500; `None`, and a word about it, where that cannot
    /// be. `label` is the test's own.
    pub fn new(label: &str) -> Option<Self> {
        Self::with_mtu(label, 1500)
    }

    /// The same with other links of user packets.
    pub fn with_mtu(label: &str, mtu: u16) -> Option<Self> {
        let tools = ["ip", "ethtool", "ping"].map(Need::Tool);
        let needs = [&[Need::NetworkAdmin, Need::Tun][..], &tools].concat();
        if let Some(lack) = env_check::missing(&needs).first() {
            println!("skipped: needs root ({lack})");
            return None;
        }
        let ns = |name: &str| Netns::create(&format!("{label}-{name}")).unwrap();
        let [ue, gnb, upf, dn, smf] = ["ue", "gnb", "upf", "dn", "smf"].map(ns);
        let far = |name| VethEnd::bare(&upf, name);
        let n3 = VethEnd::bare(&gnb, "n3").with_address(N3_GNB, 24);
        let n4 = VethEnd::bare(&smf, "n4").with_address(N4_SMFS[0], 24);
        let n6 = VethEnd::bare(&dn, "n6").with_address(SERVER, 24);
        let lab = Self {
            n3: Veth::create(&n3, &far("n3"), mtu).unwrap(),
            n4: Veth::create(&n4, &far("n4").with_address(N4_UPF, 24), 1500).unwrap(),
            n6: Veth::create(&n6, &far("n6"), mtu).unwrap(),
            dir: TempDir::with_prefix("sluice-daemon-").unwrap(),
            ue,
            gnb,
            upf,
            dn,
            smf,
        };
        for address in &N4_SMFS[1..] {
            lab.n4.a().add_address(*address, 24).unwrap();
        }
        let route = format!("route add 10.60.0.0/24 via {N6_UPF} dev n6\n");
        lab.dn.ip_batch(&route).unwrap();
        Some(lab)
    }

    /// The data network has IPv6, too, and a way to all UEs' prefixes.
    pub fn add_ipv6(&self) {
        self.n6.a().add_ipv6_address(SERVER_V6, 64).unwrap();
        let route = format!("-6 route add 2001:db8::/32 via {N6_UPF_V6} dev n6\n");
        self.dn.ip_batch(&route).unwrap();
    }

    /// The gNB has an IPv6 address on N3, too.
    pub fn add_ipv6_on_n3(&self) {
        self.n3.a().add_ipv6_address(N3_GNB_V6, 64).unwrap();
    }

    /// A path for a file of the test.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What [`Lab::smf_at`] starts for the SMF with this number.
    pub fn smf_config(&self, number: usize) -> SmfConfig {
        let at = |address| SocketAddrV4::new(address, pfcp::PORT);
        let mut config = SmfConfig::new(Dialect::Ts, &self.smf, at(N4_SMFS[number]), at(N4_UPF));
        (config.t1_ms, config.n1, config.heartbeat_interval_ms) = (500, 5, 500);
        config
    }

    /// Starts an SMF; it has no association yet.
    pub fn smf_at(&self, number: usize) -> Smf {
        Smf::start(&self.smf_config(number)).unwrap()
    }

    /// Starts the first SMF and associates it with the daemon.
    pub fn smf(&self) -> Smf {
        self.smf_of(Dialect::Ts)
    }

    /// The same of another kind.
    pub fn smf_of(&self, dialect: Dialect) -> Smf {
        let mut config = self.smf_config(0);
        config.dialect = dialect;
        let smf = Smf::start(&config).unwrap();
        smf.associate().unwrap();
        smf
    }

    /// Starts the gNB.
    pub fn gnb(&self) -> Gnb {
        self.gnb_at("gnb", N3_GNB.into())
    }

    /// The same with another name at another address.
    pub fn gnb_at(&self, name: &str, n3: IpAddr) -> Gnb {
        let mut config = GnbConfig::new(name, &self.gnb, n3);
        config.largest_pdu_bytes = 9000;
        Gnb::start(&config).unwrap()
    }
}
