//! 5G core in process: the network functions with subscribers, and the SIMs, UEs and gNBs that they serve.

use std::collections::BTreeMap;

use sluice_amf::{Amf, Config};
use sluice_ausf::Ausf;
use sluice_ids::{AmfId, Dnn, Guami, Plmn, Snssai, Supi, Tac, Tai};
use sluice_n2::{NgSetupRequest, PlmnSlices, SupportedArea};
use sluice_sbi::Random;
use sluice_security::suci::HomeKey;
use sluice_security::{Credentials, K, Opc, Sqn};
use sluice_udm::Udm;
use sluice_udr::{DataNetwork, Subscriber, Udr};
use sluice_ue::{Gnb, Sim, Ue};
use sluice_wiring::{Core, Home};

use crate::apart;

/// Octets of the keys of all SIMs, as hex digits in scenarios.
pub const K_HEX: &str = "46464646464646464646464646464646";
pub const OPC_HEX: &str = "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

pub fn plmn() -> Plmn {
    Plmn::new("001", "01").expect("digits")
}

pub fn tai() -> Tai {
    Tai {
        plmn: plmn(),
        tac: Tac([0, 0, 1]),
    }
}

pub fn slice(sst: u8) -> Snssai {
    Snssai::new(sst, None)
}

pub fn k() -> K {
    K::new([0x46; 16])
}

pub fn opc() -> Opc {
    Opc::new([0xcd; 16])
}

/// The credentials that SIMs have.
pub fn credentials() -> Credentials {
    Credentials::milenage(k(), opc())
}

pub fn home_key_a() -> HomeKey {
    HomeKey::profile_a([0x77; 32])
}

pub fn home_key_b() -> HomeKey {
    HomeKey::profile_b([0x11; 32]).expect("a scalar")
}

pub fn msin(number: u32) -> String {
    format!("{number:010}")
}

pub fn supi(number: u32) -> Supi {
    Supi::from_msin(plmn(), &msin(number)).expect("digits")
}

pub fn dnn(name: &str) -> Dnn {
    Dnn::new(name).expect("a name")
}

fn offered(tai: Tai, slices: &[Snssai]) -> Vec<PlmnSlices> {
    vec![PlmnSlices {
        plmn: tai.plmn,
        slices: slices.to_vec(),
    }]
}

/// An AMF of [`plmn`] with these slices.
pub fn amf(slices: &[Snssai]) -> Config {
    let guami = Guami {
        plmn: plmn(),
        amf: AmfId::new(1, 1, 1).expect("small"),
    };
    Config::new(guami, offered(tai(), slices), vec![tai()])
}

/// NG Setup of a gNB.
pub fn setup_of(id: u32, tai: Tai, slices: &[Snssai]) -> NgSetupRequest {
    NgSetupRequest {
        gnb: sluice_n2::Gnb {
            plmn: tai.plmn,
            id,
            bits: 24,
        },
        name: Some(format!("gnb-{id}")),
        areas: vec![SupportedArea {
            tac: tai.tac,
            plmns: offered(tai, slices),
        }],
        retains_ues: false,
    }
}

/// A gNB of this identity, where the core is.
pub fn gnb(id: u32, slices: &[Snssai]) -> Gnb {
    Gnb::new(setup_of(id, tai(), slices), tai())
}

/// A SIM of a subscriber.
pub fn sim(number: u32) -> Sim {
    Sim::new(plmn(), &msin(number), &k(), &opc())
}

/// A UE of a subscriber.
pub fn ue(number: u32) -> Ue {
    Ue::new(sim(number), plmn()).expect("capabilities")
}

/// A subscriber who may use a slice, and these data networks of it.
pub fn subscriber_of(slice: Snssai, networks: &[&str]) -> Subscriber {
    let ambr_bps = (200_000_000, 100_000_000);
    let networks = networks.iter();
    Subscriber {
        credentials: credentials(),
        sqn: Sqn::default(),
        ambr_bps: (1_000_000_000, 500_000_000),
        slices: vec![(slice, true)],
        networks: networks
            .map(|name| DataNetwork::new(slice, dnn(name), ambr_bps))
            .collect(),
    }
}

/// The network functions, with subscribers of the numbers 1 to `subscribers`; `random` gives the AMF its random numbers,
/// and then the UDM.
pub fn functions(
    config: Config,
    null_scheme: bool,
    subscribers: (u32, &Subscriber),
    random: impl FnMut() -> Box<dyn Random>,
) -> Core {
    let parts = Parts::new(config, null_scheme, subscribers, random);
    apart::with(parts.core, parts.home, parts.ausf, parts.udm)
}

/// A core, and the functions of it that may be another host's.
pub struct Parts {
    /// With neither AUSF nor UDM.
    pub core: Core,
    pub home: Home,
    pub ausf: Ausf,
    pub udm: Udm,
}

impl Parts {
    /// As [`functions`] puts them together.
    pub fn new(
        config: Config,
        null_scheme: bool,
        (subscribers, subscriber): (u32, &Subscriber),
        mut random: impl FnMut() -> Box<dyn Random>,
    ) -> Self {
        let home = sluice_wiring::home_of(config.guami, &config.plmns);
        let amf = Amf::new(config, random()).expect("a sound configuration");
        let udm = sluice_udm::Config {
            home_keys: BTreeMap::from([(1, home_key_a()), (2, home_key_b())]),
            null_scheme,
        };
        let mut udr = Udr::default();
        for number in 1..=subscribers {
            assert!(udr.insert(supi(number), subscriber.clone()));
        }
        Self {
            core: Core::new(amf, udr),
            home,
            ausf: Ausf::default(),
            udm: Udm::new(udm, random()),
        }
    }
}

/// A sequence that looks random and is the same in each run.
pub fn sequence(mut state: u64) -> impl FnMut(&mut [u8]) {
    move |octets: &mut [u8]| {
        for octet in octets {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *octet = (mixed >> 40) as u8;
        }
    }
}
