//! Files that are refused, with the exact words that people see.

use super::{SHORT, accepted, load, machine, short_with};
use crate::config::UpfConfig;
use std::path::Path;

/// What an operator sees of a text.
pub(super) fn refusal(text: &str) -> String {
    match load(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(refused) => refused.to_string(),
    }
}

/// A change to the short file, and what comes of it.
pub(super) fn refuses(old: &str, new: &str, message: &str) {
    assert_eq!(refusal(&short_with(old, new)), message, "{new}");
}

#[test]
fn wrong_values_are_refused_with_line_key_and_what_was_expected() {
    for (old, new, message) in [
        (
            "listen: 192.0.2.10",
            "listen: localhost",
            "upf.yaml:1: n4.listen: got 'localhost'; \
             expected IPV4:PORT such as 192.0.2.1:8805, or IPV4 alone",
        ),
        (
            "peers: 192.0.2.20",
            "peers: [192.0.2.20, 192.0.2.0/33]",
            "upf.yaml:1: n4.peers[1]: got '192.0.2.0/33'; \
             expected an IPv4 or IPv6 prefix, such as 192.0.2.0/24",
        ),
        (
            "peers: 192.0.2.20",
            "peers: 192.0.2.20, heartbeat_s: soon",
            "upf.yaml:1: n4.heartbeat_s: got 'soon'; \
             expected a whole number of seconds from 0 to 3600",
        ),
        (
            "peers: 192.0.2.20",
            "peers: 192.0.2.20, accept_cp_fteid: yes",
            "upf.yaml:1: n4.accept_cp_fteid: got 'yes'; expected true or false",
        ),
        (
            "peers: 192.0.2.20",
            "peers: 192.0.2.20, mbr_zero: drop",
            "upf.yaml:1: n4.mbr_zero: got 'drop'; expected unlimited or closed",
        ),
        (
            "{name: p1,",
            "{mtu: 9217, name: p1,",
            "upf.yaml:4: ports[1].mtu: got '9217'; \
             expected auto or a whole number of bytes from 576 to 9216",
        ),
        (
            "'net_af_packet1,iface=eth2'",
            "eth2",
            "upf.yaml:4: ports[1].device: got 'eth2'; expected a PCI address such as \
             0000:03:00.0, or DPDK device arguments such as net_af_packet0,iface=eth1",
        ),
        (
            "198.51.100.1/24",
            "198.51.100.1",
            "upf.yaml:6: interfaces[0].addresses: got '198.51.100.1'; \
             expected an IP address with its prefix length, such as 192.0.2.1/24 or \
             2001:db8::1/64",
        ),
        (
            "10.45.0.0/16",
            "10.45.0.1/16",
            "upf.yaml:10: pools[0].prefix: got '10.45.0.1/16'; expected an IPv4 prefix of 8 to 32 \
             bits without host bits, such as 10.45.0.0/16, or an IPv6 prefix of 40 to 64 bits",
        ),
        (
            "n4:",
            "log: loud\nn4:",
            "upf.yaml:1: log: got 'loud'; expected error, warn, info, debug or trace, \
             and levels of single parts such as info,sluice_n4=debug",
        ),
        (
            "n4:",
            "limits: {tunnel_endpoints: 5000}\nn4:",
            "upf.yaml:1: limits.tunnel_endpoints: got '5000'; \
             expected auto or a power of two from 4096 to 67108864",
        ),
    ] {
        refuses(old, new, message);
    }
}

#[test]
fn wrong_shapes_are_refused() {
    for (old, new, message) in [
        (
            "peers: 192.0.2.20",
            "peers: 192.0.2.20, t1_ms: [1]",
            "upf.yaml:1: n4.t1_ms: got a list; \
             expected a whole number of milliseconds from 10 to 60000",
        ),
        (
            "n4:",
            "dpdk: fast\nn4:",
            "upf.yaml:1: dpdk: got 'fast'; expected keys with values",
        ),
        (
            "n6: {network_instance: internet}",
            "mss_clamp: 535, n6: {network_instance: internet}",
            "upf.yaml:8: interfaces[1].mss_clamp: got '535'; expected off, auto or a whole number of bytes from 536 to 9176",
        ),
        (
            "n6: {network_instance: internet}",
            "udp_checksums: off, n6: {network_instance: internet}",
            "upf.yaml:8: interfaces[1].udp_checksums: got 'off'; expected verify or ignore",
        ),
        (
            "n6: {network_instance: internet}",
            "n6: [internet]",
            "upf.yaml:8: interfaces[1].n6: got a list; expected keys with values",
        ),
        (
            "n4:",
            "control_socket:\nn4:",
            "upf.yaml:1: control_socket: got no value; \
             expected an absolute path of at most 107 bytes",
        ),
    ] {
        assert_eq!(
            refusal(&short_with(old, new)).lines().next(),
            Some(message),
            "{new}"
        );
    }
    assert_eq!(
        refusal("5"),
        "upf.yaml:1: got a single value; expected keys with values"
    );
}

#[test]
fn either_the_upf_or_the_smf_chooses_teids() {
    refuses(
        "peers: 192.0.2.20",
        "peers: 192.0.2.20, accept_cp_fteid: false, choose_fteid: false",
        "upf.yaml:1: n4.choose_fteid: false, and accept_cp_fteid is false; expected one of them: \
         else nobody may choose TEIDs",
    );
}

#[test]
fn slips_in_keys_are_guessed() {
    refuses(
        "peers: 192.0.2.20",
        "peers: 192.0.2.20, hartbeat_s: 3",
        "upf.yaml:1: n4.hartbeat_s: unknown key (did you mean 'heartbeat_s'?); expected one of \
         listen, rings, node_id, peers, associate, peer_port, heartbeat_s, t1_ms, n1, peer_loss_keep_s, \
         graceful_release_s, accept_cp_fteid, choose_fteid, mbr_zero, unserved, load_control, overload_percent, \
         associations_max, requests_per_s",
    );
    refuses(
        "pools:",
        "telemetry: 9100\npools:",
        "upf.yaml:9: telemetry: unknown key; expected one of n4, dpdk, ports, interfaces, pools, nat, \
         router_advertisement, dscp, predefined, applications, echo, shaping, workers, limits, metrics, control_socket, log",
    );
}

#[test]
fn keys_are_given_once() {
    refuses(
        "pools:",
        "log: info\nlog: debug\npools:",
        "upf.yaml:10: log: given before, in line 9; expected each key once",
    );
}

#[test]
fn what_has_no_default_must_be_there() {
    assert_eq!(
        refusal(""),
        "upf.yaml:1: interfaces: missing; \
         expected a list of name, port and addresses with n3, n9, n6 or n4\n\
         upf.yaml:1: n4.listen: missing; \
         expected a list of IPV4:PORT such as 192.0.2.1:8805, or IPV4 alone; or n4 on one of the \
         interfaces\n\
         upf.yaml:1: ports: missing; expected a list of name and device"
    );
    refuses(
        "listen: 192.0.2.10",
        "listen: 0.0.0.0",
        "upf.yaml:1: n4.node_id: missing; \
         expected the address that SMFs know us by, as n4.listen names none",
    );
    refuses(
        "listen: 192.0.2.10, ",
        "",
        "upf.yaml:1: n4.listen: missing; expected a list of IPV4:PORT such as 192.0.2.1:8805, or \
         IPV4 alone; or n4 on one of the interfaces",
    );
    refuses(
        "n3: {}",
        "n3: {}, n4: {address: 198.51.100.9}",
        "upf.yaml:6: interfaces[0].n4.address: 198.51.100.9 is none of the interface's addresses; \
         expected one of 198.51.100.1",
    );
    refuses(
        "n3: {}",
        "n9: {}",
        "upf.yaml:6: interfaces[0].n9.side: missing; expected access or core",
    );
}

#[test]
fn names_and_devices_are_unique() {
    refuses(
        "{name: p1",
        "{name: p0",
        "upf.yaml:4: ports[1].name: 'p0' is also the name in line 3; expected another one",
    );
    refuses(
        "net_af_packet1",
        "net_af_packet0",
        "upf.yaml:4: ports[1].device: 'net_af_packet0' is also the device in line 3; \
         expected another one",
    );
    refuses(
        "name: dn",
        "name: ran",
        "upf.yaml:7: interfaces[1].name: 'ran' is also the name in line 6; expected another one",
    );
    refuses(
        "net_af_packet1,iface=eth2",
        "net_af_xdp0,queue_count=1,iface=eth1",
        "upf.yaml:4: ports[1].device: kernel interface 'eth1' is also the port's in line 3; \
         expected another one, or one port with several roles",
    );
    refuses(
        "listen: 192.0.2.10",
        "listen: [192.0.2.10, 192.0.2.11, '192.0.2.10:8805']",
        "upf.yaml:1: n4.listen[2]: 192.0.2.10:8805 is given twice; expected each address once",
    );
}

#[test]
fn ports_have_a_use_and_a_queue_for_each_worker() {
    refuses(
        "interfaces:",
        "  - {name: p2, device: net_null0}\ninterfaces:",
        "upf.yaml:5: ports[2].name: no interface is on port 'p2'; \
         expected an interface with this port, or no such port",
    );
    let queues = short_with("{name: p1,", "{name: p1, tx_queues: 2,");
    assert_eq!(
        refusal(&format!("workers: {{count: 3}}\n{queues}")),
        "upf.yaml:5: ports[1].tx_queues: 2 for 3 workers; expected auto, or at least 3"
    );
    assert!(load(&format!("workers: {{count: 2}}\n{queues}")).is_ok());
    let queues = short_with("{name: p1,", "{name: p1, rx_queues: 1,");
    assert_eq!(
        refusal(&format!("workers: {{count: 3}}\n{queues}")),
        "upf.yaml:5: ports[1].rx_queues: 1 for 3 queue pairs, to each of which the kernel deals \
         packets; expected auto, or 3"
    );
    assert!(load(&format!("workers: {{count: 1}}\n{queues}")).is_ok());
}

#[test]
fn each_socket_of_af_packet_is_read() {
    let more = short_with("{name: p1,", "{name: p1, tx_queues: 4,");
    let config = load(&format!("workers: {{count: 2}}\n{more}")).unwrap();
    let queues: Vec<_> = config
        .config
        .port_configs()
        .iter()
        .map(|port| (port.rx_queues, port.tx_queues))
        .collect();
    assert_eq!(queues, [(2, 2), (4, 4)]);
}

#[test]
fn interfaces_lie_on_ports_that_are_there_and_free() {
    refuses(
        "port: p1",
        "port: p2",
        "upf.yaml:7: interfaces[1].port: no port has the name 'p2'; expected one of p0, p1",
    );
    let one_port = SHORT.replace("  - {name: p1, device: 'net_af_packet1,iface=eth2'}\n", "");
    assert_eq!(
        refusal(&one_port.replace("port: p1", "port: p0")),
        "upf.yaml:6: interfaces[1].vlan: untagged frames of port 'p0' belong to interface 'ran' \
         (line 5); expected another vlan, or all addresses in one interface",
    );
}

#[test]
fn addresses_fit_their_links() {
    for (old, new, message) in [
        (
            "gateway: 203.0.113.1",
            "gateway: 203.0.114.1",
            "upf.yaml:7: interfaces[1].gateway: 203.0.114.1 is not on the link; \
             expected an address in 203.0.113.0/24",
        ),
        (
            "gateway: 203.0.113.1",
            "gateway: 203.0.113.2",
            "upf.yaml:7: interfaces[1].gateway: 203.0.113.2 is our own address (line 7); \
             expected the address of another station",
        ),
        (
            "gateway: 203.0.113.1",
            "routes: [{to: 192.0.2.0/24, via: 10.0.0.1}]",
            "upf.yaml:7: interfaces[1].routes[0].via: 10.0.0.1 is not on the link; \
             expected an address in 203.0.113.0/24",
        ),
        (
            "gateway: 203.0.113.1",
            "gateway: 203.0.113.1, routes: [{to: 0.0.0.0/0, via: 203.0.113.9}]",
            "upf.yaml:7: interfaces[1].routes: 0.0.0.0/0 is also where gateway (line 7) leads; \
             expected one of both",
        ),
        (
            "gateway: 203.0.113.1",
            "gateway: 203.0.113.1, proxy_arp: 203.0.113.0/25",
            "upf.yaml:7: interfaces[1].proxy_arp[0]: 203.0.113.0/25 contains the gateway \
             203.0.113.1 (line 7); expected prefixes of UEs only",
        ),
        (
            "gateway: 203.0.113.1",
            "neighbours: [{address: 203.0.113.9, mac: '02:00:00:00:00:01'}, \
             {address: 203.0.113.9, mac: '02:00:00:00:00:02'}]",
            "upf.yaml:7: interfaces[1].neighbours[1].address: 203.0.113.9 has a MAC address in \
             line 7; expected each neighbour once",
        ),
        (
            "203.0.113.2/24",
            "203.0.113.255/24",
            "upf.yaml:7: interfaces[1].addresses[0]: 203.0.113.255/24 is no address of a station; \
             expected an address inside its subnet, not an edge of it",
        ),
        (
            "203.0.113.2/24",
            "[203.0.113.2/24, 198.51.100.1/32]",
            "upf.yaml:7: interfaces[1].addresses[1]: 198.51.100.1 is also given in line 6; \
             expected each address once",
        ),
    ] {
        refuses(old, new, message);
    }
}

#[test]
fn roles_have_addresses_of_their_interface() {
    refuses(
        "n3: {}",
        "n3: {address: 198.51.100.7}",
        "upf.yaml:6: interfaces[0].n3.address: 198.51.100.7 is none of the interface's addresses; \
         expected one of 198.51.100.1",
    );
    refuses(
        "addresses: 198.51.100.1/24",
        "addresses: [198.51.100.1/24, 198.51.100.2/24]",
        "upf.yaml:6: interfaces[0].n3.address: missing, and the interface has several addresses; \
         expected one of 198.51.100.1, 198.51.100.2",
    );
}

#[test]
fn there_is_a_way_in_and_a_way_out() {
    refuses(
        ", n3: {}",
        "",
        "upf.yaml:6: interfaces: no way to the RAN; \
         expected an interface with n3, or with n9 on the access side",
    );
    let without_n6 = SHORT.replace(",\n     n6: {network_instance: internet}}", "}");
    let without_pools = without_n6.split("pools:").next().unwrap();
    assert_eq!(
        refusal(without_pools),
        "upf.yaml:6: interfaces: no way to a data network; \
         expected an interface with n6, or with n9 on the core side"
    );
}

#[test]
fn pools_are_apart_and_reachable() {
    let two = |prefix: &str| {
        format!("10.45.0.0/16}}\n  - {{network_instance: Internet, prefix: {prefix}}}")
    };
    refuses(
        "10.45.0.0/16}",
        &two("10.45.128.0/24"),
        "upf.yaml:11: pools[1].prefix: 10.45.128.0/24 shares addresses with 10.45.0.0/16 (line 10) \
         in 'Internet'; expected pools apart from each other",
    );
    assert!(load(&short_with("10.45.0.0/16}", &two("10.46.0.0/16"))).is_ok());
    refuses(
        "{network_instance: internet, prefix",
        "{network_instance: ims, prefix",
        "upf.yaml:10: pools[0].network_instance: no n6 serves 'ims'; expected one of internet",
    );
    refuses(
        "10.45.0.0/16",
        "203.0.113.128/25",
        "upf.yaml:10: pools[0].prefix: 203.0.113.128/25 shares addresses with the subnet of \
         203.0.113.2/24 (line 7); expected addresses that no link has",
    );
}

#[test]
fn cores_are_those_of_the_machine() {
    let file = |workers: &str| format!("workers: {workers}\n{SHORT}");
    let refusal = |workers: &str| refusal(&file(workers));
    assert_eq!(
        refusal("{cores: [1, 4]}"),
        "upf.yaml:1: workers.cores: core 4 is not there or not ours to use; \
         expected cores of 0-3"
    );
    assert_eq!(
        refusal("{cores: [1, 2], housekeeping_core: 2}"),
        "upf.yaml:1: workers.cores: core 2 is housekeeping's; \
         expected cores that leave one for housekeeping"
    );
    assert_eq!(
        refusal("{cores: [1, 1]}"),
        "upf.yaml:1: workers.cores: core 1 is given twice; expected a core for each worker"
    );
    assert_eq!(
        refusal("{count: 4}"),
        "upf.yaml:1: workers.count: 4 workers for 3 free cores; expected at most 3"
    );
    assert_eq!(
        refusal("{count: 2, cores: [1]}"),
        "upf.yaml:1: workers.count: 2 workers on 1 given cores; expected no count beside cores"
    );
    let small = UpfConfig::from_text(Path::new("f"), &file("{sleep_us_max: 0}"), &machine(1));
    assert_eq!(
        small.unwrap_err().to_string(),
        "f:1: workers.sleep_us_max: a worker that never sleeps would starve housekeeping on its \
         core; expected 1 to 50 on one core"
    );
}

#[test]
fn packets_that_wait_leave_buffers_for_those_that_come() {
    let shaping = |shaping: &str| format!("shaping: {{{shaping}}}\n{SHORT}");
    assert_eq!(
        refusal(&shaping("rates: session")),
        "upf.yaml:1: shaping.rates: got 'session'; expected none or session_ambr or all"
    );
    assert_eq!(
        refusal(&shaping("rates: all, delay_ms: 0")),
        "upf.yaml:1: shaping.delay_ms: got '0'; \
         expected a whole number of milliseconds from 1 to 1000"
    );
    let few = |rates: &str| {
        let shaping = shaping(&format!("rates: {rates}, worker_packets: 8192"));
        format!("dpdk: {{mbufs: 16383}}\n{shaping}")
    };
    assert_eq!(
        refusal(&few("session_ambr")),
        "upf.yaml:2: shaping.worker_packets: 8192 packets of all workers are more than half of \
         dpdk.mbufs (16383); expected at most 8191, or more mbufs"
    );
    assert!(load(&few("none")).is_ok());
}

#[test]
fn packets_fit_buffers_and_buffers_fit_memory() {
    let mtu = |dpdk: &str| {
        format!("dpdk: {dpdk}\n{SHORT}").replace("{name: p0,", "{name: p0, mtu: 9000,")
    };
    assert_eq!(
        refusal(&mtu("{data_room_bytes: 2176}")),
        "upf.yaml:4: ports[0].mtu: 9000 does not fit in a packet buffer (dpdk.data_room_bytes, \
         line 1); expected at most 1952, or a larger buffer"
    );
    assert_eq!(
        refusal(&mtu("{}")),
        "upf.yaml:1: dpdk.memory_mb: 512 MiB do not hold 65535 packet buffers; \
         expected at least 629, or fewer mbufs"
    );
    assert!(load(&mtu("{mbufs: 16384}")).is_ok());
    let wide = SHORT
        .replace("{name: p0,", "{name: p0, mtu: 1500,")
        .replace("{name: ran,", "{name: ran, mtu: 1600,");
    assert_eq!(
        refusal(&wide),
        "upf.yaml:6: interfaces[0].mtu: 1600 is more than the port's (line 3); \
         expected at most 1500"
    );
}

#[test]
fn what_is_no_yaml_is_refused_with_its_line() {
    assert_eq!(
        refusal("n4: {listen: 192.0.2.1}\nlog: *x\n").lines().next(),
        Some(
            "upf.yaml:2: while parsing node, found unknown anchor; expected YAML, indented by spaces"
        )
    );
    assert_eq!(
        refusal("n4: &x {listen: 192.0.2.1}\n"),
        "upf.yaml:1: an anchor (&); expected the value alone"
    );
}

#[test]
fn all_problems_are_told_at_once_and_none_twice() {
    let text = SHORT
        .replace("listen: 192.0.2.10", "listen: here")
        .replace("{name: p0,", "{nam: p0,")
        .replace("gateway: 203.0.113.1", "gateway: 203.0.114.1")
        .replace("10.45.0.0/16", "10.45.0.0/33");
    let text = refusal(&text);
    let keys: Vec<_> = text
        .lines()
        .filter_map(|line| line.split(": ").nth(1))
        .collect();
    // That interface 'ran' then has no port is a consequence, and so is not told.
    let expected = [
        "n4.listen",
        "ports[0].nam",
        "ports[0].name",
        "interfaces[1].gateway",
        "pools[0].prefix",
    ];
    assert_eq!(keys, expected, "{text}");
}

#[test]
fn smfs_that_we_call_may_talk_to_us() {
    for (old, new, message) in [
        (
            "peers: 192.0.2.20",
            "peers: 192.0.2.0/24, associate: [192.0.2.20, 198.51.100.20]",
            "upf.yaml:1: n4.associate[1]: 198.51.100.20 is none of n4.peers; \
             expected an SMF that may talk to us",
        ),
        (
            "peers: 192.0.2.20",
            "peers: 192.0.2.20, associate: [192.0.2.20, '192.0.2.20:8805']",
            "upf.yaml:1: n4.associate[1]: 192.0.2.20:8805 is given twice; \
             expected each address once",
        ),
    ] {
        refuses(old, new, message);
    }
}

#[test]
fn echo_requests_are_no_more_frequent_than_allowed() {
    for (keys, message) in [
        (
            "interval_s: 59",
            "upf.yaml:9: echo.interval_s: got '59'; expected 0, or 60 to 86400 seconds",
        ),
        (
            "interval_s: 60, t3_ms: 20000, n3: 4",
            "upf.yaml:9: echo.interval_s: 60 s, but n3 x t3_ms is 80000 ms; \
             expected at least n3 x t3_ms",
        ),
    ] {
        refuses("pools:", &format!("echo: {{{keys}}}\npools:"), message);
    }
    for fine in ["interval_s: 0, t3_ms: 60000", "t3_ms: 12000", "n3: 20"] {
        accepted(&short_with("pools:", &format!("echo: {{{fine}}}\npools:")));
    }
}

#[test]
fn a_file_without_an_end_is_not_read_to_it() {
    let refused = UpfConfig::load(Path::new("/dev/zero"), &machine(1)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "/dev/zero: has more than 1048576 bytes; expected a readable YAML file of at most 1 MiB"
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let refused = UpfConfig::load(Path::new("/nowhere/upf.yaml"), &machine(1)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "/nowhere/upf.yaml: cannot be read: No such file or directory (os error 2); \
         expected a readable YAML file of at most 1 MiB"
    );
}
