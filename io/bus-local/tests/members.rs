//! Programs of a core, as threads with members of their own, by each carrier: envelopes, death, refusals, sleep.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use sluice_bus::{Envelope, Event, Kind, Transport as _, Unsent};
use sluice_bus_local::{Carrier, Manager, Member, MemberError, News, Told};
use sluice_host::poll::wait_readable;
use sluice_sbi::{CallId, Done, Instance, Key, Nf, Place, QuerySubscription, Slot};

const LONG: Duration = Duration::from_secs(60);

const CARRIERS: [Carrier; 2] = [Carrier::Ring, Carrier::Socket];

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("sluice-{name}-{}", std::process::id()))
}

fn envelope(from: Nf, to: Nf, number: u32, message: impl Into<Slot>) -> Envelope {
    let key = Key {
        slot: number,
        generation: 0,
    };
    Envelope {
        from: from.into(),
        to: to.into(),
        call: CallId(key),
        kind: Kind::Request,
        load: 0,
        deadline: sluice_sbi::Instant(7),
        message: message.into(),
    }
}

/// Waits as a host does.
fn next(member: &mut Member) -> Event {
    let until = Instant::now() + LONG;
    loop {
        if let Some(event) = member.receive() {
            return event;
        }
        assert!(Instant::now() < until, "nothing comes");
        if member.may_sleep() {
            wait_readable(&*member, LONG).expect("poll");
        }
    }
}

/// A manager with its own member, and another one that has joined.
fn joined(name: &str, carrier: Carrier) -> (Manager, Member, Member) {
    let path = path(name);
    let mut manager = Manager::listen(&path, carrier).expect("a path");
    let mut own = manager.join("core", &[Nf::Amf, Nf::Udr]).expect("its own");
    let asks = thread::spawn(move || {
        Member::join(&path, carrier, "second", &[Nf::Ausf, Nf::Udm], LONG).expect("a member")
    });
    turn_until(
        &mut manager,
        |news| matches!(news, News::Joined { name, .. } if name == "second"),
    );
    let mut other = asks.join().expect("no panic");
    // Arenas and ends of sockets go by the manager.
    let is_up = |event: &Event| matches!(event, Event::Up { .. });
    let (mut has_own, mut has_other) = (false, false);
    while !(has_own && has_other) {
        manager.turn();
        has_own |= own.may_sleep() || own.receive().is_some_and(|event| is_up(&event));
        has_other |= other.may_sleep() || other.receive().is_some_and(|event| is_up(&event));
        let reached = |member: &mut Member, to| {
            let sent = member.send(envelope(Nf::Amf, to, 0, Done::ALL));
            !matches!(sent, Err(Unsent::Unreachable(_)))
        };
        has_own &= reached(&mut own, Nf::Udm);
        has_other &= reached(&mut other, Nf::Amf);
    }
    (manager, own, other)
}

fn turn_until(manager: &mut Manager, is_it: impl Fn(&News) -> bool) {
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        if manager.turn().iter().any(&is_it) {
            return;
        }
        wait_readable(&*manager, Duration::from_millis(20)).expect("poll");
    }
    panic!("no such news");
}

/// Takes what was sent to find out whether the other one is reached.
fn drain(member: &mut Member) {
    while member.receive().is_some() {}
}

#[test]
fn envelopes_come_in_order_and_are_answered_by_a_member_that_sleeps() {
    for carrier in CARRIERS {
        let (_manager, mut own, mut other) = joined("order", carrier);
        let supi = sluice_ids::Supi::from_imsi("001010000000001").expect("digits");
        drain(&mut own);
        drain(&mut other);
        let answers = thread::spawn(move || {
            let mut taken = 0;
            while taken < 10_000 {
                let Event::Came(mut envelope) = next(&mut other) else {
                    panic!("another event");
                };
                assert_eq!(envelope.call.0.slot, taken);
                taken += 1;
                (envelope.from, envelope.to) = (envelope.to, envelope.from);
                envelope.kind = Kind::Reply;
                let mut unsent = other.send(envelope);
                while let Err(Unsent::Full(back)) = unsent {
                    other.flush();
                    thread::yield_now();
                    unsent = other.send(back);
                }
                assert!(unsent.is_ok());
                other.flush();
            }
        });
        let (mut sent, mut back) = (0, 0);
        while back < 10_000 {
            while sent < 10_000 {
                let request = QuerySubscription { supi };
                if own.send(envelope(Nf::Amf, Nf::Udm, sent, request)).is_err() {
                    break;
                }
                sent += 1;
            }
            own.flush();
            let Event::Came(envelope) = next(&mut own) else {
                panic!("another event");
            };
            assert_eq!((envelope.call.0.slot, envelope.kind), (back, Kind::Reply));
            back += 1;
        }
        answers.join().expect("the other end");
    }
}

#[test]
fn a_member_that_is_gone_is_lost_at_once_and_may_come_again() {
    for carrier in CARRIERS {
        let (mut manager, mut own, other) = joined("gone", carrier);
        drain(&mut own);
        drop(other);
        turn_until(&mut manager, |news| matches!(news, News::Gone { .. }));
        match next(&mut own) {
            Event::Lost { functions, .. } => assert_eq!(functions, [Nf::Ausf, Nf::Udm]),
            other => panic!("{other:?}"),
        }
        let sent = own.send(envelope(Nf::Amf, Nf::Udm, 1, Done::ALL));
        assert!(matches!(sent, Err(Unsent::Unreachable(_))));
    }
}

#[test]
fn a_function_has_one_program_and_a_path_one_manager() {
    for carrier in CARRIERS {
        let (mut manager, _own, _other) = joined("twice", carrier);
        let path = path("twice");
        assert!(Manager::listen(&path, carrier).is_err());
        let asks = thread::spawn(move || Member::join(&path, carrier, "third", &[Nf::Udm], LONG));
        let refused = |news: &News| matches!(news, News::Refused { why } if why.contains("second has the UDM"));
        turn_until(&mut manager, refused);
        match asks.join().expect("no panic") {
            Err(MemberError::Refused(why)) => {
                assert_eq!(why, "third is refused: second has the UDM")
            }
            other => panic!("{:?}", other.map(drop)),
        }
    }
}

#[test]
fn a_member_speaks_for_its_own_functions_alone() {
    for carrier in CARRIERS {
        let (_manager, mut own, mut other) = joined("foreign", carrier);
        drain(&mut own);
        other
            .send(envelope(Nf::Smf, Nf::Amf, 1, Done::ALL))
            .expect("room");
        other.flush();
        assert!(matches!(next(&mut own), Event::Unreadable));
    }
}

#[test]
fn the_manager_tells_and_asks_and_its_end_is_seen() {
    for carrier in CARRIERS {
        let (mut manager, mut own, mut other) = joined("tells", carrier);
        drain(&mut own);
        manager.tell(&|functions| {
            assert_eq!(functions, [Nf::Ausf, Nf::Udm]);
            "keys".to_owned()
        });
        let (id, asked) = manager.ask(&[Nf::Ausf, Nf::Udm], "flow");
        assert_eq!(asked, 1);
        let mut told = Vec::new();
        while told.len() < 2 {
            other.may_sleep();
            told.extend(other.take_told());
        }
        let expected = [
            Told::News("keys".to_owned()),
            Told::Question(id, "flow".to_owned()),
        ];
        assert_eq!(told, expected);
        // One that has no room in a frame goes beside it.
        for text in ["lines".to_owned(), "\n".repeat(3 << 20)] {
            other.answer(id, text.clone());
            let answer = News::Answered {
                id,
                text: text.clone(),
            };
            turn_until(&mut manager, |news| *news == answer);
            assert!(other.tell(text.clone()));
            let told = News::Told { text };
            turn_until(&mut manager, |news| *news == told);
        }
        assert!(!other.is_closed());
        drop(manager);
        other.may_sleep();
        assert!(other.is_closed());
    }
}

#[test]
fn a_full_link_gives_envelopes_back_until_the_other_end_takes_some() {
    for carrier in CARRIERS {
        let (_manager, mut own, mut other) = joined("full", carrier);
        drain(&mut own);
        drain(&mut other);
        let mut sent = 0;
        let back = loop {
            match own.send(envelope(Nf::Amf, Nf::Udm, sent, Done::ALL)) {
                Ok(()) => sent += 1,
                Err(Unsent::Full(back)) => break back,
                Err(Unsent::Unreachable(_)) => panic!("not reached"),
            }
        };
        assert_eq!(back.call.0.slot, sent);
        let mut taken = 0;
        while let Some(Event::Came(envelope)) = other.receive() {
            assert_eq!(envelope.call.0.slot, taken);
            taken += 1;
        }
        assert_eq!(taken, sent);
        assert!(own.send(back).is_ok());
    }
}

#[test]
fn a_program_with_another_carrier_is_refused_by_name() {
    let path = path("carriers");
    let mut manager = Manager::listen(&path, Carrier::Socket).expect("a path");
    let asks = thread::spawn(move || Member::join(&path, Carrier::Ring, "one", &[Nf::Udm], LONG));
    turn_until(&mut manager, |news| matches!(news, News::Refused { .. }));
    match asks.join().expect("no panic") {
        Err(MemberError::Refused(why)) => {
            assert!(
                why.contains("it has rings to others, and the core has sockets"),
                "{why}"
            );
        }
        other => panic!("{:?}", other.map(drop)),
    }
}

#[test]
fn two_instances_of_a_function_are_reached_each_by_its_number() {
    for carrier in CARRIERS {
        let (mut manager, mut own, mut first) = joined("instances", carrier);
        let second = Instance {
            number: 1,
            priority: 7,
            capacity: 9,
        };
        let join = move |name: &'static str| {
            let functions = [Nf::Udm];
            thread::spawn(move || {
                let path = path("instances");
                Member::join_as(second, &path, carrier, name, &functions, LONG)
            })
        };
        let asks = join("third");
        let is_third = |news: &News| matches!(news, News::Joined { name, .. } if name == "third");
        turn_until(&mut manager, is_third);
        let mut other = asks.join().expect("no panic").expect("a member");
        // An instance has one program.
        let twice = join("fourth");
        turn_until(&mut manager, |news| matches!(news, News::Refused { .. }));
        match twice.join().expect("no panic") {
            Err(MemberError::Refused(why)) => assert!(why.contains("third has the UDM/1"), "{why}"),
            _ => panic!("it is taken"),
        }
        drain(&mut first);
        let up = loop {
            manager.turn();
            other.may_sleep();
            match own.receive() {
                Some(Event::Up { instance, .. }) if instance.number == 1 => break instance,
                _ => own.may_sleep(),
            };
        };
        assert_eq!(up, second);
        let to = |number| Envelope {
            to: Place::from(Nf::Udm).at(number),
            ..envelope(Nf::Amf, Nf::Udm, number.into(), Done::ALL)
        };
        for (number, member) in [(1, &mut other), (0, &mut first)] {
            own.send(to(number)).expect("it is reached");
            own.flush();
            let came = loop {
                if let Event::Came(came) = next(member) {
                    break came;
                }
            };
            assert_eq!(came, to(number));
        }
        assert!(matches!(own.send(to(2)), Err(Unsent::Unreachable(_))));
        drop(other);
        manager_until_lost(&mut manager, &mut own);
        assert!(matches!(own.send(to(1)), Err(Unsent::Unreachable(_))));
        assert!(own.send(to(0)).is_ok());
    }
}

/// Waits until a member hears that instance 1 is gone.
fn manager_until_lost(manager: &mut Manager, own: &mut Member) {
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        manager.turn();
        own.may_sleep();
        if let Some(Event::Lost { number, .. }) = own.receive() {
            assert_eq!(number, 1);
            return;
        }
    }
    panic!("nobody is lost");
}
