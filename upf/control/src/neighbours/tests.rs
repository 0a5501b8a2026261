use super::*;
use core::net::{Ipv4Addr, Ipv6Addr};

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9));
const ROUTER: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));
const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
const S: u64 = 1_000_000_000;

fn questions(n: &mut Neighbours, now_ns: u64) -> usize {
    let mut asked = 0;
    n.tick(now_ns, |_| asked += 1);
    asked
}

#[test]
fn a_silent_station_is_asked_three_times_and_then_forgotten() {
    let mut n = Neighbours::default();
    assert!(n.want(InterfaceId(0), HOST, 0).is_some());
    assert!(
        n.want(InterfaceId(0), HOST, 1).is_none(),
        "already being asked for"
    );
    assert_eq!(questions(&mut n, S), 1);
    assert_eq!(questions(&mut n, 2 * S), 1);
    assert_eq!(questions(&mut n, 3 * S), 0);
    assert_eq!(n.iter().count(), 0);
    assert!(
        n.want(InterfaceId(0), HOST, 4 * S).is_some(),
        "asked anew when wanted anew"
    );
}

#[test]
fn a_number_that_was_given_back_is_nobodys() {
    let mut n = Neighbours::default();
    n.want(InterfaceId(0), HOST, 0);
    for s in 1..4 {
        questions(&mut n, s * S);
    }
    assert_eq!(n.want_hop(NextHopId(0), 4 * S), None);
    for s in 5..9 {
        questions(&mut n, s * S);
    }
    let others = [1, 2].map(|last| n.hold(InterfaceId(0), Ipv4Addr::new(192, 0, 2, last).into()));
    assert_ne!(others[0], others[1], "each station has a number of its own");
}

#[test]
fn a_held_station_keeps_its_number_though_it_is_silent() {
    let mut n = Neighbours::default();
    let id = n.hold(InterfaceId(0), HOST).unwrap();
    n.want_hop(id, 0);
    for s in 1..10 {
        questions(&mut n, s * S);
    }
    assert_eq!(n.hold(InterfaceId(0), HOST), Some(id));
}

#[test]
fn an_answer_is_kept_while_it_is_confirmed_and_lost_when_it_is_not() {
    let mut n = Neighbours::default();
    n.want(InterfaceId(0), HOST, 0);
    n.heard(InterfaceId(0), HOST, MAC, false, S);
    assert_eq!(n.mac(InterfaceId(0), HOST), Some(MAC));
    assert_eq!(questions(&mut n, 31 * S), 1);
    assert_eq!(
        n.mac(InterfaceId(0), HOST),
        Some(MAC),
        "used while it is confirmed"
    );
    for s in 32..36 {
        questions(&mut n, s * S);
    }
    assert_eq!(n.mac(InterfaceId(0), HOST), None);
}

#[test]
fn strangers_who_do_not_speak_to_us_are_not_learned() {
    let mut n = Neighbours::default();
    n.heard(InterfaceId(0), HOST, MAC, false, 0);
    assert_eq!(n.mac(InterfaceId(0), HOST), None);
    n.heard(InterfaceId(0), HOST, MAC, true, 0);
    assert_eq!(n.mac(InterfaceId(0), HOST), Some(MAC));
}

#[test]
fn a_static_station_cannot_be_taken_over() {
    let mut n = Neighbours::default();
    n.add_static(InterfaceId(0), HOST, MAC);
    n.heard(InterfaceId(0), HOST, MacAddr([6; 6]), true, 0);
    assert_eq!(n.mac(InterfaceId(0), HOST), Some(MAC));
}

#[test]
fn stations_of_both_families_live_by_the_same_rules() {
    let mut n = Neighbours::default();
    assert_eq!(
        n.want(InterfaceId(0), ROUTER, 0).map(|q| q.target),
        Some(ROUTER)
    );
    n.heard(InterfaceId(0), ROUTER, MAC, false, S);
    assert_eq!(n.mac(InterfaceId(0), ROUTER), Some(MAC));
    assert_eq!(n.mac(InterfaceId(1), ROUTER), None, "another link");
    assert_eq!(questions(&mut n, 31 * S), 1);
    for s in 32..36 {
        questions(&mut n, s * S);
    }
    assert_eq!(n.iter().count(), 0);
}

#[test]
fn another_mac_address_is_used_at_once_and_asked_about() {
    let mut n = Neighbours::default();
    n.announced(InterfaceId(0), ROUTER, MAC, 0);
    assert_eq!(n.iter().count(), 0, "nobody is learned by that");
    n.want(InterfaceId(0), ROUTER, 0);
    n.heard(InterfaceId(0), ROUTER, MAC, false, 50 * S);
    n.announced(InterfaceId(0), ROUTER, MAC, 51 * S);
    assert_eq!(questions(&mut n, 51 * S), 0, "nothing new");
    let other = MacAddr([2, 0, 0, 0, 0, 10]);
    n.announced(InterfaceId(0), ROUTER, other, 52 * S);
    assert_eq!(n.mac(InterfaceId(0), ROUTER), Some(other));
    assert_eq!(questions(&mut n, 52 * S), 1);
    n.add_static(InterfaceId(0), HOST, MAC);
    n.announced(InterfaceId(0), HOST, other, 52 * S);
    assert_eq!(n.mac(InterfaceId(0), HOST), Some(MAC), "given by hand");
}
