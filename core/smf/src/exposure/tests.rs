//! Subscriptions to events of sessions: who is told of which, how often, and how long.

use core::net::{Ipv4Addr, SocketAddr};

use sluice_n2::Tunnel;
use sluice_sbi::{
    Done, Effect, ForUe, Input, Instant, Key, NetworkFunction, Now, RequestId, Slot,
    UnsubscribeSmfEvents,
};
use sluice_wire::ids::Seid;

use super::*;
use crate::Smf;
use crate::config::{Config, NetworkConfig, UpfConfig};
use crate::context::session::AtUpf;

fn supi(number: u8) -> Supi {
    Supi::from_imsi(&format!("00101000000000{number}")).expect("digits")
}

fn slice() -> Snssai {
    Snssai::new(1, None)
}

fn dnn(name: &str) -> Dnn {
    Dnn::new(name).expect("a name")
}

struct World {
    smf: Smf,
    now: Now,
}

impl World {
    fn new() -> Self {
        let config = Config {
            n4: Ipv4Addr::new(127, 0, 0, 20).into(),
            started_unix_s: 1,
            upfs: vec![UpfConfig::new(SocketAddr::from(([127, 0, 0, 7], 8805)))],
            networks: vec![NetworkConfig::new(dnn("internet"))],
            upf_return_ms: crate::UPF_RETURN_MS,
            back_off_s: crate::BACK_OFF_S,
        };
        let smf = Smf::new(config).expect("sound");
        let now = Now {
            instant: Instant(0),
            unix_s: 1_000,
        };
        let mut world = Self { smf, now };
        world.input(Input::Time);
        world
    }

    /// Effects of an input: its answer, and calls of subscribers.
    fn input(&mut self, input: Input<'_>) -> (Option<Message>, Vec<(CallId, NotifySmfEvent)>) {
        let mut effects = Vec::new();
        self.smf.handle(self.now, input, &mut effects);
        let (mut answer, mut told) = (None, Vec::new());
        for effect in effects {
            match effect {
                Effect::Answer { message, .. } => answer = Some(*message),
                Effect::Call {
                    to, call, message, ..
                } if to.is_outside() => {
                    told.push((call, (*message).try_into().expect("a notification")));
                }
                _ => {}
            }
        }
        (answer, told)
    }

    fn ask(
        &mut self,
        message: impl Into<Message>,
    ) -> (Option<Message>, Vec<(CallId, NotifySmfEvent)>) {
        let id = RequestId {
            from: Place::outside(Nf::Smf),
            call: CallId(Key {
                slot: 0,
                generation: 0,
            }),
        };
        let message = Slot::from(message);
        self.input(Input::Request { id, message })
    }

    fn subscribe(&mut self, subscription: SmfEventSubscription) -> (u64, Vec<NotifySmfEvent>) {
        let request = SubscribeSmfEvents {
            id: 0.into(),
            subscription,
        };
        let (answer, told) = self.ask(request);
        let Some(Message::SmfEventsSubscribed(subscribed)) = answer else {
            panic!("{answer:?}");
        };
        (
            subscribed.id.get(),
            told.into_iter().map(|(_, one)| one).collect(),
        )
    }

    /// A session that the UE has accepted; what subscribers are told of it.
    fn establish(
        &mut self,
        supi: Supi,
        identity: u8,
        dnn: Dnn,
    ) -> (SessionId, Vec<NotifySmfEvent>) {
        let id = {
            let state = &mut *self.smf.state.borrow_mut();
            let mut session = Session::new(supi, identity, slice(), dnn);
            session.address.ipv4 = Some(Ipv4Addr::new(10, 45, 0, identity));
            session.is_accepted = true;
            session.upf = Some(AtUpf {
                association: state.associations[0].expect("begun"),
                to: None,
                seid: Seid(77),
                uplink: Tunnel::default(),
                ipv6_prefix: None,
            });
            let id = SessionId(state.sessions.insert(session).expect("room"));
            state.by_identity.insert((supi, identity), id);
            id
        };
        (id, self.told())
    }

    fn end(&mut self, id: SessionId) -> Vec<NotifySmfEvent> {
        self.smf.state.borrow_mut().remove(id);
        self.told()
    }

    /// Subscribers hear after any input.
    fn told(&mut self) -> Vec<NotifySmfEvent> {
        let (_, told) = self.input(Input::Time);
        told.into_iter().map(|(_, one)| one).collect()
    }
}

fn both(of: ForUe) -> SmfEventSubscription {
    let bits = SmfEvent::ALL
        .into_iter()
        .fold(0, |bits, one| bits | one.bit());
    SmfEventSubscription::new(of, bits)
}

fn seen(told: &[NotifySmfEvent]) -> Vec<(u64, SmfEvent)> {
    told.iter().map(|one| (one.id.get(), one.event)).collect()
}

#[test]
fn subscribers_hear_of_their_sessions_once_each() {
    use SmfEvent::{Established, Released};
    let mut world = World::new();
    let (one, _) = world.subscribe(both(supi(1).into()));
    let (any, _) = world.subscribe(both(ForUe::any()));
    let mut lab = both(supi(1).into()).in_slice(Some(slice()));
    (lab.dnn, lab.session) = (dnn("lab"), 6);
    let (lab, _) = world.subscribe(lab);
    let elsewhere = both(ForUe::any()).in_slice(Some(Snssai::new(2, None)));
    world.subscribe(elsewhere);
    let (first, told) = world.establish(supi(1), 5, dnn("internet"));
    assert_eq!(seen(&told), [(one, Established), (any, Established)]);
    assert_eq!((told[0].ipv4, told[0].session), ([10, 45, 0, 5], 5));
    assert_eq!(told[0].unix_s.get(), 1_000);
    assert!(world.told().is_empty(), "once");
    let (_, told) = world.establish(supi(1), 6, dnn("lab"));
    let expected = [(one, Established), (lab, Established), (any, Established)];
    assert_eq!(seen(&told), expected);
    let (_, told) = world.establish(supi(2), 5, dnn("internet"));
    assert_eq!(seen(&told), [(any, Established)]);
    assert_eq!(seen(&world.end(first)), [(one, Released), (any, Released)]);
    assert!(world.told().is_empty());
}

#[test]
fn sessions_that_are_there_are_told_at_the_beginning_and_reports_are_counted() {
    let mut world = World::new();
    for (number, session) in [(1, 5), (1, 6), (2, 5)] {
        let (_, told) = world.establish(supi(number), session, dnn("internet"));
        assert!(told.is_empty());
    }
    let mut immediate = both(supi(1).into());
    immediate.is_immediate = true;
    let (_, told) = world.subscribe(immediate);
    assert_eq!(
        told.iter().map(|one| one.session).collect::<Vec<_>>(),
        [5, 6]
    );
    immediate.of = ForUe::any();
    immediate.most = 2.into();
    let (id, told) = world.subscribe(immediate);
    let active: Vec<bool> = told.iter().map(|one| one.is_active).collect();
    assert_eq!(active, [true, false]);
    let gone = UnsubscribeSmfEvents { id: id.into() };
    assert_eq!(world.ask(gone).0, Some(Problem::ContextNotFound.into()));
}

#[test]
fn a_subscription_ends_when_it_is_over_or_unknown_to_its_subscriber() {
    let mut world = World::new();
    let mut soon = both(ForUe::any());
    soon.until_unix_s = 1_010.into();
    world.subscribe(soon);
    let (other, _) = world.subscribe(both(ForUe::any()));
    world.now.instant = Instant(0).plus_ms(10_000);
    world.now.unix_s = 1_010;
    let (_, told) = world.establish(supi(1), 5, dnn("internet"));
    assert_eq!(seen(&told), [(other, SmfEvent::Established)]);
    let over = SubscribeSmfEvents {
        id: 0.into(),
        subscription: soon,
    };
    assert_eq!(world.ask(over).0, Some(Problem::Protocol.into()));
    // It changes, and goes on under its name.
    let mut releases = both(ForUe::any());
    releases.events = SmfEvent::Released.bit();
    let change = SubscribeSmfEvents {
        id: other.into(),
        subscription: releases,
    };
    assert!(matches!(
        world.ask(change).0,
        Some(Message::SmfEventsSubscribed(_))
    ));
    let (id, told) = world.establish(supi(1), 6, dnn("internet"));
    assert!(told.is_empty());
    world.smf.state.borrow_mut().remove(id);
    let (_, told) = world.input(Input::Time);
    let (call, _) = told[0];
    let message = Problem::ContextNotFound.into();
    world.input(Input::Reply { call, message });
    assert_eq!(world.smf.state.borrow().exposure.len(), 0);
    assert_eq!(world.smf.counters().lost_events, 1);
    let end = UnsubscribeSmfEvents { id: other.into() };
    assert_eq!(world.ask(end).0, Some(Problem::ContextNotFound.into()));
    let (again, _) = world.subscribe(both(ForUe::any()));
    let end = UnsubscribeSmfEvents { id: again.into() };
    assert_eq!(world.ask(end).0, Some(Done::ALL.into()));
}

#[test]
fn subscriptions_to_all_sessions_are_bounded() {
    let mut world = World::new();
    for _ in 0..limits::SUBSCRIPTIONS_OF_ANY {
        world.subscribe(both(ForUe::any()));
    }
    let request = SubscribeSmfEvents {
        id: 0.into(),
        subscription: both(ForUe::any()),
    };
    assert_eq!(world.ask(request).0, Some(Problem::NoResources.into()));
    world.subscribe(both(supi(1).into()));
    let none = SubscribeSmfEvents {
        id: 0.into(),
        subscription: SmfEventSubscription::new(ForUe::any(), 0),
    };
    assert_eq!(world.ask(none).0, Some(Problem::Protocol.into()));
}
