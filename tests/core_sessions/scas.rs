//! Cases of 3GPP's security assurance at the SMF (TS 33.515), by their clauses.

mod up_security;

use std::collections::BTreeSet;

use sluice_n1::SessionType;

use crate::harness::*;

#[test]
fn scas_33_515_4_2_2_1_4_each_session_has_a_charging_id_of_its_own() {
    let mut world = world(&[1, 2]);
    let (mut ids, mut sessions) = (BTreeSet::new(), 0);
    // The same identities again and again, of two UEs.
    for _ in 0..3 {
        for phone in [0, 1] {
            for session in [5, 6] {
                establish(&mut world, phone, session, &wanted(SessionType::Ipv4));
                // Two records by volume, and the last one.
                for _ in 0..24 {
                    assert!(goes_up(&mut world, phone, session));
                }
                let nas = world.ue_mut(phone).release(session);
                world.say(phone, nas);
                let records = world.core.sessions().take_records();
                assert_eq!(records.len(), 3, "{records:?}");
                let its: BTreeSet<_> = records.iter().map(|record| record.charging_id).collect();
                assert_eq!(its.len(), 1, "records of one session");
                ids.extend(its);
                sessions += 1;
            }
        }
    }
    assert_eq!(ids.len(), sessions);
    let texts: BTreeSet<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), sessions);
}
