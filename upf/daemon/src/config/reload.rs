//! Keys of upf.yaml that change while the UPF runs, told apart from those that need a restart.

use super::{At, Interface, Pool, Prefix, TunnelKind, UpfConfig};
use core::net::{IpAddr, Ipv4Addr};
use sluice_session::Changeable;
use sluice_session::network::Side;

impl UpfConfig {
    /// Sections in which `new` differs in something that needs a restart. What may differ: of interfaces the gateway,
    /// routes, neighbours, proxies, peers, checksums and clamps; Router Advertisements, DSCP; pools of network instances
    /// that are there, predefined rules and applications.
    pub fn needs_restart(&self, new: &Self) -> Vec<&'static str> {
        let sections = [
            ("n4", self.n4.says(&new.n4)),
            ("dpdk", self.dpdk == new.dpdk),
            ("ports", self.ports == new.ports),
            ("interfaces", self.has_interfaces_of(new)),
            ("pools", self.instances() == new.instances()),
            ("nat", self.nat == new.nat),
            ("echo", self.echo == new.echo),
            ("shaping", self.shaping == new.shaping),
            ("workers", self.workers == new.workers),
            ("limits", self.limits == new.limits),
            ("metrics", self.metrics.listen == new.metrics.listen),
            ("control_socket", self.control_socket == new.control_socket),
            ("log", self.log == new.log),
        ];
        let differs = sections.into_iter().filter(|(_, is_same)| !is_same);
        differs.map(|(name, _)| name).collect()
    }

    /// What the session machine has from now on in place of what it was told before.
    pub fn changeable(&self, new: &Self) -> Changeable {
        let is_kept = |pool: &&Pool| {
            let mut wider = new.pools.iter();
            wider.any(|other| {
                let (inner, outer) = (&pool.prefix.value, &other.prefix.value);
                let same = &pool.network_instance.value;
                outer.has_all_of(inner) && other.network_instance.value.eq_ignore_ascii_case(same)
            })
        };
        let gone = self.pools.iter().filter(|pool| !is_kept(pool));
        let gone = gone.filter_map(|pool| match pool.prefix.value {
            Prefix::V4(prefix) => Some((
                self.pool_instance(pool),
                prefix.base(),
                1 << (32 - u32::from(prefix.prefix_len())),
            )),
            Prefix::V6(_) => None,
        });
        Changeable {
            predefined: new.predefined_rules(),
            applications: new.configured_applications(),
            allocation: new.allocation(),
            gone: gone.collect(),
        }
    }

    fn has_interfaces_of(&self, new: &Self) -> bool {
        let mut pairs = self.interfaces.iter().zip(&new.interfaces);
        self.interfaces.len() == new.interfaces.len()
            && pairs.all(|(old, new)| {
                old.name == new.name
                    && old.port == new.port
                    && old.vlan == new.vlan
                    && old.addresses == new.addresses
                    && old.mtu == new.mtu
                    && tunnels(old).eq(tunnels(new))
                    && old.n6 == new.n6
                    && n4(old).eq(n4(new))
            })
    }
}

type Tunnelled = (TunnelKind, Vec<At<IpAddr>>, Option<At<String>>, Side);

/// Tunnels but for their lines.
fn tunnels(of: &Interface) -> impl Iterator<Item = Tunnelled> {
    let all = of.tunnels.iter();
    all.map(|t| {
        (
            t.kind,
            t.addresses.clone(),
            t.network_instance.clone(),
            t.side,
        )
    })
}

/// Addresses for N4 but for their lines.
fn n4(of: &Interface) -> impl Iterator<Item = Option<At<Ipv4Addr>>> {
    of.n4.iter().map(|n4| n4.address)
}
