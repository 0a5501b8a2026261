//! Section `pools`: UE address pools.

use super::fields::{At, Fields};
use super::ipv4::Prefix4;
use super::kind::{Kind, network_instance};

/// UE addresses of one network instance.
#[derive(Clone, Debug)]
pub struct Pool {
    /// The data network that reaches them.
    pub network_instance: At<String>,
    /// The addresses.
    pub prefix: At<Prefix4>,
}

impl Pool {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let network_instance = fields.required("network_instance", &network_instance());
        let prefix = fields.required("prefix", &pool_prefix());
        Some(Self {
            network_instance: network_instance?,
            prefix: prefix?,
        })
    }
}

/// Each address has a line of 64 bytes: a /8 is 1 GiB, more is not meant.
fn pool_prefix() -> Kind<Prefix4> {
    let expected = "an IPv4 prefix of 8 to 32 bits without host bits, such as 10.45.0.0/16";
    Kind::new(expected, |text| {
        text.parse()
            .ok()
            .filter(|prefix: &Prefix4| prefix.prefix_len() >= 8)
    })
}
