//! The benchmark without DPDK, on whatever the machine has left: no figure counts, but no packet is
//! lost without a reason or overtakes another.

use super::heavy::{self, FILLS};
use super::measure;
use super::models::{self, Model};
use super::packet_template::PacketTemplate;
use super::source::Pace;
use super::testbed::Testbed;
use crate::path::variant::Variant;
use sluice_host::thread;
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig};
use std::sync::Arc;
use std::time::Duration;

fn testbed(variant: Variant) -> Testbed<HeapPacket> {
    let pool = HeapPool::new(PoolConfig {
        segments: 16_384,
        ..PoolConfig::default()
    });
    let alloc = || {
        let pool = pool.clone();
        Box::new(move || pool.alloc()) as Box<_>
    };
    let allowed = thread::allowed_cpus().unwrap();
    let cpus = [allowed[0], *allowed.last().unwrap()];
    let pools = [alloc(), alloc()];
    Testbed::build(4_096, cpus, variant, pools, || Box::new(())).unwrap()
}

#[test]
fn moves_and_models_lose_and_reorder_nothing() {
    let mut testbed = testbed(Variant::USUAL);
    let mut reordered = vec![];
    let pauses = measure::moves(&mut testbed, 40, 2_000.0);
    let seen = pauses.iter().filter(|pause| pause.ns > 0).count();
    assert!(
        seen > 20,
        "packets of the moved shard were seen in {seen} moves"
    );
    testbed.drain();
    reordered.push(("moves".to_owned(), measure::balance(&testbed).reordered));
    for model in Model::ALL {
        let each = Duration::from_millis(100);
        let figures = models::model(&mut testbed, model, 2, each, 2_000.0);
        reordered.push((format!("{model:?}"), figures.balance.reordered));
        assert!(figures.mpps.median > 0.0, "{model:?}: {:?}", figures.mpps);
        // Where others had the CPUs all the time there is no round trip to tell of.
        let latency = &figures.latency;
        let all_disturbed = latency.disturbed == latency.windows;
        assert!(all_disturbed || latency.all_us[0] > 0.0, "{latency:?}");
    }
    // No figure counts, but the daemon's scaling sees the burst, and order stays.
    let bursts = heavy::bursts(&mut testbed, FILLS, 2);
    assert!(bursts.iter().all(|b| b.balance.made > 0), "{bursts:?}");
    reordered.extend(
        bursts
            .iter()
            .map(|b| ("burst".to_owned(), b.balance.reordered)),
    );
    let (balance, ledger) = (measure::balance(&testbed), testbed.core.ledger());
    assert!(ledger.balances(), "{ledger}");
    assert_eq!(
        (balance.reordered, balance.lost),
        (0, ledger.dropped_total()),
        "{ledger}; reordered in {reordered:?}"
    );
    assert!(balance.made > 1_000);
    testbed.end();
}

/// A packet for a public port reaches the UE that has sent from it, whichever worker takes the packet.
#[test]
fn translated_packets_pass_both_ways() {
    let variant = Variant::TRANSLATED;
    let mut testbed = testbed(variant);
    let mould = Arc::new(PacketTemplate::of(&[64, 524], variant.forms[0]).unwrap());
    let go_up = |testbed: &mut Testbed<HeapPacket>, share| {
        let mould = mould.clone();
        testbed.sources(move |_, source| source.set_mould(mould.clone(), share));
    };
    go_up(&mut testbed, 1.0);
    testbed.send_once().unwrap();
    let before = measure::balance(&testbed);
    go_up(&mut testbed, 0.5);
    testbed.sources(|_, source| source.set_pace(Pace::every(2_000.0)));
    testbed.turn_for(50_000_000);
    testbed.drain();
    let balance = measure::balance(&testbed).since(before);
    assert!(balance.made > 0, "{balance:?}");
    let ledger = testbed.core.ledger();
    assert_eq!((balance.lost, balance.reordered), (0, 0), "{ledger}");
    testbed.end();
}
