//! UE addresses that the UP function gives (TS 29.244, 5.21.3).

use super::bench::*;
use crate::{AllocationPool, Config, PoolAddresses};
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_wire::ids::{PdrId, Seid};
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, IeType, MessageType};

const KIND: MessageType = MessageType::SESSION_ESTABLISHMENT_REQUEST;
const REST_S: u32 = 30;

fn pool(addresses: PoolAddresses, identity: Option<&str>) -> AllocationPool {
    AllocationPool {
        instance: InstanceId(1),
        addresses,
        identity: identity.map(str::to_owned),
        rest_s: REST_S,
    }
}

/// Six addresses of hosts, and four prefixes.
fn pools(config: &mut Config) {
    let ipv4 = PoolAddresses::Ipv4 {
        base: Ipv4Addr::new(10, 45, 0, 0),
        prefix_len: 29,
    };
    let ipv6 = PoolAddresses::Ipv6 {
        base: "2001:db8:45::".parse().unwrap(),
        prefix_len: 62,
    };
    config.allocation = vec![pool(ipv4, Some("v4")), pool(ipv6, Some("v6"))];
}

pub fn choose(ipv4: bool, ipv6: bool) -> UeIpAddress {
    UeIpAddress {
        choose_ipv4: ipv4,
        choose_ipv6: ipv6,
        ..UeIpAddress::default()
    }
}

pub fn asking(ue: UeIpAddress, cp_seid: u64) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(UE, cp_seid);
    on_ue(&mut request, ue);
    request
}

pub struct Given {
    pub cause: Cause,
    offending: Option<IeType>,
    failed: Option<FailedRuleId>,
    pub seid: Seid,
    /// Of each Created PDR.
    ues: Vec<(PdrId, UeIpAddress)>,
    teids: Vec<u32>,
    octets: Vec<u8>,
}

pub fn ask(bench: &mut Bench, request: &SessionEstablishmentRequest<'_>) -> Given {
    let octets = bench
        .ask(CP, KIND, Some(Seid(0)), |w| request.emit(w))
        .unwrap();
    let (_, body) = Header::parse(&octets).unwrap();
    let response = SessionEstablishmentResponse::parse(body).unwrap();
    let ues = response.created_pdr.iter();
    let ues = ues.flat_map(|pdr| pdr.ue_ip_address.iter().map(|ue| (pdr.pdr_id, *ue)));
    let teids = response
        .created_pdr
        .iter()
        .flat_map(|pdr| &pdr.local_f_teid);
    let teids = teids.filter_map(|teid| match teid {
        FTeid::Assigned { teid, .. } => Some(teid.get()),
        FTeid::Choose { .. } => None,
    });
    Given {
        cause: response.cause,
        offending: response.offending_ie.map(|ie| ie.0),
        failed: response.failed_rule_id,
        seid: response.up_f_seid.map_or(Seid(0), |f| f.seid),
        ues: ues.collect(),
        teids: teids.collect(),
        octets: body.to_vec(),
    }
}

pub fn ipv4(given: &Given) -> Ipv4Addr {
    given.ues[0].1.ipv4.expect("an address")
}

#[test]
fn every_pdr_that_asks_is_told_the_addresses_of_its_session_and_all_is_at_home_in_one_shard() {
    let mut bench = Bench::with(pools);
    let given = ask(&mut bench, &asking(choose(true, true), 1));
    assert_eq!(given.cause, Cause::REQUEST_ACCEPTED);
    let ue = UeIpAddress {
        ipv4: Some(Ipv4Addr::new(10, 45, 0, 1)),
        ipv6: Some("2001:db8:45::".parse::<Ipv6Addr>().unwrap()),
        ..UeIpAddress::default()
    };
    assert_eq!(given.ues, [(PdrId(1), ue), (PdrId(2), ue)]);
    let shard = u32::from(ipv4(&given)) % SHARDS;
    assert!(given.teids.iter().all(|teid| teid % SHARDS == shard));
    let view = bench.up.session(given.seid.0).unwrap();
    assert_eq!(view.summary.ue_address, ue.ipv4);
    assert_eq!(bench.up.in_use().allocated, 2);
    bench.delete(CP, given.seid);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn a_prefix_alone_decides_where_its_session_lives() {
    let mut bench = Bench::with(pools);
    let first = ask(&mut bench, &asking(choose(false, true), 1));
    let second = ask(&mut bench, &asking(choose(false, true), 2));
    let upper = |given: &Given| (given.ues[0].1.ipv6.unwrap().to_bits() >> 64) as u64;
    assert_eq!(upper(&second), upper(&first) + 1);
    for given in [first, second] {
        let home = (upper(&given) % u64::from(SHARDS)) as u32;
        assert!(given.teids.iter().all(|teid| teid % SHARDS == home));
        bench.delete(CP, given.seid);
    }
    bench.assert_vacant();
}

#[test]
fn a_pool_is_given_out_to_the_last_host_and_what_comes_back_rests() {
    let mut bench = Bench::with(pools);
    let given: Vec<Given> = (0..6)
        .map(|n| ask(&mut bench, &asking(choose(true, false), n)))
        .collect();
    let mut addresses: Vec<u8> = given.iter().map(|g| ipv4(g).octets()[3]).collect();
    addresses.sort_unstable();
    assert_eq!(
        addresses,
        [1, 2, 3, 4, 5, 6],
        "neither the subnet's own nor its broadcast"
    );
    let before = bench.fingerprint();
    let occupied = ask(&mut bench, &asking(choose(true, false), 7));
    let said = (occupied.cause, occupied.offending, occupied.failed);
    let of_pdr = Some(FailedRuleId::Pdr(PdrId(2)));
    let full = Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED;
    assert_eq!(said, (full, Some(IeType::UE_IP_ADDRESS), of_pdr));
    assert_eq!(bench.fingerprint(), before);
    bench.delete(CP, given[3].seid);
    bench.now_s += u64::from(REST_S) - 1;
    assert_eq!(
        ask(&mut bench, &asking(choose(true, false), 8)).cause,
        full,
        "it rests"
    );
    bench.now_s += 1;
    let again = ask(&mut bench, &asking(choose(true, false), 9));
    assert_eq!(ipv4(&again), ipv4(&given[3]));
    bench.assert_well_spoken();
}

#[test]
fn what_the_cp_function_chose_is_not_given_and_what_was_given_cannot_be_chosen() {
    let mut bench = Bench::with(pools);
    let told = Ipv4Addr::new(10, 45, 0, 1);
    let own = bench.establish(CP, &default_session(told, 1));
    assert_eq!(own.cause, Cause::REQUEST_ACCEPTED);
    let given = ask(&mut bench, &asking(choose(true, false), 2));
    assert_eq!(ipv4(&given), Ipv4Addr::new(10, 45, 0, 2));
    let thief = bench.establish(CP, &default_session(ipv4(&given), 3));
    let said = (thief.cause, thief.offending);
    let rule = Cause::RULE_CREATION_MODIFICATION_FAILURE;
    assert_eq!(said, (rule, Some(IeType::UE_IP_ADDRESS)));
    bench.delete(CP, own.seid);
    bench.delete(CP, given.seid);
    bench.assert_vacant();
}

/// A session keeps what it was given to its end, also when no rule looks packets up by it.
#[test]
fn an_address_stays_the_sessions_without_a_downlink_pdr() {
    let mut bench = Bench::with(pools);
    let mut request = asking(choose(true, false), 1);
    request.create_pdr.truncate(1);
    let given = ask(&mut bench, &request);
    assert_eq!((given.cause, given.ues.len()), (Cause::REQUEST_ACCEPTED, 1));
    assert_eq!(bench.up.in_use().allocated, 1);
    let thief = bench.establish(CP, &default_session(ipv4(&given), 3));
    assert_eq!(thief.cause, Cause::RULE_CREATION_MODIFICATION_FAILURE);
    let other = ask(&mut bench, &asking(choose(true, false), 4));
    assert_ne!(ipv4(&other), ipv4(&given));
    bench.delete(CP, given.seid);
    bench.delete(CP, other.seid);
    bench.assert_vacant();
}

#[test]
fn a_repeated_establishment_gets_the_same_addresses() {
    let mut bench = Bench::made(pools, 4, sluice_datapath::nat::pool::NatPools::default());
    let request = asking(choose(true, true), 1);
    let first = ask(&mut bench, &request);
    for _ in 0..5 {
        bench.delete(CP, Seid(1));
    }
    let again = ask(&mut bench, &request);
    assert_eq!(bench.up.repeated_establishments(), 1);
    assert_eq!(again.octets, first.octets);
    assert_eq!(bench.up.in_use().allocated, 2);
    bench.delete(CP, first.seid);
    bench.assert_vacant();
}

#[test]
fn a_pool_may_be_asked_for_by_its_identity() {
    let mut bench = Bench::with(pools);
    let named = |identity: &'static [u8], n| {
        let mut request = asking(choose(true, false), n);
        for pdr in &mut request.create_pdr {
            pdr.ue_ip_address_pool_identity
                .push(UeIpAddressPoolIdentity(identity));
        }
        request
    };
    assert_eq!(
        ask(&mut bench, &named(b"v4", 1)).cause,
        Cause::REQUEST_ACCEPTED
    );
    for (identity, n) in [(&b"v6"[..], 2), (b"v4 ", 3)] {
        let refused = ask(&mut bench, &named(identity, n));
        let said = (refused.cause, refused.offending);
        let ie = Some(IeType::UE_IP_ADDRESS_POOL_IDENTITY);
        assert_eq!(said, (Cause::RULE_CREATION_MODIFICATION_FAILURE, ie));
    }
}

#[test]
fn the_feature_is_told_where_there_are_pools() {
    let up = |bench: Bench| {
        let (to, setup) = &bench.spoken[0];
        assert_eq!(to.ip(), CP);
        let (_, body) = Header::parse(setup).unwrap();
        let response = AssociationSetupResponse::parse(body).unwrap();
        response
            .up_function_features
            .unwrap()
            .contains(UpFunctionFeatures::UEIP)
    };
    assert!(!up(Bench::new()));
    assert!(up(Bench::with(pools)));
}

/// A later PDR with CHOOSE means what the session has; what it does not have it is not given later.
#[test]
fn a_choice_in_a_modification_means_the_sessions_own() {
    let mut bench = Bench::with(pools);
    let given = ask(&mut bench, &asking(choose(true, false), 1));
    let mut change = SessionModificationRequest::default();
    let mut third = downlink_pdr(3, 2, UE);
    third.pdi.ue_ip_address[0] = choose(true, false);
    change.create_pdr.push(third);
    assert_eq!(
        bench.modify(CP, given.seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    change.create_pdr[0].pdr_id = PdrId(4);
    change.create_pdr[0].pdi.ue_ip_address[0] = choose(false, true);
    let refused = bench.modify(CP, given.seid, &change);
    let said = (refused.cause, refused.offending);
    let rule = Cause::RULE_CREATION_MODIFICATION_FAILURE;
    assert_eq!(said, (rule, Some(IeType::UE_IP_ADDRESS)));
    assert_eq!(bench.up.in_use().allocated, 1);
    bench.delete(CP, given.seid);
    bench.assert_vacant();
}
