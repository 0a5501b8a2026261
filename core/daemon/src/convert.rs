//! What the functions of the core are told of the configuration.

use crate::config::{Account, CoreConfig, Network, PolicySection, Sessions};
use sluice_ids::{Plmn, Tac, Tai};
use sluice_n2::PlmnSlices;
use sluice_program::config::fields::At;
use sluice_security::suci::HomeKey;
use sluice_security::{Preference, Sqn};
use sluice_smf::{NetworkConfig, UpfConfig};
use sluice_udr::{DataNetwork, Provision, Subscriber};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// For the AMF; none if its identity could not be read, which checked files rule out.
pub fn amf(config: &CoreConfig) -> Option<sluice_amf::Config> {
    let plmns = config.plmns.iter().map(|one| PlmnSlices {
        plmn: one.plmn.value,
        slices: one.slices.iter().map(|at| at.value).collect(),
    });
    let areas = config.areas.iter().map(|at| at.value).collect();
    let amf = sluice_amf::Config::new(config.amf.guami?, plmns.collect(), areas);
    Some(sluice_amf::Config {
        name: config.amf.name.clone(),
        capacity: config.amf.capacity,
        equivalent_plmns: config.equivalent_plmns.iter().map(|at| at.value).collect(),
        preference: Preference {
            ciphering: config.security.ciphering.clone(),
            integrity: config.security.integrity.clone(),
            mandatory: config.security.mandatory_algorithms,
        },
        ask_imeisv: config.security.ask_imeisv,
        ims_voice: config.ims_voice,
        network_name: config.names.names.clone(),
        time_zone_quarters: config.names.time_zone_quarters,
        t3512_s: config.timers.t3512_s,
        t3502_s: config.timers.t3502_s,
        back_off: config.overload.back_off,
        unauthenticated: config.overload.unauthenticated,
        default_smf: config.nrf.default_smf,
        ..amf
    })
}

/// For the SMF; none if its address could not be read, which checked files rule out.
pub fn smf(config: &CoreConfig, started_unix_s: u64) -> Option<sluice_smf::Config> {
    let sessions = config.sessions.as_ref()?;
    let home = config.plmns.first().map(|one| one.plmn.value);
    let area = |at: &At<(Option<Plmn>, Tac)>| {
        let (plmn, tac) = at.value;
        let plmn = plmn.or(home);
        plmn.map(|plmn| Tai { plmn, tac })
    };
    let upfs = sessions.upfs.iter().map(|upf| UpfConfig {
        n4: upf.n4.value,
        access: upf.access.clone(),
        n3: upf.n3,
        n3_addresses: upf.n3_addresses,
        pools: upf.pools.iter().map(|at| at.value).collect(),
        instance_coding: upf.instance_coding,
        networks: upf.networks.iter().map(|at| at.value).collect(),
        slices: upf.slices.iter().map(|at| at.value).collect(),
        areas: upf.areas.iter().filter_map(area).collect(),
        guaranteed_bps: upf.guaranteed_bps,
    });
    let networks = sessions.networks.iter().map(|network| NetworkConfig {
        instance: network.instance.clone(),
        families: network.families,
        pools: network.pools.iter().map(|at| at.value).collect(),
        settings: network.settings.clone(),
        charging_octets: network.charging_octets,
        guaranteed_bps: network.guaranteed_bps,
        up_security: network.up_security,
        ..NetworkConfig::new(network.dnn.value)
    });
    Some(sluice_smf::Config {
        n4: SocketAddr::V4(sessions.n4?.value).ip(),
        started_unix_s,
        upfs: upfs.collect(),
        networks: networks.collect(),
        upf_return_ms: u64::from(sessions.upf_return_s) * 1_000,
        back_off_s: (
            config.overload.back_off.least_s,
            config.overload.back_off.most_s,
        ),
    })
}

/// For the NRF.
pub fn nrf(config: &CoreConfig) -> sluice_nrf::Config {
    sluice_nrf::Config {
        heart_beat_s: config.nrf.heart_beat_s,
        validity_s: config.nrf.validity_s,
    }
}

/// For the PCF.
pub fn pcf(sessions: &Sessions) -> sluice_pcf::Config {
    let policies = sessions.policies.iter().map(PolicySection::policy);
    let access = sessions.access_policies.iter();
    let access = access.map(|one| one.value.clone());
    sluice_pcf::Config {
        policies: policies.collect(),
        access_policies: access.collect(),
    }
}

/// For the UDM, with the keys that were read.
pub fn udm(config: &CoreConfig, home_keys: BTreeMap<u8, HomeKey>) -> sluice_udm::Config {
    sluice_udm::Config {
        home_keys,
        null_scheme: config.security.null_scheme,
    }
}

/// The beginning of 2026: sequence numbers of subscribers whose last one is stored nowhere count from
/// it, so that time alone tells them, and a SIM that is new takes them.
const SQN_BEGIN_UNIX_S: i64 = 1_767_225_600;

/// For the UDR.
pub fn subscriber(account: &Account) -> Provision {
    let slices = account.slices.iter().enumerate();
    let subscriber = Subscriber {
        credentials: account.credentials.clone(),
        sqn: Sqn::default(),
        ambr_bps: account.ambr_bps,
        slices: slices.map(|(at, slice)| (*slice, at == 0)).collect(),
        networks: account.networks.iter().map(network).collect(),
    };
    Provision {
        subscriber,
        difference_s: -SQN_BEGIN_UNIX_S,
        is_barred: false,
    }
}

fn network(network: &Network) -> DataNetwork {
    DataNetwork {
        types: network.types,
        default_type: network.default_type,
        five_qi: network.five_qi,
        priority: network.priority,
        ipv4: network.ipv4,
        ipv6_prefix: network.ipv6_prefix,
        up_security: network.up_security,
        ..DataNetwork::new(network.slice.value, network.dnn.value, network.ambr_bps)
    }
}
