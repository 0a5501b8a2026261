//! Sessions and what they are found by.

use super::*;
use crate::network::Side;
use crate::rules::{Action, Forwarding, Indicated};
use crate::rules::{Far, RemoteTunnel};
use sluice_datapath::ids::PeerId;
use sluice_n4::AssociationId;
use sluice_wire::ids::{FarId, Seid};

fn association() -> AssociationId {
    let mut up = sluice_n4::Endpoint::new(
        sluice_n4::Role::Cp,
        sluice_n4::Config::new(
            sluice_n4::NodeId::v4([127, 0, 0, 1].into()),
            sluice_wire::pfcp::value::NtpTime(1),
        ),
    );
    struct Nowhere;
    impl sluice_n4::Outbox for Nowhere {
        fn send(&mut self, _: core::net::SocketAddr, _: &[u8]) {}
    }
    let peer = ([127, 0, 0, 2], 8805).into();
    up.associate(sluice_n4::Instant(0), peer, false, &mut Nowhere)
        .expect("the first association")
}

fn cp(seid: u64, last: Option<u16>) -> CpSession {
    CpSession {
        seid: Seid(seid),
        ipv4: Some([10, 0, 0, 1].into()),
        ipv6: last.map(|n| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n)),
    }
}

fn new(association: AssociationId, cp: CpSession, check: u32) -> NewSession {
    NewSession {
        association,
        cp,
        shard: 3,
        check,
        request: RequestHash::of(5),
        user: User::default(),
    }
}

/// Rules that take so many FARs.
fn rules(fars: u32) -> Rules {
    let mut rules = Rules::default();
    rules.fars.extend((0..fars).map(|id| Far {
        id: FarId(id),
        action: Action::Forward,
        flags: 2,
        forwarding: Some(Forwarding {
            side: Side::Access,
            instance: Default::default(),
            tunnel: Some(RemoteTunnel {
                teid: id,
                address: [192, 0, 2, 1].into(),
            }),
            marking: Default::default(),
        }),
        peer: Some(PeerId(1)),
        egress: None,
        indicated: Indicated::No,
        paged: 0,
        is_updated: false,
        bar: None,
    }));
    rules
}

#[test]
fn sessions_are_found_by_the_whole_f_seid_and_lost_with_it() {
    let id = association();
    let mut store = Store::new(10, 4, Seeded(1));
    let names: Vec<_> = [cp(1, None), cp(1, Some(1)), cp(1, Some(2)), cp(2, None)]
        .into_iter()
        .zip(1..)
        .map(|(cp, check)| store.insert(&new(id, cp, check), &rules(1)).unwrap())
        .collect();
    let found = |store: &Store, cp| store.by_cp((id, cp)).map(|(name, _)| name);
    assert_eq!(found(&store, cp(1, Some(2))), Some(names[2]));
    assert_eq!(found(&store, cp(1, None)), Some(names[0]));
    assert_eq!(found(&store, cp(2, Some(1))), None);
    store.rename(names[2], cp(9, None));
    assert_eq!(found(&store, cp(1, Some(2))), None);
    assert_eq!(found(&store, cp(9, None)), Some(names[2]));
    assert_eq!(store.get(names[2]).unwrap().cp, cp(9, None));
    assert_eq!(store.get(names[1]).unwrap().cp, cp(1, Some(1)));
    store.doom_one(names[1].at);
    assert_eq!(found(&store, cp(1, Some(1))), None);
    assert_eq!(store.doomed().map(|d| d.0), Some(names[1]));
    names.iter().for_each(|name| store.remove(*name));
    assert_eq!(
        (store.len(), store.ipv6.len(), store.records.used()),
        (0, 0, 0)
    );
    assert!(store.by_cp.is_empty());
}

#[test]
fn a_newer_session_of_the_same_f_seid_is_the_one_that_is_found() {
    let id = association();
    let mut store = Store::new(10, 4, Seeded(1));
    let first = store.insert(&new(id, cp(1, None), 1), &rules(1)).unwrap();
    let second = store.insert(&new(id, cp(1, None), 2), &rules(1)).unwrap();
    store.remove(first);
    let found = store.by_cp((id, cp(1, None))).map(|(name, _)| name);
    assert_eq!(found, Some(second));
}

#[test]
fn a_record_keeps_usage_and_user_while_its_rules_come_and_go() {
    let mut store = Store::new(10, 4, Seeded(1));
    let user = User {
        imsi: "001010000000001".parse().unwrap(),
        msisdn: Digits::default(),
    };
    let session = NewSession {
        user,
        ..new(association(), cp(1, None), 7)
    };
    let name = store.insert(&session, &rules(0)).unwrap();
    let usage = |bytes| Usage { bytes, packets: 1 };
    store.add_usage(name, true, usage(100));
    for fars in [2, 40, 3, 0] {
        assert!(store.has_room(Some(name), &rules(fars)));
        store.put(name, &rules(fars));
        store.add_usage(name, false, usage(10));
        let mut loaded = Rules::default();
        store.load(name, &mut loaded);
        assert_eq!(loaded, rules(fars));
        assert_eq!(store.user(name), user);
    }
    let total = Usage {
        bytes: 40,
        packets: 4,
    };
    assert_eq!(store.usage(name), [usage(100), total]);
    let stranger = SessionRef { check: 8, ..name };
    store.add_usage(stranger, true, usage(1));
    assert_eq!(store.usage(stranger), [Usage::default(); 2]);
}

#[test]
fn without_room_a_record_may_become_shorter_and_not_longer() {
    let mut store = Store::new(1, 4, Seeded(1));
    // All that there is: 16 lines.
    let name = store
        .insert(&new(association(), cp(1, None), 1), &rules(0))
        .unwrap();
    let all = (0..60)
        .rev()
        .find(|n| store.has_room(None, &rules(*n)) || { store.has_room(Some(name), &rules(*n)) });
    let all = all.unwrap();
    store.put(name, &rules(all));
    assert!(!store.has_room(Some(name), &rules(60)));
    let fewer = rules(all / 2);
    assert!(store.has_room(Some(name), &fewer));
    store.put(name, &fewer);
    let mut loaded = Rules::default();
    store.load(name, &mut loaded);
    assert_eq!(loaded, fewer);
}
