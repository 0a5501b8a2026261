//! The store as a core uses it, with Redis servers of its own: restarts, owners, answers that are lost, replicas,
//! and values that others have changed.

#[allow(
    dead_code,
    reason = "a lease ends otherwise than a lock: that one test is of its own here"
)]
#[path = "../../contexts/tests/common/mod.rs"]
mod common;
mod place;

use std::time::{Duration, Instant};

use common::*;
use place::{LIMIT, Proxy, Server, server};
use sluice_contexts_redis::{ContextRedis, OpenError};
use sluice_host::redis::Redis;
use sluice_sbi::context_store::{Contexts as _, StoreFailure};

/// Puts until it is done: a server that starts is not there at once.
fn put_at_last(store: &mut ContextRedis, all: &[(&str, Option<&str>)]) {
    let until = Instant::now() + LIMIT;
    while let Err(failure) = store.put(&changes(all)) {
        assert!(matches!(failure, StoreFailure::NotStored(_)), "{failure:?}");
        assert!(Instant::now() < until, "{failure:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_was_stored_is_there_for_the_next_core() {
    let Some(server) = server() else { return };
    is_there_for_the_next_core(&server);
    // Another instance has nothing of it.
    let other = server.instance("other");
    let mut store = other.open().expect("a new one");
    assert_eq!(read::<Server>(&mut store), []);
}

#[test]
fn an_instance_is_one_cores_alone() {
    let Some(server) = server() else { return };
    // It renews its lease meanwhile, as its loop does.
    let mut store = server.open().expect("a new one");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                store.tend().expect("it is ours");
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let other = server.open().expect_err("it is another's");
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(other.contains("another core's"), "{other}");
    });
    drop(store);
    let begun = Instant::now();
    server.open().expect("it is free");
    assert!(begun.elapsed() < server.opening.lease, "it need not wait");
}

#[test]
fn a_core_that_waits_for_a_lease_ends_when_it_shall() {
    let Some(server) = server() else { return };
    let _store = server.open().expect("a new one");
    let refused = ContextRedis::open(&server.opening, &|| true);
    assert!(matches!(refused, Err(OpenError::Given)), "{refused:?}");
}

#[test]
fn what_has_no_room_is_refused_whole_and_what_was_there_stays() {
    let Some(server) = server() else { return };
    server
        .redis
        .cli(&["CONFIG", "SET", "maxmemory", "4mb"])
        .expect("it is there");
    refuses_whole_what_has_no_room(&server, 8 << 20);
}

/// Set for the process that is killed: the server that it stores at, and the file that says so.
const KILLED: &str = "SLUICE_CONTEXTS_OF_THE_KILLED";

/// It stores numbers for ever, two keys of one number at a time.
#[test]
fn the_killed() {
    let Ok(text) = std::env::var(KILLED) else {
        return;
    };
    let (url, file) = text.split_once(' ').expect("two words");
    stores_numbers_for_ever(&place::At(place::opening(url)), || {
        std::fs::write(file, "").expect("a folder");
    });
}

#[test]
fn a_core_that_is_killed_leaves_all_of_a_turn_or_nothing_and_its_lease_ends() {
    let Some(server) = server() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..2 {
        let file = folder.path().join(round.to_string());
        let mut killed = std::process::Command::new(std::env::current_exe().expect("a test"))
            .args(["--exact", "the_killed"])
            .env(KILLED, format!("{} {}", server.redis.url(), file.display()))
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it runs");
        let begun = Instant::now();
        while !file.exists() {
            assert!(begun.elapsed() < LIMIT, "it stores nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        // SIGKILL.
        killed.kill().expect("it is there");
        killed.wait().expect("it ends");
        has_all_of_a_turn_or_nothing(&server);
    }
}

#[test]
fn a_core_that_was_paused_for_longer_than_its_lease_changes_nothing() {
    let Some(server) = server() else { return };
    let mut first = server.open().expect("a new one");
    first
        .put(&changes(&[("a", Some("1"))]))
        .expect("it is ours");
    // The first is paused: it neither puts nor tends.
    let mut second = server.open().expect("the lease has ended");
    assert_eq!(second.epoch(), first.epoch() + 1);
    second
        .put(&changes(&[("a", Some("2"))]))
        .expect("it is ours");
    for changed in ["3", "4"] {
        let failed = first.put(&changes(&[("a", Some(changed)), ("b", Some("x"))]));
        assert!(
            matches!(failed, Err(StoreFailure::NoLongerOurs(_))),
            "{failed:?}"
        );
    }
    let failed = first.tend();
    assert!(
        matches!(failed, Err(StoreFailure::NoLongerOurs(_))),
        "{failed:?}"
    );
    // It gives up nothing that is not its own.
    drop(first);
    second
        .put(&changes(&[("c", Some("5"))]))
        .expect("it is ours");
    assert_eq!(read::<Server>(&mut second), is(&[("a", "2"), ("c", "5")]));
    // Neither does it change what the second has left behind without a lease.
    drop(second);
    let mut third = server.open().expect("it is free");
    assert_eq!(read::<Server>(&mut third), is(&[("a", "2"), ("c", "5")]));
}

#[test]
fn a_lease_that_has_ended_is_taken_again_if_nobody_else_had_it() {
    let Some(server) = server() else { return };
    let mut store = server.open().expect("a new one");
    store
        .put(&changes(&[("a", Some("1"))]))
        .expect("it is ours");
    server
        .redis
        .cli(&["DEL", "sluice:{core}:lease"])
        .expect("it is there");
    store
        .put(&changes(&[("b", Some("2"))]))
        .expect("it is ours");
    let lease = server
        .redis
        .cli(&["EXISTS", "sluice:{core}:lease"])
        .expect("it is there");
    assert_eq!(lease.trim(), "1");
}

#[test]
fn a_put_whose_answer_is_lost_is_recognised_by_the_next_one() {
    let Some(server) = server() else { return };
    let proxy = Proxy::start(&server.redis);
    let through = place::At(place::opening(&proxy.url()));
    let mut store = through.open().expect("a new one");
    store
        .put(&changes(&[("a", Some("1"))]))
        .expect("it is ours");
    for (round, changed) in ["2", "3", "4"].into_iter().enumerate() {
        // It arrives, and its answer does not: with the connection, or without a word.
        match round {
            1 => proxy.swallow_answers(),
            _ => proxy.cut_before_answer(),
        }
        let both = [("a", Some(changed)), ("b", Some(changed))];
        let first = store.put(&changes(&both));
        if round == 1 {
            assert!(
                matches!(first, Err(StoreFailure::NotStored(_))),
                "{first:?}"
            );
        }
        proxy.pass();
        let before = place::version(&server.redis);
        put_at_last(
            &mut store,
            &[("a", Some(changed)), ("b", Some(changed)), ("c", Some("x"))],
        );
        // The one that had arrived was not done again: c alone was new.
        assert_eq!(place::version(&server.redis), before + 1);
        put_at_last(&mut store, &[("c", None)]);
        assert_eq!(
            read::<place::At>(&mut store),
            is(&[("a", changed), ("b", changed)])
        );
    }
}

#[test]
fn a_put_that_has_not_arrived_is_done_by_the_next_one_and_never_later() {
    let Some(server) = server() else { return };
    let proxy = Proxy::start(&server.redis);
    let through = place::At(place::opening(&proxy.url()));
    let mut store = through.open().expect("a new one");
    store
        .put(&changes(&[("a", Some("1"))]))
        .expect("it is ours");
    proxy.hold_requests();
    let failed = store.put(&changes(&[("a", Some("2"))]));
    assert!(
        matches!(failed, Err(StoreFailure::NotStored(_))),
        "{failed:?}"
    );
    proxy.pass_new();
    put_at_last(&mut store, &[("a", Some("3"))]);
    let before = place::version(&server.redis);
    // What was held arrives now, after what came later.
    proxy.release();
    put_at_last(&mut store, &[("b", Some("4"))]);
    assert_eq!(place::version(&server.redis), before + 1);
    assert_eq!(read::<place::At>(&mut store), is(&[("a", "3"), ("b", "4")]));
}

#[test]
fn contexts_are_there_after_a_failover() {
    let Some(server) = server() else { return };
    let replica = match Redis::start_replica_of(&server.redis) {
        Ok(replica) => replica,
        Err(why) => panic!("{why}"),
    };
    let mut opening = server.opening.clone();
    opening.replicas = 1;
    let mut store = place::At(opening.clone()).open().expect("a new one");
    store
        .put(&changes(&[("a", Some("1"))]))
        .expect("two have it");
    // A core that mistakes the replica for the primary is told so.
    let mut of_replica = place::opening(&replica.url());
    let refused = ContextRedis::open(&of_replica, &|| false);
    assert!(matches!(refused, Err(OpenError::Replica(_))), "{refused:?}");
    server.redis.kill().expect("it is there");
    let failed = store.put(&changes(&[("a", Some("2"))]));
    assert!(
        matches!(failed, Err(StoreFailure::NotStored(_))),
        "{failed:?}"
    );
    drop(store);
    replica
        .cli(&["REPLICAOF", "NO", "ONE"])
        .expect("it is there");
    // The lease of the core before is there as well, and ends.
    of_replica.replicas = 0;
    let of_replica = place::At(of_replica);
    let mut store = of_replica.open().expect("the lease has ended");
    assert_eq!(store.epoch(), 2);
    assert_eq!(read::<place::At>(&mut store), is(&[("a", "1")]));
}

#[test]
fn what_the_primary_alone_has_is_stored_and_told() {
    let Some(server) = server() else { return };
    let replica = match Redis::start_replica_of(&server.redis) {
        Ok(replica) => replica,
        Err(why) => panic!("{why}"),
    };
    let mut opening = server.opening.clone();
    opening.replicas = 1;
    opening.timeout = Duration::from_millis(500);
    let mut store = place::At(opening).open().expect("a new one");
    replica.pause().expect("it is there");
    for value in ["1", "2"] {
        let told = store.put(&changes(&[("a", Some(value))]));
        let Err(StoreFailure::StoredWeakly(why)) = told else {
            panic!("{told:?}");
        };
        assert!(why.contains("stored at the primary alone"), "{why}");
    }
    assert_eq!(read::<place::At>(&mut store), is(&[("a", "2")]));
    replica.go_on().expect("it is there");
    let until = Instant::now() + LIMIT;
    while let Err(failure) = store.put(&changes(&[("b", Some("3"))])) {
        assert!(Instant::now() < until, "{failure:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(store);
}

#[test]
fn a_server_that_has_lost_the_last_puts_gets_them_again() {
    let Some(server) = server() else { return };
    let mut store = server.open().expect("a new one");
    store
        .put(&changes(&[("a", Some("1")), ("b", Some("1"))]))
        .expect("it is ours");
    store
        .put(&changes(&[("b", Some("2"))]))
        .expect("it is ours");
    server.redis.kill().expect("it is there");
    server.redis.start_again().expect("it starts");
    let told = store.put(&changes(&[("c", Some("3"))]));
    assert!(
        matches!(&told, Err(StoreFailure::StoredWeakly(why)) if why.contains("given again")),
        "{told:?}"
    );
    let all = is(&[("a", "1"), ("b", "2"), ("c", "3")]);
    assert_eq!(read::<Server>(&mut store), all);
    store
        .put(&changes(&[("c", Some("3"))]))
        .expect("all is well again");
}

#[test]
fn what_is_older_than_it_should_be_goes_if_it_cannot_be_given_again() {
    let Some(server) = server() else { return };
    let mut store = server.open().expect("a new one");
    store
        .put(&changes(&[("a", Some("1")), ("b", Some("1"))]))
        .expect("it is ours");
    drop(store);
    // This core knows of nothing before its start.
    let mut store = server.open().expect("that of before");
    assert_eq!(read::<Server>(&mut store), is(&[("a", "1"), ("b", "1")]));
    server
        .redis
        .cli(&["HSET", "sluice:{core}:state", "version", "0"])
        .expect("it is there");
    let told = store.put(&changes(&[("b", Some("2"))]));
    assert!(
        matches!(&told, Err(StoreFailure::StoredWeakly(why)) if why.contains("register again")),
        "{told:?}"
    );
    assert_eq!(read::<Server>(&mut store), is(&[("b", "2")]));
}

#[test]
fn values_that_are_damaged_swapped_or_foreign_are_as_if_never_stored() {
    let Some(server) = server() else { return };
    let mut store = server.open().expect("a new one");
    let all = [
        ("amf/ue/001010000000001", Some("key of NAS")),
        ("b", Some("2")),
        ("c", Some("3")),
    ];
    store.put(&changes(&all)).expect("it is ours");
    let shown = server
        .redis
        .cli(&["HGETALL", "sluice:{core}:contexts"])
        .expect("it is there");
    assert!(
        !shown.contains("00101") && !shown.contains("NAS"),
        "{shown}"
    );
    // The values of two fields change places, and one more is nobody's.
    let swap = "local f = redis.call('HKEYS', KEYS[1]) \
        local one, two = redis.call('HGET', KEYS[1], f[1]), redis.call('HGET', KEYS[1], f[2]) \
        redis.call('HSET', KEYS[1], f[1], two, f[2], one, 'x', 'y')";
    server
        .redis
        .cli(&["EVAL", swap, "1", "sluice:{core}:contexts"])
        .expect("it is there");
    assert_eq!(read::<Server>(&mut store).len(), 1);
    assert_eq!(store.unreadable(), 3);
    drop(store);
    let mut foreign = server.opening.clone();
    foreign.key = sluice_seal::StoreKey::new([8; 32]);
    let mut store = place::At(foreign).open().expect("it is free");
    assert_eq!(read::<place::At>(&mut store), []);
    assert_eq!(store.unreadable(), 4);
}

#[test]
fn a_server_that_does_not_answer_costs_a_bounded_time() {
    let Some(server) = server() else { return };
    let mut opening = server.opening.clone();
    opening.timeout = Duration::from_millis(50);
    let mut store = place::At(opening).open().expect("a new one");
    server.redis.pause().expect("it is there");
    let mut tried = 0;
    let mut whys = std::collections::BTreeSet::new();
    for number in 0..200 {
        let failed = store.put(&changes(&[("a", Some(&number.to_string()))]));
        let Err(StoreFailure::NotStored(why)) = failed else {
            panic!("{failed:?}");
        };
        // Whoever tries waits; the others are told what was found then.
        tried += usize::from(whys.insert(why));
    }
    assert!(tried <= 3, "{whys:?}");
    let told = whys
        .iter()
        .any(|why| why.contains("no answer within 50 ms"));
    assert!(told, "{whys:?}");
    server.redis.go_on().expect("it is there");
    put_at_last(&mut store, &[("a", Some("x"))]);
    assert_eq!(read::<place::At>(&mut store), is(&[("a", "x")]));
}

/// What the server cannot have need not be deleted there: what waits while it is away is bounded by that.
#[test]
fn it_is_known_what_the_server_may_have() {
    let Some(server) = server() else { return };
    let mut opening = server.opening.clone();
    opening.timeout = Duration::from_millis(50);
    let at = place::At(opening);
    let mut store = at.open().expect("a new one");
    let put = |store: &mut ContextRedis, all: &[(&str, Option<&str>)]| store.put(&changes(all));
    assert_eq!(
        put(&mut store, &[("a", Some("1")), ("b", Some("2"))]),
        Ok(())
    );
    assert_eq!(put(&mut store, &[("b", None)]), Ok(()));
    let has = |store: &ContextRedis| ["a", "b", "c", "d"].map(|key| store.may_have(key.as_bytes()));
    assert_eq!(has(&store), [true, false, false, false]);
    // Nobody knows what becomes of the first put that is not answered, and no other is sent before that is known.
    server.redis.pause().expect("it is there");
    assert!(put(&mut store, &[("c", Some("3"))]).is_err());
    std::thread::sleep(Duration::from_millis(150));
    assert!(put(&mut store, &[("c", Some("3")), ("d", Some("4"))]).is_err());
    assert_eq!(has(&store), [true, false, true, false]);
    server.redis.go_on().expect("it is there");
    put_at_last(&mut store, &[("c", None)]);
    assert_eq!(has(&store), [true, false, false, false]);
    drop(store);
    // The next core knows it as well.
    let mut store = at.open().expect("the lease was given up");
    assert_eq!(read::<place::At>(&mut store), is(&[("a", "1")]));
    assert_eq!(has(&store), [true, false, false, false]);
}

#[test]
fn many_contexts_are_read_in_pieces() {
    let Some(server) = server() else { return };
    let mut store = server.open().expect("a new one");
    let value = "x".repeat(200);
    let names: Vec<String> = (0..5_000).map(|number| format!("smf/{number}")).collect();
    let all: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), Some(value.as_str())))
        .collect();
    store.put(&changes(&all)).expect("it is ours");
    assert_eq!(read::<Server>(&mut store).len(), 5_000);
    assert_eq!(store.unreadable(), 0);
}
