//! Sections that stand where a list of them belongs.

use super::refused::{refusal, refuses};
use super::{accepted, short_with};

const PORTS: &str = "  - {name: p0, device: 'net_af_packet0,iface=eth1'}
  - {name: p1, device: 'net_af_packet1,iface=eth2'}";

#[test]
fn names_in_place_of_a_list_are_one_error() {
    let by_name = "  p0: {device: 'net_af_packet0,iface=eth1'}
  p1: {device: 'net_af_packet1,iface=eth2', mtu: nine}";
    let message = "upf.yaml:2: ports: got keys without '- ' before the first of each item; \
                   expected a list: '- name: ...' begins each item";
    assert!(refusal(&short_with(PORTS, by_name)).starts_with(message));
    let told = refusal(&short_with(PORTS, by_name));
    assert_eq!(told.matches("ports: got").count(), 1, "{told}");
    assert!(!told.contains("unknown key"), "{told}");
}

#[test]
fn items_that_run_into_one_another_are_one_error() {
    let without_dashes =
        "  name: internet\n  prefix: 10.45.0.0/16\n  name: ims\n  prefix: 10.46.0.0/16";
    refuses(
        "  - {network_instance: internet, prefix: 10.45.0.0/16}",
        without_dashes,
        "upf.yaml:9: pools: got keys without '- ' before the first of each item; \
         expected a list: '- network_instance: ...' begins each item",
    );
}

#[test]
fn a_single_section_may_stand_without_a_list_and_tells_its_own_errors() {
    let item = "  - {network_instance: internet, prefix: 10.45.0.0/16}";
    accepted(&short_with(item, &item.replacen("- ", "  ", 1)));
    let wrong = "  network_instance: internet\n  prefix: 10.45.0.0/33";
    let told = refusal(&short_with(item, wrong));
    assert!(told.contains("pools.prefix: got '10.45.0.0/33'"), "{told}");
}
