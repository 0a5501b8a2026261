//! The differential test's world as configuration of the control core and the session machine.

use crate::world;
use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_datapath::forward::marking::DscpByQfi;
use sluice_datapath::forward::mss_clamp::MssClamp;
use sluice_datapath::lookup::layout::{InstanceId, Pool};
use sluice_datapath::nat::pool::{Filtering, NatPool, NatPools, NatTimeouts};
use sluice_datapath::session::token_bucket::{Lead, Shaping};
use sluice_datapath::tables::{Prefix, PrefixIpv6};
use sluice_port::PortId;
use sluice_session::network::{Side as NodeSide, TunnelAddresses};
use sluice_session::{
    AllocationPool, Application, ConfiguredApplications, PoolAddresses, PredefinedRule,
    PredefinedRules,
};
use sluice_twin::{AddressPool, Link, Side, TwinConfig};
use sluice_wire::eth::{MacAddr, VlanId};
use sluice_wire::pfcp::value::{BitRate, Gate, GateStatus};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What PDRs activate by name.
pub fn applications(world: &TwinConfig) -> ConfiguredApplications {
    let all = world.applications.iter().map(|(name, flows)| Application {
        name: (*name).to_owned(),
        flows: flows.clone(),
    });
    ConfiguredApplications::new(&all.collect::<Vec<_>>()).expect("sound applications")
}

pub fn predefined(world: &TwinConfig) -> PredefinedRules {
    let gate = |is_open| match is_open {
        true => Gate::Open,
        false => Gate::Closed,
    };
    let rules = world.predefined.iter().map(|rule| PredefinedRule {
        flows: rule.flows.clone(),
        gate: GateStatus {
            uplink: gate(rule.open.0),
            downlink: gate(rule.open.1),
        },
        mbr: rule.mbr.map(|(uplink_kbps, downlink_kbps)| BitRate {
            uplink_kbps,
            downlink_kbps,
        }),
        qfi: rule.qfi,
        ..PredefinedRule::named(&rule.name)
    });
    let rules: Vec<_> = rules.collect();
    PredefinedRules::new(&rules).expect("sound rules")
}

/// The world in the words of the control core.
pub fn control_config(world: &TwinConfig) -> ControlConfig {
    let pools = world::POOLS.map(|(name, base, prefix_len)| Pool {
        instance: instance_id(name),
        base,
        prefix_len,
    });
    ControlConfig {
        interfaces: world.links.iter().map(interface).collect(),
        pools: pools.to_vec(),
        dscp: dscp_of(world),
        shaping: world.shaping.map_or_else(Default::default, shaping),
        nat: nat_pools(world),
        ..ControlConfig::default()
    }
}

fn shaping(of: sluice_twin::Shaping) -> Shaping {
    Shaping {
        burst: Lead::from_ns(of.burst_ns),
        delay: Lead::from_ns(of.delay_ns),
        session_packets: of.packets as u32,
        worker_packets: 1024,
    }
}

pub fn nat_pools(world: &TwinConfig) -> NatPools {
    let pools = world.nats.iter().map(|nat| NatPool {
        inside: instance_id(&nat.place.instance),
        outside: InstanceId(255),
        prefixes: nat
            .addresses
            .iter()
            .filter_map(|a| Prefix::new(*a, 32))
            .collect(),
        first_port: nat.first_port,
        block_ports: nat.block_ports,
        blocks_per_ue: nat.blocks_per_ue as u8,
        filtering: match nat.filters {
            true => Filtering::AddressDependent,
            false => Filtering::EndpointIndependent,
        },
        hairpins: nat.hairpins,
        timeouts: NatTimeouts::default(),
    });
    NatPools::new(pools.collect()).expect("sound pools")
}

fn dscp_of(world: &TwinConfig) -> DscpByQfi {
    let mut dscp = DscpByQfi::default();
    for (qfi, value) in &world.dscp {
        assert!(dscp.set(*qfi, *value));
    }
    dscp
}

fn interface(link: &Link) -> InterfaceConfig {
    let tunnels = link.tunnels.iter().map(|t| Role::Tunnels {
        side: side(t.place.side),
        instance: t.place.instance.clone(),
        addresses: TunnelAddresses {
            ipv4: t.ipv4(),
            ipv6: t.ipv6(),
        },
    });
    let plain = link.plain.iter().map(|p| Role::Plain {
        side: side(p.side),
        instances: vec![p.instance.clone()],
        is_default: false,
        id: instance_id(&p.instance),
    });
    let prefix = |(base, len): (Ipv4Addr, u8)| Prefix::new(base, len).expect("a sound prefix");
    let prefix6 = |(base, len): (Ipv6Addr, u8)| PrefixIpv6::new(base, len).expect("a sound prefix");
    let allowed = link.allowed_peers.iter().copied();
    let name = format!("port {}", link.port);
    InterfaceConfig {
        vlan: link.vlan.and_then(VlanId::new),
        mtu_bytes: link.mtu_bytes,
        addresses: link.addresses.clone(),
        addresses_ipv6: link.addresses6.clone(),
        roles: tunnels.chain(plain).collect(),
        routes: link
            .routes
            .iter()
            .map(|(p, via)| (prefix(*p), *via))
            .collect(),
        routes_ipv6: link
            .routes6
            .iter()
            .map(|(p, via)| (prefix6(*p), *via))
            .collect(),
        neighbours: link
            .stations
            .iter()
            .map(|(address, mac)| (*address, MacAddr(*mac)))
            .collect(),
        verifies_udp: link.verifies_udp,
        mss_clamp: link.clamp_bytes.and_then(MssClamp::of_packets),
        allowed_peers: allowed
            .clone()
            .filter_map(|(base, len)| match base {
                IpAddr::V4(base) => Some(prefix((base, len))),
                IpAddr::V6(_) => None,
            })
            .collect(),
        allowed_peers_ipv6: allowed
            .filter_map(|(base, len)| match base {
                IpAddr::V4(_) => None,
                IpAddr::V6(base) => Some(prefix6((base, len))),
            })
            .collect(),
        ..InterfaceConfig::new(&name, PortId(link.port), MacAddr(link.mac))
    }
}

fn side(side: Side) -> NodeSide {
    match side {
        Side::Access => NodeSide::Access,
        Side::Core => NodeSide::Core,
        Side::SgiLan => NodeSide::SgiLan,
        Side::Control => NodeSide::Control,
    }
}

pub fn allocation(pool: &AddressPool) -> AllocationPool {
    let (base, prefix_len) = pool.prefix;
    AllocationPool {
        instance: instance_id(&pool.place.instance),
        addresses: match base {
            IpAddr::V4(base) => PoolAddresses::Ipv4 { base, prefix_len },
            IpAddr::V6(base) => PoolAddresses::Ipv6 { base, prefix_len },
        },
        identity: None,
        rest_s: pool.rest_s,
    }
}

pub fn instance_id(name: &str) -> InstanceId {
    InstanceId(if name == world::IMS { 2 } else { 1 })
}
