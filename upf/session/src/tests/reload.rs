//! Predefined rules, applications and pools that change while sessions stay.

use super::address_allocation::{ask, asking, choose, ipv4};
use super::bench::*;
use super::sdf_filters::{establish, modify};
use crate::limits::FLOWS_WALK;
use crate::{
    AllocationPool, Application, Changeable, ConfiguredApplications, PoolAddresses,
    PredefinedChange, PredefinedRule, PredefinedRules, ReloadError,
};
use core::net::Ipv4Addr;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_n4::Instant;
use sluice_wire::ids::{PdrId, Seid};
use sluice_wire::pfcp::group::UpdatePdr;
use sluice_wire::pfcp::message::AssociationUpdateRequest;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, IeType, MessageType};

const DNS: &str = "permit out 17 from any 53 to assigned";
const WEB: &str = "permit out 6 from any 80 to assigned";

fn rule(name: &str, flow: &str) -> PredefinedRule {
    PredefinedRule {
        flows: vec![flow.to_owned()],
        ..PredefinedRule::named(name)
    }
}

fn with_rules(rules: &[PredefinedRule]) -> Changeable {
    Changeable {
        predefined: PredefinedRules::new(rules).unwrap(),
        ..Changeable::default()
    }
}

/// Takes the change, and looks at sessions until all have it.
fn reload(bench: &mut Bench, new: &Changeable) -> Result<(), ReloadError> {
    let now = bench.now();
    bench.up.reload(now, new, &mut bench.out)?;
    while bench.up.next_deadline() == Some(Instant(0)) {
        bench.tick();
    }
    Ok(())
}

/// What is active in a session: rule, filters and the QFI of its QER.
fn active(bench: &Bench, seid: Seid) -> Vec<(String, Vec<String>, Option<u8>)> {
    let view = bench.up.session(seid.0).unwrap();
    let rules = view.pdr.iter().filter(|pdr| pdr.predefined_rule.is_some());
    let of = rules.map(|pdr| {
        let qfi = pdr.qer.last().and_then(|id| {
            let qer = view.qer.iter().find(|qer| qer.id == *id)?;
            qer.qfi.filter(|_| *id >> 31 == 1)
        });
        let name = pdr.predefined_rule.clone().unwrap();
        (name, pdr.filters.clone(), qfi)
    });
    of.collect()
}

#[test]
fn sessions_follow_predefined_rules_that_change() {
    let rules = [rule("dns", DNS), rule("web", WEB)];
    let mut bench = Bench::with(|c| c.predefined = PredefinedRules::new(&rules).unwrap());
    let mut request = default_session(UE, 1);
    let name = Text(b"dns");
    request.create_pdr[0].activate_predefined_rules.push(name);
    let seid = establish(&mut bench, &request);
    let named = |flow: &str, qfi| vec![("dns".to_owned(), vec![flow.to_owned()], qfi)];
    assert_eq!(active(&bench, seid), named(DNS, None));
    let dns = PredefinedRule {
        qfi: Some(9),
        ..rule("dns", WEB)
    };
    let new = [dns.clone(), rule("web", WEB), rule("new", DNS)];
    assert_eq!(reload(&mut bench, &with_rules(&new)), Ok(()));
    assert_eq!(active(&bench, seid), named(WEB, Some(9)));
    // The same again changes nothing.
    bench.ops.clear();
    assert_eq!(reload(&mut bench, &with_rules(&new)), Ok(()));
    assert!(bench.ops.is_empty());
    // One that nobody has goes, and its number with it.
    let dns_alone = [dns];
    assert_eq!(reload(&mut bench, &with_rules(&dns_alone)), Ok(()));
    let unknown = {
        let mut request = default_session(Ipv4Addr::new(10, 45, 0, 9), 9);
        let name = Text(b"web");
        request.create_pdr[0].activate_predefined_rules.push(name);
        bench.establish(CP, &request).cause
    };
    assert_eq!(unknown, Cause::UNKNOWN_PREDEFINED_RULE);
    // One that is active stays, and so does the order.
    let without = reload(&mut bench, &with_rules(&[]));
    let active_one = PredefinedChange::Active("dns".to_owned());
    assert_eq!(without, Err(ReloadError::Predefined(active_one)));
    let before = [rule("web", WEB), rule("dns", DNS)];
    let order = reload(&mut bench, &with_rules(&before));
    let stands = PredefinedChange::Order("dns".to_owned());
    assert_eq!(order, Err(ReloadError::Predefined(stands)));
    assert_eq!(active(&bench, seid), named(WEB, Some(9)));
    // Without a QER of its own that goes as well.
    assert_eq!(reload(&mut bench, &with_rules(&[rule("dns", DNS)])), Ok(()));
    assert_eq!(active(&bench, seid), named(DNS, None));
    bench.delete(CP, seid);
    assert_eq!(reload(&mut bench, &Changeable::default()), Ok(()));
    bench.assert_vacant();
}

#[test]
fn all_pdrs_of_a_session_follow_predefined_rules_that_change() {
    let rules = [rule("dns", DNS)];
    let mut bench = Bench::with(|c| c.predefined = PredefinedRules::new(&rules).unwrap());
    let seid = establish(&mut bench, &default_session(UE, 1));
    let mut change = path_switch(77);
    change.update_far.clear();
    change.update_pdr.extend([1, 2].map(|id| UpdatePdr {
        pdr_id: PdrId(id),
        activate_predefined_rules: [Text(b"dns")].into_iter().collect(),
        ..UpdatePdr::default()
    }));
    modify(&mut bench, seid, &change);
    for (flow, qfi) in [(WEB, Some(9)), (DNS, None), (WEB, Some(5))] {
        let dns = PredefinedRule {
            qfi,
            ..rule("dns", flow)
        };
        assert_eq!(reload(&mut bench, &with_rules(&[dns])), Ok(()));
        let of_one = ("dns".to_owned(), vec![flow.to_owned()], qfi);
        assert_eq!(active(&bench, seid), [of_one.clone(), of_one]);
    }
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn sessions_follow_applications_that_change() {
    let of = |flow: &str| {
        let dns = Application {
            name: "dns".to_owned(),
            flows: vec![flow.to_owned()],
        };
        ConfiguredApplications::new(&[dns]).unwrap()
    };
    let mut bench = Bench::with(|c| c.applications = of(DNS));
    let mut request = default_session(UE, 1);
    request.create_pdr[0].pdi.application_id = Some(Text(b"dns"));
    let seid = establish(&mut bench, &request);
    let met = |bench: &Bench| {
        let view = bench.up.session(seid.0).unwrap();
        view.pdr[0].filters.clone()
    };
    let new = Changeable {
        applications: of(WEB),
        ..Changeable::default()
    };
    assert_eq!(reload(&mut bench, &new), Ok(()));
    assert_eq!(met(&bench), [WEB]);
    assert_eq!(reload(&mut bench, &Changeable::default()), Ok(()));
    let view = bench.up.session(seid.0).unwrap();
    assert!(!view.pdr[0].live, "it has no flows any more");
    bench.delete(CP, seid);
    bench.assert_vacant();
}

fn pool(base: [u8; 4], prefix_len: u8) -> AllocationPool {
    AllocationPool {
        instance: InstanceId(1),
        addresses: PoolAddresses::Ipv4 {
            base: base.into(),
            prefix_len,
        },
        identity: None,
        rest_s: 5,
    }
}

fn with_pools(pools: &[AllocationPool]) -> Changeable {
    Changeable {
        allocation: pools.to_vec(),
        ..Changeable::default()
    }
}

#[test]
fn pools_come_grow_and_go_beside_sessions() {
    let mut bench = Bench::new();
    let mut given = Vec::new();
    let mut get = |bench: &mut Bench, cp_seid| {
        let answer = ask(bench, &asking(choose(true, false), cp_seid));
        let accepted = answer.cause == Cause::REQUEST_ACCEPTED;
        accepted.then(|| {
            let address = ipv4(&answer);
            given.push((address, answer.seid));
            address
        })
    };
    assert_eq!(get(&mut bench, 1), None, "there is no pool");
    // An address that the SMF chose, before there was a pool.
    let own = establish(&mut bench, &default_session([10, 45, 0, 2].into(), 2));
    let small = pool([10, 45, 0, 0], 30);
    bench.out.datagrams.clear();
    let now = bench.now();
    let new = with_pools(core::slice::from_ref(&small));
    assert_eq!(bench.up.reload(now, &new, &mut bench.out), Ok(()));
    // CP functions hear of UEIP.
    let (_, update) = bench.out.datagrams.pop().unwrap();
    let (header, body) = Header::parse(&update).unwrap();
    assert_eq!(header.message_type, MessageType::ASSOCIATION_UPDATE_REQUEST);
    let update = AssociationUpdateRequest::parse(body).unwrap();
    let features = update.up_function_features.unwrap();
    assert!(features.contains(UpFunctionFeatures::UEIP));
    assert_eq!(get(&mut bench, 3), None, "who has them is not known yet");
    while bench.up.next_deadline() == Some(Instant(0)) {
        bench.tick();
    }
    assert_eq!(get(&mut bench, 4), Some([10, 45, 0, 1].into()));
    assert_eq!(get(&mut bench, 5), None, "the other one is the SMF's");
    // It grows: what is given stays so.
    let wide = pool([10, 45, 0, 0], 29);
    let new = with_pools(core::slice::from_ref(&wide));
    assert_eq!(reload(&mut bench, &new), Ok(()));
    assert_eq!(get(&mut bench, 6), Some([10, 45, 0, 3].into()));
    // Nobody's address goes.
    let used = |pool: &str, n| Err(ReloadError::PoolInUse(pool.to_owned(), n));
    assert_eq!(
        reload(&mut bench, &with_pools(&[])),
        used("10.45.0.0/29", 3)
    );
    let other = pool([10, 45, 1, 0], 24);
    let new = with_pools(core::slice::from_ref(&other));
    assert_eq!(reload(&mut bench, &new), used("10.45.0.0/29", 3));
    assert_eq!(
        reload(&mut bench, &with_pools(&[other.clone(), wide])),
        Ok(())
    );
    for (_, seid) in given {
        bench.delete(CP, seid);
    }
    bench.delete(CP, own);
    assert_eq!(reload(&mut bench, &new), Ok(()));
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn a_pool_that_grows_before_it_was_learnt_gives_nobodys_address_twice() {
    let mut bench = Bench::new();
    let own = establish(&mut bench, &default_session([10, 45, 0, 1].into(), 1));
    let now = bench.now();
    for prefix_len in [30, 29] {
        let new = with_pools(&[pool([10, 45, 0, 0], prefix_len)]);
        assert_eq!(bench.up.reload(now, &new, &mut bench.out), Ok(()));
        let asked = ask(&mut bench, &asking(choose(true, false), 2));
        assert_eq!(asked.cause, Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED);
    }
    while bench.up.next_deadline() == Some(Instant(0)) {
        bench.tick();
    }
    let given = ask(&mut bench, &asking(choose(true, false), 2));
    assert_eq!(ipv4(&given), Ipv4Addr::new(10, 45, 0, 2));
    bench.delete(CP, given.seid);
    bench.delete(CP, own);
    bench.assert_vacant();
}

#[test]
fn pools_that_are_joined_keep_whose_their_addresses_are() {
    let mut bench = Bench::new();
    let halves = [pool([10, 45, 0, 0], 30), pool([10, 45, 0, 4], 30)];
    assert_eq!(reload(&mut bench, &with_pools(&halves)), Ok(()));
    let get = |bench: &mut Bench, cp_seid| ask(bench, &asking(choose(true, false), cp_seid));
    let given: Vec<_> = (1..=4).map(|i| get(&mut bench, i)).collect();
    let addresses: Vec<_> = given.iter().map(|of| ipv4(of).octets()[3]).collect();
    assert_eq!(addresses, [1, 2, 5, 6]);
    let joined = [pool([10, 45, 0, 0], 29)];
    let now = bench.now();
    let new = with_pools(&joined);
    assert_eq!(bench.up.reload(now, &new, &mut bench.out), Ok(()));
    // All are known: nothing is to be learnt, and the two between them are hosts' now.
    assert_ne!(bench.up.next_deadline(), Some(Instant(0)));
    assert_eq!(bench.up.in_use().allocated, 4);
    let more: Vec<_> = (5..=6).map(|i| get(&mut bench, i)).collect();
    let addresses: Vec<_> = more.iter().map(|of| ipv4(of).octets()[3]).collect();
    assert_eq!(addresses, [3, 4]);
    let full = get(&mut bench, 7).cause;
    assert_eq!(full, Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED);
    // What was given is nobody else's, also where an SMF names it.
    bench.delete(CP, given[3].seid);
    for of in given[..3].iter().chain(&more) {
        bench.delete(CP, of.seid);
    }
    bench.assert_vacant();
}

#[test]
fn a_pool_that_grows_while_the_store_does_learns_all_addresses() {
    let mut bench = Bench::with(|c| c.sessions = 4 * FLOWS_WALK as usize);
    let host = |i: u32| Ipv4Addr::from(0x0a2d_0000 + i);
    let own = |bench: &mut Bench, of: core::ops::Range<u32>| -> Vec<Seid> {
        of.map(|i| establish(bench, &default_session(host(i), i.into())))
            .collect()
    };
    let count = FLOWS_WALK + 1;
    let mut seids = own(&mut bench, 1..count);
    // One walk ends in the middle of what the next one begins with.
    let small = [pool([10, 45, 128, 0], 30)];
    assert_eq!(reload(&mut bench, &with_pools(&small)), Ok(()));
    seids.extend(own(&mut bench, count..2 * count));
    let wide = [pool([10, 45, 0, 0], 20), small[0].clone()];
    let now = bench.now();
    assert_eq!(
        bench.up.reload(now, &with_pools(&wide), &mut bench.out),
        Ok(())
    );
    bench.tick();
    seids.extend(own(&mut bench, 2 * count..3 * count));
    while bench.up.next_deadline() == Some(Instant(0)) {
        bench.tick();
    }
    let in_use = bench.up.in_use();
    assert_eq!(in_use.allocated, seids.len());
    for seid in seids {
        bench.delete(CP, seid);
    }
    bench.assert_vacant();
}

#[test]
fn no_framed_route_lies_in_a_pool_that_came_later() {
    let mut bench = Bench::new();
    let new = with_pools(&[pool([172, 16, 3, 0], 29)]);
    assert_eq!(reload(&mut bench, &new), Ok(()));
    let mut request = default_session(UE, 1);
    let route = Text(b"172.16.3.0/30 0.0.0.0 1");
    request.create_pdr[1].pdi.framed_route.push(route);
    let refused = bench.establish(CP, &request);
    assert_eq!(refused.offending, Some(IeType::FRAMED_ROUTE));
    let given = ask(&mut bench, &asking(choose(true, false), 2));
    assert_eq!(ipv4(&given), Ipv4Addr::new(172, 16, 3, 1));
    // Beside it there is one.
    let route = Text(b"172.16.3.8/30 0.0.0.0 1");
    request.create_pdr[1].pdi.framed_route[0] = route;
    let own = establish(&mut bench, &request);
    bench.delete(CP, given.seid);
    bench.delete(CP, own);
    bench.assert_vacant();
}

#[test]
fn a_pool_of_the_path_goes_when_no_ue_is_left() {
    let mut bench = Bench::new();
    let seid = establish(&mut bench, &default_session(UE, 1));
    let gone = Changeable {
        gone: vec![(InstanceId(1), [10, 45, 0, 0].into(), 1 << 16)],
        ..Changeable::default()
    };
    let in_use = ReloadError::PoolInUse("the pool at 10.45.0.0".to_owned(), 1);
    assert_eq!(reload(&mut bench, &gone), Err(in_use));
    bench.delete(CP, seid);
    assert_eq!(reload(&mut bench, &gone), Ok(()));
    // It may have begun below what the path has, and UEs may have addresses of either part.
    let wider = Changeable {
        gone: vec![(InstanceId(1), [10, 44, 0, 0].into(), 1 << 17)],
        ..Changeable::default()
    };
    for ue in [UE, Ipv4Addr::new(10, 44, 0, 1)] {
        let seid = establish(&mut bench, &default_session(ue, 1));
        let in_use = ReloadError::PoolInUse("the pool at 10.44.0.0".to_owned(), 1);
        assert_eq!(reload(&mut bench, &wider), Err(in_use));
        bench.delete(CP, seid);
    }
    assert_eq!(reload(&mut bench, &wider), Ok(()));
}
