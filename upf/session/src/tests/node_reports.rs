//! Node Reports of user plane paths: who is told what, and how often.

use super::bench::*;
use crate::limits::{PATH_REPORT_AGAIN_MS, PATHS_PER_REPORT};
use crate::network::Side;
use crate::reports::path_reports::{PathChange, RemotePath};
use core::net::Ipv4Addr;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, MessageType, write_message};

fn peer(number: u16) -> Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(192, 0, high, low)
}

fn path(number: u16) -> RemotePath {
    RemotePath {
        peer: peer(number).into(),
        place: Some((Side::Access, "access".into())),
    }
}

fn change(bench: &mut Bench, changes: &[PathChange]) {
    let (now, wall) = (bench.now(), bench.wall());
    bench.up.paths_changed(now, wall, changes, &mut bench.out);
}

fn fail(bench: &mut Bench, numbers: impl IntoIterator<Item = u16>) {
    let changes: Vec<_> = numbers
        .into_iter()
        .map(|n| PathChange::Failed(path(n)))
        .collect();
    change(bench, &changes);
}

fn recover(bench: &mut Bench, numbers: impl IntoIterator<Item = u16>) {
    let changes: Vec<_> = numbers
        .into_iter()
        .map(|n| PathChange::Recovered(path(n)))
        .collect();
    change(bench, &changes);
}

/// A Node Report Request as a CP function reads it.
#[derive(Clone, Debug)]
struct Told {
    cp: Ipv4Addr,
    header: Header,
    failed: Vec<Ipv4Addr>,
    recovered: Vec<Ipv4Addr>,
}

/// What was sent since it was last asked.
fn told(bench: &mut Bench) -> Vec<Told> {
    let sent = std::mem::take(&mut bench.out.datagrams);
    let mut told = Vec::new();
    for (to, bytes) in sent {
        let (header, body) = Header::parse(&bytes).unwrap();
        if header.message_type != MessageType::NODE_REPORT_REQUEST {
            continue;
        }
        assert_eq!(header.seid, None);
        let request = NodeReportRequest::parse(body).unwrap();
        assert_eq!(request.node_id, NodeId::V4(N4));
        let kinds = request.node_report_type;
        let failed = request.user_plane_path_failure_report.as_ref();
        let recovered = request.user_plane_path_recovery_report.as_ref();
        assert_eq!(kinds.contains(NodeReportType::UPFR), failed.is_some());
        assert_eq!(kinds.contains(NodeReportType::UPRR), recovered.is_some());
        let failed = failed.map(|r| r.remote_gtpu_peer.to_vec());
        let recovered = recovered.map(|r| r.remote_gtpu_peer.to_vec());
        let address = |p: &RemoteGtpuPeer<'_>| {
            assert_eq!(p.destination_interface, Some(DestinationInterface::ACCESS));
            assert_eq!(p.network_instance, Some(Name(b"access")));
            p.ipv4.unwrap()
        };
        let std::net::IpAddr::V4(cp) = to.ip() else {
            panic!("{to}")
        };
        told.push(Told {
            cp,
            header,
            failed: failed.iter().flatten().map(address).collect(),
            recovered: recovered.iter().flatten().map(address).collect(),
        });
    }
    told
}

fn answer(bench: &mut Bench, told: &Told, cause: Cause) {
    let response = NodeReportResponse {
        node_id: NodeId::V4(told.cp),
        cause,
        offending_ie: None,
    };
    let header = Header {
        message_type: MessageType::NODE_REPORT_RESPONSE,
        ..told.header
    };
    let mut bytes = vec![0; 200];
    let len = write_message(&mut bytes, &header, |w| response.emit(w)).unwrap();
    bench.put(told.cp, &bytes[..len]);
}

/// Answers until nobody is told anything any more.
fn all_told(bench: &mut Bench) -> Vec<Told> {
    let mut all = Vec::new();
    loop {
        let next = told(bench);
        if next.is_empty() {
            return all;
        }
        for told in &next {
            answer(bench, told, Cause::REQUEST_ACCEPTED);
        }
        all.extend(next);
    }
}

#[test]
fn failure_and_recovery_are_told_once() {
    let mut bench = Bench::new();
    fail(&mut bench, [7]);
    let all = all_told(&mut bench);
    assert_eq!(all.len(), 1);
    assert_eq!(
        (&all[0].failed[..], all[0].recovered.len()),
        (&[peer(7)][..], 0)
    );
    assert_eq!(all[0].cp, CP);
    fail(&mut bench, [7]);
    bench.tick();
    assert!(told(&mut bench).is_empty());
    recover(&mut bench, [7]);
    let all = all_told(&mut bench);
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].failed.len(), &all[0].recovered[..]),
        (0, &[peer(7)][..])
    );
    assert_eq!(bench.up.failed_paths(), 0);
}

#[test]
fn a_peer_that_nobody_asks_any_more_is_told_nothing_of() {
    let mut bench = Bench::new();
    fail(&mut bench, [7]);
    all_told(&mut bench);
    change(&mut bench, &[PathChange::Forgotten(path(7))]);
    assert!(told(&mut bench).is_empty());
    // It is like new.
    recover(&mut bench, [7]);
    assert!(told(&mut bench).is_empty());
    fail(&mut bench, [7]);
    assert_eq!(all_told(&mut bench)[0].failed, [peer(7)]);
}

#[test]
fn five_thousand_peers_are_told_of_in_few_requests_one_at_a_time() {
    let mut bench = Bench::new();
    bench.associate(CP2);
    fail(&mut bench, 0..5000);
    let mut of_each = [Vec::new(), Vec::new()];
    let mut requests = 0;
    loop {
        let next = told(&mut bench);
        if next.is_empty() {
            break;
        }
        assert!(next.len() <= 2, "one for each CP function");
        for told in &next {
            requests += 1;
            of_each[usize::from(told.cp == CP2)].extend(told.failed.clone());
            answer(&mut bench, told, Cause::REQUEST_ACCEPTED);
        }
    }
    assert_eq!(requests, 2 * 5000_usize.div_ceil(PATHS_PER_REPORT));
    for mut peers in of_each {
        peers.sort_unstable();
        assert_eq!(peers, (0..5000).map(peer).collect::<Vec<_>>());
    }
    // Peers that come and go in between are told of as they are at last.
    recover(&mut bench, 0..5000);
    let first = told(&mut bench);
    fail(&mut bench, 0..5000);
    recover(&mut bench, 100..5000);
    for told in &first {
        answer(&mut bench, told, Cause::REQUEST_ACCEPTED);
    }
    let mut failed = [0_usize; 2];
    for told in all_told(&mut bench) {
        failed[usize::from(told.cp == CP2)] += told.failed.len();
    }
    // Only those of which the recovery had been told are told of as failed again.
    assert_eq!(failed, [PATHS_PER_REPORT; 2]);
    assert_eq!(bench.up.failed_paths(), 100);
}

#[test]
fn a_new_association_is_told_what_has_failed() {
    let mut bench = Bench::new();
    fail(&mut bench, [7, 8]);
    all_told(&mut bench);
    bench.associate(CP2);
    let all: Vec<_> = bench.spoken.iter().map(|(to, _)| *to).collect();
    assert!(!all.is_empty());
    bench.out.datagrams = std::mem::take(&mut bench.spoken);
    let all = told(&mut bench);
    let newest = all.last().unwrap();
    assert_eq!(
        (newest.cp, &newest.failed[..]),
        (CP2, &[peer(7), peer(8)][..])
    );
    // The same of one that starts anew.
    answer(&mut bench, newest, Cause::REQUEST_ACCEPTED);
    bench.associate(CP2);
    bench.out.datagrams = std::mem::take(&mut bench.spoken);
    assert_eq!(told(&mut bench).last().unwrap().failed.len(), 2);
}

#[test]
fn whoever_refuses_is_not_asked_again_and_whoever_is_silent_is_asked_later() {
    let mut bench = Bench::new();
    fail(&mut bench, [7]);
    let first = told(&mut bench);
    answer(&mut bench, &first[0], Cause::SERVICE_NOT_SUPPORTED);
    bench.now_s += 3600;
    bench.tick();
    assert!(told(&mut bench).is_empty());

    let mut bench = Bench::with(|config| config.peer_loss_keep_s = 100_000);
    fail(&mut bench, [7]);
    let asked: Vec<u64> = (0..8000_u64)
        .filter(|_| {
            bench.now_s += 1;
            bench.tick();
            // It is alive, and does not know Node Reports.
            heard(&mut bench);
            !told(&mut bench).is_empty()
        })
        .collect();
    // Every try is four datagrams, and the pause between tries doubles.
    assert!(asked.len() > 4 * 6 - 4 && asked.len() < 4 * 10, "{asked:?}");
    let pauses: Vec<u64> = asked
        .windows(2)
        .map(|w| w[1] - w[0])
        .filter(|p| *p > 5)
        .collect();
    assert!(pauses.is_sorted(), "{pauses:?}");
    assert!(pauses[0] >= PATH_REPORT_AGAIN_MS / 1000, "{pauses:?}");
}

/// The CP function answers a heartbeat that it was sent, if there is one.
fn heard(bench: &mut Bench) {
    let sent = bench.out.datagrams.clone();
    for (_, bytes) in sent {
        let (header, _) = Header::parse(&bytes).unwrap();
        if header.message_type != MessageType::HEARTBEAT_REQUEST {
            continue;
        }
        let response = HeartbeatResponse {
            recovery_time_stamp: NtpTime(7),
        };
        let header = Header {
            message_type: MessageType::HEARTBEAT_RESPONSE,
            ..header
        };
        let mut bytes = vec![0; 100];
        let len = write_message(&mut bytes, &header, |w| response.emit(w)).unwrap();
        bench.put(CP, &bytes[..len]);
    }
}

#[test]
fn without_association_nobody_is_told() {
    let mut bench = Bench::new();
    let request = AssociationReleaseRequest {
        node_id: NodeId::V4(CP),
    };
    let kind = MessageType::ASSOCIATION_RELEASE_REQUEST;
    bench.ask(CP, kind, None, |w| request.emit(w)).unwrap();
    fail(&mut bench, [7]);
    bench.tick();
    assert!(told(&mut bench).is_empty());
}
