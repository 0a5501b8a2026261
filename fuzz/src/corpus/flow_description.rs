//! Flow descriptions: what SMFs send, and one with every part.

use super::Entry;

pub(super) fn texts() -> Vec<Entry> {
    [
        ("everything", "permit out ip from any to assigned"),
        (
            "router_solicitation",
            "permit out 58 from ff02::2/128 to assigned",
        ),
        (
            "ipv4_and_ports",
            "permit out 17 from 198.51.100.0/24 53,1000-2000 to 10.45.0.2 5060",
        ),
        (
            "ipv6_and_ports",
            "permit out 6 from 2001:db8::/32 443 to 2001:db8:1::/64 1-65535",
        ),
        ("options", "permit out 6 from any to any frag"),
        ("inverted", "deny in ip from !10.0.0.1 to any"),
    ]
    .map(|(name, text)| Entry::new(name, text.into()))
    .into()
}
