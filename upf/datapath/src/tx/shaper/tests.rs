//! The shaper against a list that is searched: nothing is lost or doubled, each packet leaves when it is due
//! and behind those of its entry, wherever its shard goes.

use super::*;
use proptest::prelude::*;

const SHARDS: usize = 3;
const ROOM: usize = 12;

#[derive(Clone, Debug)]
enum Step {
    Keep { entry: u32, in_ns: u64 },
    Pass(u64),
    RulesChanged { shard: u16, gone: Option<u32> },
    Move { shard: u16 },
}

fn step() -> impl Strategy<Value = Step> {
    let shard = || 0..SHARDS as u16;
    prop_oneof![
        4 => (0u32..9, 1u64..50).prop_map(|(entry, in_ns)| Step::Keep { entry, in_ns }),
        2 => (0u64..30).prop_map(Step::Pass),
        1 => (shard(), prop::option::of(0u32..9))
            .prop_map(|(shard, gone)| Step::RulesChanged { shard, gone }),
        1 => shard().prop_map(|shard| Step::Move { shard }),
    ]
}

fn shard_of(entry: u32) -> ShardId {
    ShardId((entry as usize % SHARDS) as u16)
}

/// What should wait: entry, due time, number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Listed {
    entry: u32,
    due_ns: u64,
    number: u32,
}

/// Two workers, the shards of each, and all that waits.
struct Pair {
    workers: [Shaper<u32>; 2],
    owner: [usize; SHARDS],
    list: Vec<Listed>,
    not_before: [u64; 9],
    now_ns: u64,
    numbers: u32,
}

impl Pair {
    fn owner(&mut self, shard: ShardId) -> &mut Shaper<u32> {
        &mut self.workers[self.owner[usize::from(shard.0)]]
    }

    fn of_entry(&self, entry: u32) -> Vec<Listed> {
        let all = self.list.iter().copied();
        all.filter(|l| l.entry == entry).collect()
    }

    fn keep(&mut self, entry: u32, in_ns: u64) {
        let shard = shard_of(entry);
        let before = self.of_entry(entry);
        let owner = self.owner[usize::from(shard.0)];
        let standing = self.workers[owner].standing(shard, entry);
        let floor = if before.is_empty() {
            0
        } else {
            self.not_before[entry as usize]
        };
        assert_eq!(standing.packets as usize, before.len());
        assert_eq!(standing.not_before_ns, floor);
        let last = before.iter().map(|l| l.due_ns).max();
        assert_eq!(self.workers[owner].last_due_ns(shard, entry), last);
        // As the path does: no earlier than the rules before it had it.
        let due_ns = (self.now_ns + in_ns).max(floor);
        let number = self.numbers;
        self.numbers += 1;
        let there = self.workers[owner].len();
        match self.workers[owner].keep(shard, entry, (number, Meta::NONE), due_ns) {
            Ok(()) => {
                if before.is_empty() {
                    self.not_before[entry as usize] = 0;
                }
                let listed = Listed {
                    entry,
                    due_ns,
                    number,
                };
                self.list.push(listed);
            }
            Err(back) => assert_eq!((back, there), (number, ROOM)),
        }
    }

    fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
        for worker in 0..2 {
            let mut last = (0, 0);
            while let Some((number, _, is_last)) = self.workers[worker].take_due(self.now_ns) {
                let at = self.list.iter().position(|l| l.number == number);
                let taken = self.list.remove(at.expect("waits once"));
                assert_eq!(self.owner[usize::from(shard_of(taken.entry).0)], worker);
                assert!(taken.due_ns <= self.now_ns && taken.due_ns >= last.0);
                let others = self.of_entry(taken.entry);
                let is_first = |l: &Listed| (taken.due_ns, number) < (l.due_ns, l.number);
                assert!(others.iter().all(is_first), "{taken:?} before {others:?}");
                assert_eq!(is_last, others.is_empty());
                last = (taken.due_ns, number);
            }
            self.workers[worker].set_behind(self.now_ns);
            assert!(!self.workers[worker].is_behind());
        }
        assert!(self.list.iter().all(|l| l.due_ns > self.now_ns));
    }

    fn rules_changed(&mut self, shard: u16, gone: Option<u32>) {
        let mut discarded = vec![];
        let is_there = |entry| Some(entry) != gone;
        let owner = self.owner(ShardId(shard));
        owner.rules_changed(ShardId(shard), is_there, |number| discarded.push(number));
        let goes = |l: &Listed| shard_of(l.entry).0 == shard && Some(l.entry) == gone;
        let expected: Vec<u32> = self
            .list
            .iter()
            .filter(|l| goes(l))
            .map(|l| l.number)
            .collect();
        discarded.sort_unstable();
        assert_eq!(discarded, expected);
        self.list.retain(|l| !goes(l));
        for entry in (0..9).filter(|entry| shard_of(*entry).0 == shard) {
            let last = self.of_entry(entry).iter().map(|l| l.due_ns).max();
            self.not_before[entry as usize] = last.unwrap_or(0);
        }
    }

    fn move_shard(&mut self, shard: u16) {
        let given = self.owner(ShardId(shard)).give(ShardId(shard));
        let owner = &mut self.owner[usize::from(shard)];
        *owner = 1 - *owner;
        let moved = |l: &Listed| shard_of(l.entry).0 == shard;
        let expected = self.list.iter().filter(|l| moved(l)).count();
        assert_eq!(given.as_ref().map_or(0, |given| given.len()), expected);
        let mut lost = vec![];
        if let Some(given) = given {
            self.owner(ShardId(shard))
                .accept(ShardId(shard), *given, |number| lost.push(number));
        }
        self.list.retain(|l| !lost.contains(&l.number));
    }

    fn check(&self) {
        let waiting: usize = self.workers.iter().map(Shaper::len).sum();
        assert_eq!(waiting, self.list.len());
        for (at, worker) in self.workers.iter().enumerate() {
            let mine = self.list.iter();
            let mine = mine.filter(|l| self.owner[usize::from(shard_of(l.entry).0)] == at);
            let first = mine.map(|l| l.due_ns).min();
            // What left with its shard may be looked for in vain.
            match (worker.next_due_ns(), first) {
                (None, first) => assert_eq!(first, None),
                (Some(next), Some(first)) => assert!(next <= first),
                (Some(_), None) => panic!("nothing waits"),
            }
        }
    }
}

proptest! {
    #[test]
    fn it_is_a_list_that_is_searched(steps in prop::collection::vec(step(), 1..120)) {
        let mut pair = Pair {
            workers: [Shaper::new(ROOM, SHARDS), Shaper::new(ROOM, SHARDS)],
            owner: [0, 1, 0],
            list: vec![],
            not_before: [0; 9],
            now_ns: 100,
            numbers: 0,
        };
        for step in steps {
            match step {
                Step::Keep { entry, in_ns } => pair.keep(entry, in_ns),
                Step::Pass(ns) => pair.pass(ns),
                Step::RulesChanged { shard, gone } => pair.rules_changed(shard, gone),
                Step::Move { shard } => pair.move_shard(shard),
            }
            pair.check();
        }
        pair.pass(1_000);
        prop_assert!(pair.list.is_empty() && pair.workers.iter().all(Shaper::is_empty));
    }
}

/// A new packet of such an entry would have had to wait for those.
#[test]
fn nothing_is_late_once_what_was_late_is_discarded() {
    let mut shaper = Shaper::new(ROOM, SHARDS);
    let meta = Meta::NONE;
    shaper.keep(ShardId(0), 3, (1u32, meta), 10).unwrap();
    shaper.set_behind(20);
    assert!(shaper.is_behind());
    let mut discarded = Vec::new();
    shaper.rules_changed(ShardId(0), |_| false, |packet| discarded.push(packet));
    assert_eq!(
        (discarded, shaper.len(), shaper.is_behind()),
        (vec![1], 0, false)
    );
}

#[test]
fn what_left_with_its_shard_is_not_late() {
    let mut shaper = Shaper::new(ROOM, SHARDS);
    let meta = Meta::NONE;
    shaper.keep(ShardId(0), 3, (1u32, meta), 10).unwrap();
    assert!(shaper.give(ShardId(0)).is_some_and(|gone| gone.len() == 1));
    shaper.keep(ShardId(1), 4, (2, meta), 50).unwrap();
    shaper.set_behind(20);
    assert!(!shaper.is_behind());
    assert_eq!(shaper.next_due_ns(), Some(50));
}
