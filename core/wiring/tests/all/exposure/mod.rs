//! Functions that are no part of the core hear of UEs (TS 29.518, 5.2.2.5, 5.3 and 5.4).

use sluice_n1::RegistrationKind;
use sluice_sbi::{
    AmfEvent, AmfEventSubscription, AmfEventsSubscribed, Done, ForUe, Message, Nf, NotifyAmfEvents,
    NotifyAmfStatus, Problem, QueryUe, ReachUe, SubscribeAmfEvents, SubscribeAmfStatus, UeInfo,
    UnsubscribeAmfEvents, UnsubscribeAmfStatus,
};
use sluice_testbed::outside::Outside;

use crate::world::{TestNetwork, supi, tai};

const ALL: u8 = 0b1111;

fn wanted(of: ForUe, events: u8) -> AmfEventSubscription {
    AmfEventSubscription {
        of,
        events,
        immediate: 0,
        by_cell: true,
        most: 0.into(),
        until_unix_s: 0.into(),
    }
}

/// Registered and idle phones.
fn idle(numbers: &[u32]) -> (TestNetwork, Outside) {
    let mut world = TestNetwork::new(numbers);
    for phone in 0..numbers.len() {
        world.register(phone);
    }
    let outside = Outside::of(&mut world);
    (world, outside)
}

#[track_caller]
fn subscribe(
    world: &mut TestNetwork,
    outside: &Outside,
    subscription: AmfEventSubscription,
) -> AmfEventsSubscribed {
    let request = SubscribeAmfEvents {
        id: 0.into(),
        subscription,
    };
    match outside.ask(world, Nf::Amf, request) {
        Some(Message::AmfEventsSubscribed(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

fn told(world: &mut TestNetwork, outside: &Outside) -> Vec<NotifyAmfEvents> {
    let told = outside.take_told(world).into_iter();
    let told = told.map(|message| match message {
        Message::NotifyAmfEvents(notice) => notice,
        other => panic!("{other:?}"),
    });
    told.collect()
}

/// A phone says that it is still there, and is idle again.
fn comes_and_goes(world: &mut TestNetwork, phone: usize) {
    let nas = world.ue_mut(phone).register(RegistrationKind::Periodic);
    world.connect(phone, nas);
}

#[test]
fn a_subscriber_hears_of_a_phone_that_is_connected_and_idle_again() {
    let (mut world, outside) = idle(&[1, 2]);
    let bits = AmfEvent::Connectivity.bit();
    let subscribed = subscribe(&mut world, &outside, wanted(supi(1).into(), bits));
    assert!(subscribed.is_active && subscribed.immediate == 0);
    assert_eq!(subscribed.until_unix_s.get(), world.now.unix_s + 86_400);
    comes_and_goes(&mut world, 1);
    assert!(told(&mut world, &outside).is_empty(), "another one");
    comes_and_goes(&mut world, 0);
    let heard = told(&mut world, &outside);
    let states: Vec<bool> = heard.iter().map(|one| one.state.is_connected).collect();
    assert_eq!(states, [true, false]);
    for one in heard {
        assert_eq!((one.id, one.supi), (subscribed.id, supi(1)));
        assert_eq!((one.events, one.is_active), (bits, true));
        assert_eq!(one.state.place().map(|(_, _, area)| area), Some(tai()));
    }
    let id = subscribed.id;
    let end = UnsubscribeAmfEvents { id };
    assert_eq!(
        outside.ask(&mut world, Nf::Amf, end),
        Some(Done::ALL.into())
    );
    let again = outside.ask(&mut world, Nf::Amf, end);
    assert_eq!(again, Some(Problem::ContextNotFound.into()));
    comes_and_goes(&mut world, 0);
    assert!(told(&mut world, &outside).is_empty());
}

#[test]
fn reports_at_the_beginning_count_and_the_last_one_ends_the_subscription() {
    let (mut world, outside) = idle(&[1]);
    let events = AmfEvent::Connectivity.bit() | AmfEvent::Registration.bit();
    let bounded = AmfEventSubscription {
        immediate: AmfEvent::Registration.bit(),
        most: 2.into(),
        ..wanted(supi(1).into(), events)
    };
    let subscribed = subscribe(&mut world, &outside, bounded);
    assert_eq!(subscribed.immediate, AmfEvent::Registration.bit());
    assert!(subscribed.state.is_registered && !subscribed.state.is_connected);
    comes_and_goes(&mut world, 0);
    let heard = told(&mut world, &outside);
    assert_eq!(heard.len(), 1, "one was left");
    assert!(!heard[0].is_active);
    // As an answer at once, and no more.
    let once = AmfEventSubscription {
        most: 1.into(),
        ..bounded
    };
    assert!(!subscribe(&mut world, &outside, once).is_active);
    assert_eq!(size(&world), 0);
}

fn size(world: &TestNetwork) -> usize {
    let sizes = world.amf().sizes().into_iter();
    let its = sizes.filter(|(name, _)| *name == "AMF: subscriptions to events");
    its.map(|(_, size)| size).sum()
}

#[test]
fn a_subscription_to_one_phone_ends_with_it_and_one_to_all_does_not() {
    let (mut world, outside) = idle(&[1]);
    let one = subscribe(&mut world, &outside, wanted(supi(1).into(), ALL));
    let all = subscribe(&mut world, &outside, wanted(ForUe::any(), ALL));
    let is_known = world.core.mobility().deregister(world.now, &supi(1), false);
    assert!(is_known);
    world.run();
    let heard = told(&mut world, &outside);
    let bits = AmfEvent::Registration.bit() | AmfEvent::Reachability.bit();
    let of = |id| heard.iter().find(|notice| notice.id == id).expect("told");
    assert_eq!((of(one.id).events, of(one.id).is_active), (bits, false));
    assert_eq!((of(all.id).events, of(all.id).is_active), (bits, true));
    assert_eq!((heard.len(), size(&world)), (2, 1));
    // Whoever comes is new to it.
    world.register(0);
    let heard = told(&mut world, &outside);
    let first = heard.first().expect("told");
    assert_eq!((first.id, first.events), (all.id, ALL));
    assert!(first.state.is_registered && first.state.is_connected && first.state.is_reachable);
    let request = SubscribeAmfEvents {
        id: 0.into(),
        subscription: wanted(supi(3).into(), ALL),
    };
    let refused = outside.ask(&mut world, Nf::Amf, request);
    assert_eq!(refused, Some(Problem::ContextNotFound.into()));
}

/// A phone that begins anew is registered all the while (TS 24.501, 5.5.1.2.8).
#[test]
fn a_phone_that_registers_again_keeps_its_subscriptions() {
    let (mut world, outside) = idle(&[1]);
    let bits = AmfEvent::Registration.bit();
    subscribe(&mut world, &outside, wanted(supi(1).into(), bits));
    world.ue_mut(0).forget_keys();
    world.register(0);
    world.assert_registered(0);
    assert!(told(&mut world, &outside).is_empty());
    assert_eq!(size(&world), 1);
}

#[test]
fn a_subscription_ends_at_its_time_and_by_a_subscriber_that_forgot_it() {
    let (mut world, outside) = idle(&[1]);
    let bits = AmfEvent::Connectivity.bit();
    let soon = AmfEventSubscription {
        until_unix_s: (world.now.unix_s + 10).into(),
        ..wanted(supi(1).into(), bits)
    };
    let first = subscribe(&mut world, &outside, soon);
    assert_eq!(first.until_unix_s, soon.until_unix_s);
    assert!(world.wait(), "for its end");
    assert_eq!(size(&world), 0);
    let past = SubscribeAmfEvents {
        id: 0.into(),
        subscription: soon,
    };
    let refused = outside.ask(&mut world, Nf::Amf, past);
    assert_eq!(refused, Some(Problem::Protocol.into()));
    let second = subscribe(&mut world, &outside, wanted(supi(1).into(), bits));
    // It changes, and goes on under its name.
    let change = SubscribeAmfEvents {
        id: second.id,
        subscription: wanted(supi(1).into(), AmfEvent::Location.bit()),
    };
    let changed = outside.ask(&mut world, Nf::Amf, change);
    assert!(matches!(changed, Some(Message::AmfEventsSubscribed(one)) if one.id == second.id));
    comes_and_goes(&mut world, 0);
    assert!(told(&mut world, &outside).is_empty(), "it is where it was");
    let change = SubscribeAmfEvents {
        id: second.id,
        subscription: wanted(supi(1).into(), bits),
    };
    outside.ask(&mut world, Nf::Amf, change);
    outside.refuse(Problem::ContextNotFound);
    comes_and_goes(&mut world, 0);
    world.core.receive(world.now);
    assert_eq!((size(&world), world.amf().counters().lost_events), (0, 1));
}

#[test]
fn subscriptions_to_all_phones_are_bounded() {
    let (mut world, outside) = idle(&[1, 2]);
    let immediate = AmfEventSubscription {
        immediate: ALL,
        ..wanted(ForUe::any(), ALL)
    };
    let first = subscribe(&mut world, &outside, immediate);
    let heard = told(&mut world, &outside);
    let phones: Vec<_> = heard
        .iter()
        .map(|one| (one.id, one.supi, one.events))
        .collect();
    assert_eq!(phones, [(first.id, supi(1), ALL), (first.id, supi(2), ALL)]);
    for _ in 1..64 {
        subscribe(&mut world, &outside, wanted(ForUe::any(), ALL));
    }
    let request = SubscribeAmfEvents {
        id: 0.into(),
        subscription: wanted(ForUe::any(), ALL),
    };
    let refused = outside.ask(&mut world, Nf::Amf, request);
    assert_eq!(refused, Some(Problem::NoResources.into()));
    subscribe(&mut world, &outside, wanted(supi(1).into(), ALL));
}

#[test]
fn a_phone_that_is_wanted_is_paged_and_whoever_wants_it_hears_when_it_has_come() {
    let (mut world, outside) = idle(&[1]);
    let reach = ReachUe { supi: supi(1) };
    assert_eq!(
        outside.ask(&mut world, Nf::Amf, reach),
        Some(Done::ALL.into())
    );
    assert_eq!(world.pages.len(), 1);
    assert_eq!(world.amf().connected(), 1);
    // It is there: nobody calls it.
    assert_eq!(
        outside.ask(&mut world, Nf::Amf, reach),
        Some(Done::ALL.into())
    );
    assert_eq!(world.pages.len(), 1);
    let unknown = ReachUe { supi: supi(2) };
    let refused = outside.ask(&mut world, Nf::Amf, unknown);
    assert_eq!(refused, Some(Problem::ContextNotFound.into()));
}

#[test]
fn a_phone_that_does_not_answer_is_not_reachable_and_a_subscriber_hears_it() {
    let (mut world, outside) = idle(&[1]);
    world.answers_pages = false;
    let bits = AmfEvent::Reachability.bit();
    subscribe(&mut world, &outside, wanted(supi(1).into(), bits));
    let reach = ReachUe { supi: supi(1) };
    let call = outside.begin(&mut world, Nf::Amf, reach);
    assert_eq!(outside.answer(call), None, "it is being paged");
    let second = outside.begin(&mut world, Nf::Amf, reach);
    world.settle();
    for call in [call, second] {
        assert_eq!(outside.answer(call), Some(Problem::NotReached.into()));
    }
    assert_eq!(world.pages.len(), 3);
    let heard = told(&mut world, &outside);
    assert!(matches!(&heard[..], [one] if !one.state.is_reachable && one.events == bits));
    // There is no use in trying again so soon.
    let again = outside.ask(&mut world, Nf::Amf, reach);
    assert_eq!(again, Some(Problem::NotReached.into()));
    comes_and_goes(&mut world, 0);
    let heard = told(&mut world, &outside);
    assert!(matches!(&heard[..], [one] if one.state.is_reachable));
}

#[test]
fn voice_is_as_the_amf_tells_its_phones() {
    let (mut world, outside) = idle(&[1]);
    let query = QueryUe { supi: supi(1) };
    let has_ims_voice = crate::world::config().ims_voice;
    let expected = UeInfo { has_ims_voice };
    let answer = outside.ask(&mut world, Nf::Amf, query);
    assert_eq!(answer, Some(expected.into()));
    let unknown = QueryUe { supi: supi(2) };
    let answer = outside.ask(&mut world, Nf::Amf, unknown);
    assert_eq!(answer, Some(Problem::ContextNotFound.into()));
}

#[test]
fn whoever_wants_to_know_hears_that_the_amf_goes() {
    let (mut world, outside) = idle(&[1]);
    let new = SubscribeAmfStatus { id: 0.into() };
    let mut ids = Vec::new();
    for _ in 0..2 {
        let answer = outside.ask(&mut world, Nf::Amf, new);
        let Some(Message::AmfStatusSubscribed(answer)) = answer else {
            panic!("{answer:?}");
        };
        ids.push(answer.id);
    }
    let same = SubscribeAmfStatus { id: ids[0] };
    let answer = outside.ask(&mut world, Nf::Amf, same);
    assert!(matches!(answer, Some(Message::AmfStatusSubscribed(one)) if one.id == ids[0]));
    let end = UnsubscribeAmfStatus { id: ids[1] };
    assert_eq!(
        outside.ask(&mut world, Nf::Amf, end),
        Some(Done::ALL.into())
    );
    let again = outside.ask(&mut world, Nf::Amf, end);
    assert_eq!(again, Some(Problem::ContextNotFound.into()));
    world.core.mobility().end(world.now);
    let notice = NotifyAmfStatus {
        id: ids[0],
        guami: crate::world::config().guami,
        is_available: false,
    };
    assert_eq!(outside.take_told(&mut world), [notice.into()]);
}
