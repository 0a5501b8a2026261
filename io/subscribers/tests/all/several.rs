//! Several cores, and who changes something, at one server: what each finds out, and whose a sequence number is.

use std::collections::BTreeSet;

use sluice_security::Sqn;
use sluice_subscribers::draft::Text;
use sluice_subscribers::operation::Changed;
use sluice_subscribers::store::{Claim, Format, HomeKeyProfile};
use sluice_subscribers::{Access, SqnState, Store};

use crate::kit::{NOW_S, Place, draft, on_a_server, supi, table};

/// What a core finds out, which it takes over.
fn found(core: &mut Store) -> Option<Changed> {
    let (number, changed) = core.changes().unwrap()?;
    core.saw(number);
    Some(changed)
}

#[test]
fn a_core_finds_out_what_others_have_changed_and_nothing_else() {
    on_a_server(|| {
        let (place, mut other) = Place::new();
        other
            .import(table(5).as_bytes(), Format::Csv, false, NOW_S)
            .unwrap();
        let mut core = place.open(Access::Serve).unwrap();
        assert_eq!(found(&mut core), None);
        other.add(&draft(7), NOW_S).unwrap();
        let bar = |mut draft: sluice_subscribers::Draft| {
            draft.barred = Text::new("yes");
            Ok(draft)
        };
        other.change(&supi(1), NOW_S, bar).unwrap();
        assert!(other.remove(&supi(2)).unwrap() && !other.remove(&supi(2)).unwrap());
        let mut changed = found(&mut core).unwrap();
        changed.subscribers.sort();
        assert_eq!(changed.subscribers, [supi(1), supi(2), supi(7)]);
        assert!(!changed.all && !changed.home_keys && changed.removed.is_empty());
        assert_eq!(core.get(&supi(2)).unwrap(), None);
        assert!(core.get(&supi(1)).unwrap().unwrap().profile.barred);
        assert_eq!(found(&mut core), None);
        // What it does itself is no news, but does not hide what others did before.
        core.add(&draft(8), NOW_S).unwrap();
        assert_eq!(found(&mut core), None);
        other.add(&draft(9), NOW_S).unwrap();
        core.add(&draft(10), NOW_S).unwrap();
        let changed = found(&mut core).unwrap();
        assert!(changed.subscribers.contains(&supi(9)));
        other.new_home_key(HomeKeyProfile::B, None, None).unwrap();
        assert!(found(&mut core).unwrap().home_keys);
        other
            .store_sqns(&[(supi(1), SqnState::new(Sqn::new(9 << 5), NOW_S))])
            .unwrap();
        assert_eq!(found(&mut core), None);
        // A change that was refused is none.
        other.add(&draft(9), NOW_S).unwrap_err();
        assert_eq!(found(&mut core), None);
        // One that came back after it was gone.
        other.add(&draft(2), NOW_S).unwrap();
        assert_eq!(found(&mut core).unwrap().subscribers, [supi(2)]);
        assert!(core.get(&supi(2)).unwrap().is_some());
        // Of a restoration everything.
        let backup = place.file("backup.db");
        other.backup(&backup).unwrap();
        other.remove(&supi(1)).unwrap();
        other.restore(&backup, &place.key, NOW_S).unwrap();
        let changed = found(&mut core).unwrap();
        assert!(changed.home_keys && changed.subscribers.contains(&supi(1)));
    });
}

#[test]
fn no_two_cores_use_a_sequence_number() {
    const CORES: usize = 4;
    const EACH: usize = 40;
    on_a_server(|| {
        let (place, mut store) = Place::new();
        store.add(&draft(1), NOW_S).unwrap();
        store.add(&draft(2), NOW_S).unwrap();
        let cores: Vec<_> = (0..CORES)
            .map(|at| {
                let mut core = place.open(Access::Serve).unwrap();
                std::thread::spawn(move || use_some(&mut core, at, EACH))
            })
            .collect();
        // Whoever changes something else meanwhile takes none of them back.
        for turn in 0..EACH {
            let barred = Text::new(if turn % 2 == 0 { "yes" } else { "no" });
            let changed = store.change(&supi(1), NOW_S, |draft| {
                Ok(sluice_subscribers::Draft { barred, ..draft })
            });
            changed.unwrap();
        }
        let mut used = BTreeSet::new();
        let mut last = Sqn::default();
        for core in cores {
            for sqn in core.join().unwrap() {
                last = last.max(sqn);
                assert!(used.insert(sqn), "{sqn:?} twice");
            }
        }
        assert_eq!(used.len(), CORES * EACH);
        assert_eq!(store.get(&supi(1)).unwrap().unwrap().sqn.last, last);
    });
}

/// Claims numbers of two subscribers at a time, in either order, until it has enough.
fn use_some(core: &mut Store, at: usize, enough: usize) -> Vec<Sqn> {
    let mut before = [Sqn::default(); 2];
    let mut used = Vec::new();
    while used.len() < enough {
        let claim = |which: usize| Claim {
            supi: supi(1 + which as u32),
            state: SqnState::new(before[which].next(0), NOW_S),
            before: before[which],
        };
        let order = if at.is_multiple_of(2) { [0, 1] } else { [1, 0] };
        let claims = order.map(claim);
        let told = core.claim_sqns(&claims).unwrap();
        for (at, instead) in told.into_iter().enumerate() {
            let which = order[at];
            before[which] = instead.map_or(claims[at].state.last, |state| state.last);
            if which == 0 && instead.is_none() {
                used.push(claims[at].state.last);
            }
        }
    }
    used
}
