//! Section `pools`: UE address pools.

use super::fields::{At, Fields};
use super::ip::Prefix;
use super::kind::{Kind, boolean, name, network_instance, number};
use core::net::Ipv6Addr;

/// UE addresses of one network instance.
#[derive(Clone, PartialEq, Debug)]
pub struct Pool {
    /// The data network that reaches them.
    pub network_instance: At<String>,
    /// The addresses.
    pub prefix: At<Prefix>,
    /// What is given of them to UEs whose SMF asks for it.
    pub allocation: Option<Allocation>,
}

/// How addresses of a pool are given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// By what SMFs may ask for this pool.
    pub identity: Option<String>,
    /// Seconds that an address rests before it is given again.
    pub rest_s: u32,
}

impl Pool {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let network_instance = fields.required("network_instance", &network_instance());
        let prefix = fields.required("prefix", &pool_prefix());
        let allocate = fields.or("allocate", "false", &boolean());
        let identity = fields.optional("identity", &name());
        let rest_s = fields.or("rest_s", "120", &number(0, 86_400, "seconds"));
        let keys = [
            ("identity", identity.is_some()),
            ("rest_s", fields.has("rest_s")),
        ];
        for (key, _) in keys.into_iter().filter(|(_, set)| *set && !allocate.value) {
            let (line, path) = (fields.line(), fields.key(key));
            let what = "nothing of this pool is given by us";
            fields
                .report()
                .problem(line, path, what, "it beside allocate: true");
        }
        Some(Self {
            network_instance: network_instance?,
            prefix: prefix?,
            allocation: allocate.value.then(|| Allocation {
                identity: identity.map(|at| at.value),
                rest_s: rest_s.value,
            }),
        })
    }
}

/// Each IPv4 address has a line of 64 bytes: a /8 is 1 GiB, more is not meant. An IPv6 pool has at most as many
/// prefixes of UEs as that has addresses.
fn pool_prefix() -> Kind<Prefix> {
    let expected = "an IPv4 prefix of 8 to 32 bits without host bits, such as 10.45.0.0/16, \
                    or an IPv6 prefix of 40 to 64 bits";
    Kind::new(expected, |text| {
        let fits = |prefix: &Prefix| match prefix {
            Prefix::V4(prefix) => prefix.prefix_len() >= 8,
            Prefix::V6(prefix) => {
                (40..=64).contains(&prefix.prefix_len()) && is_global(prefix.base())
            }
        };
        text.parse().ok().filter(fits)
    })
}

/// Neither groups, nor link-local addresses, nor the prefix of the unspecified address.
fn is_global(base: Ipv6Addr) -> bool {
    !base.is_multicast() && !base.is_unicast_link_local() && base.to_bits() >> 64 != 0
}
