//! Configurations: short ones, good and bad, and the commented example, which is not kept twice.

use super::Entry;

/// The example that the documentation has.
const EXAMPLE: &str = include_str!("../../../docs/upf.yaml");

const SHORT: &str = "\
n4: {listen: 192.0.2.10, peers: 192.0.2.20}
ports:
  - {name: p0, device: 'net_af_packet0,iface=eth1'}
  - {name: p1, device: 'net_af_packet1,iface=eth2'}
interfaces:
  - {name: ran, port: p0, addresses: 198.51.100.1/24, n3: {}}
  - {name: dn, port: p1, addresses: 203.0.113.2/24, gateway: 203.0.113.1,
     n6: {network_instance: internet}}
pools:
  - {network_instance: internet, prefix: 10.45.0.0/16}
";

const ANCHORS: &str = "\
n4: &n4 {listen: 192.0.2.10}
ports: [*n4, &p {name: p0, device: 'net_null0'}, *p]
interfaces: *p
";

const ODD: &str = "%YAML 1.2\n--- !!map\n? [a, b]\n: |2-\n    text\n\"n4\": !t ~\n...\n---\n2\n";

/// The example without its comments.
pub(super) fn example() -> Entry {
    let stripped: String = EXAMPLE
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim_end())
        .filter(|line| !line.is_empty())
        .flat_map(|line| [line, "\n"])
        .collect();
    Entry::new("example", stripped.into())
}

pub(super) fn files() -> Vec<Entry> {
    [
        ("short", SHORT),
        ("anchors", ANCHORS),
        ("odd_yaml", ODD),
        ("empty", ""),
        ("nested", &"[".repeat(300)),
    ]
    .map(|(name, text)| Entry::new(name, text.into()))
    .into()
}

/// Flow descriptions: what SMFs send, and one with every part.
pub(super) fn flow_descriptions() -> Vec<Entry> {
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
