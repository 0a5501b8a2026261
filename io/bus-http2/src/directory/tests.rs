//! Tests of the directory.

use super::*;

const NRF: &str = "http://127.0.0.10:8000";
const UDM: &str = "http://127.0.0.3:8000";

fn wanted() -> BTreeMap<Nf, Nf> {
    BTreeMap::from([(Nf::Nrf, Nf::Ausf), (Nf::Udm, Nf::Ausf)])
}

fn instance(id: &str, root: &str) -> FoundInstance {
    FoundInstance {
        id: id.to_owned(),
        priority: 1,
        capacity: 50,
        load: 0,
        roots: BTreeMap::from([("nudm-sdm".to_owned(), root.to_owned())]),
    }
}

fn found(instances: &[FoundInstance]) -> Option<Found> {
    let instances = instances.to_vec();
    Some(Found {
        instances,
        validity_s: 60,
    })
}

fn texts(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| match event {
        Event::Up {
            functions,
            instance,
        } => format!("{:?} {} up", functions, instance.number),
        Event::Lost {
            functions, number, ..
        } => format!("{functions:?} {number} lost"),
        other => format!("{other:?}"),
    };
    events.iter().map(text).collect()
}

#[test]
fn the_nrf_is_looked_for_then_asked() {
    let now = Instant::now();
    let mut directory = Directory::new(NRF, &wanted(), now);
    assert!(directory.take_due(now).is_empty());
    assert_eq!(directory.take_probes(now), [NRF]);
    // The look is under way.
    assert!(directory.take_probes(now).is_empty());
    assert_eq!(directory.next_due(), None);
    directory.lose(NRF, "refused", now);
    assert_eq!(directory.next_due(), Some(now + AGAIN));
    assert_eq!(directory.take_probes(now + AGAIN), [NRF]);
    assert_eq!(texts(&directory.reach(NRF, now)), ["[Nrf] 0 up"]);
    assert_eq!(directory.take_subscriptions(now).len(), 1);
    assert!(directory.may_come(Nf::Udm, now) && !directory.may_come(Nf::Udr, now));
    assert!(!directory.may_come(Nf::Udm, now + BEGINS_WITHIN));
    assert_eq!(directory.take_due(now), [(Nf::Udm, Nf::Ausf)]);
    assert!(directory.take_due(now).is_empty());
    assert!(directory.heard(Nf::Udm, found(&[]), now).is_empty());
    assert_eq!(directory.next_due(), Some(now + AGAIN));
    assert_eq!(
        directory.root(Nf::Nrf.into(), "nnrf-disc").as_deref(),
        Some(NRF)
    );
}

#[test]
fn instances_of_the_core_have_their_places_and_others_free_ones() {
    let now = Instant::now();
    let mut directory = Directory::new(NRF, &wanted(), now);
    directory.reach(NRF, now);
    let one = Place::from(Nf::Udm).at(1);
    directory.set_own(BTreeMap::from([("own".to_owned(), one)]));
    let (own, other) = (
        instance("own", UDM),
        instance("other", "http://127.0.0.4:1"),
    );
    let events = directory.heard(Nf::Udm, found(&[own.clone(), other.clone()]), now);
    assert_eq!(texts(&events), ["[Udm] 1 up", "[Udm] 0 up"]);
    assert_eq!(directory.root(one, "nudm-sdm").as_deref(), Some(UDM));
    assert_eq!(directory.root(one.at(2), "nudm-sdm"), None);
    assert!(!directory.may_come(Nf::Udm, now));
    // The same again is nothing new, one that is gone is lost.
    assert!(
        directory
            .heard(Nf::Udm, found(&[own.clone(), other]), now)
            .is_empty()
    );
    // An NRF that was started again may know less for a while.
    let again = directory.heard(Nf::Udm, found(std::slice::from_ref(&own)), now);
    assert!(again.is_empty());
    let events = directory.heard(Nf::Udm, found(&[own]), now);
    assert_eq!(texts(&events), ["[Udm] 0 lost"]);
    // An NRF without an answer changes nothing.
    assert!(directory.heard(Nf::Udm, None, now).is_empty());
    assert_eq!(directory.root(one, "nudm-sdm").as_deref(), Some(UDM));
}

#[test]
fn a_server_that_is_not_reached_is_looked_at_again() {
    let now = Instant::now();
    let mut directory = Directory::new(NRF, &wanted(), now);
    directory.reach(NRF, now);
    directory.heard(Nf::Udm, found(&[instance("a", UDM)]), now);
    assert_eq!(texts(&directory.lose(UDM, "gone", now)), ["[Udm] 0 lost"]);
    assert!(directory.lose(UDM, "gone", now).is_empty());
    assert_eq!(directory.root(Nf::Udm.into(), "nudm-sdm"), None);
    // The NRF still has it: that does not make it reached.
    assert!(
        directory
            .heard(Nf::Udm, found(&[instance("a", UDM)]), now)
            .is_empty()
    );
    assert_eq!(directory.take_probes(now + AGAIN), [UDM]);
    assert_eq!(texts(&directory.reach(UDM, now)), ["[Udm] 0 up"]);
    // Nobody looks at one that no instance has.
    directory.lose(UDM, "gone", now);
    directory.heard(Nf::Udm, found(&[]), now);
    directory.heard(Nf::Udm, found(&[]), now);
    directory.tidy();
    assert!(directory.take_probes(now + AGAIN).is_empty());
}

#[test]
fn an_instance_with_two_servers_is_lost_with_both() {
    const OTHER: &str = "http://127.0.0.3:8001";
    let now = Instant::now();
    let mut directory = Directory::new(NRF, &wanted(), now);
    directory.reach(NRF, now);
    let mut one = instance("a", UDM);
    one.roots.insert("nudm-ueau".to_owned(), OTHER.to_owned());
    directory.heard(Nf::Udm, found(&[one]), now);
    assert!(directory.lose(UDM, "gone", now).is_empty());
    assert_eq!(directory.root(Nf::Udm.into(), "nudm-sdm"), None);
    let other = directory.root(Nf::Udm.into(), "nudm-ueau");
    assert_eq!(other.as_deref(), Some(OTHER));
    assert_eq!(texts(&directory.lose(OTHER, "gone", now)), ["[Udm] 0 lost"]);
    assert_eq!(texts(&directory.reach(UDM, now)), ["[Udm] 0 up"]);
    assert!(directory.reach(OTHER, now).is_empty());
}

#[test]
fn news_have_the_nrf_asked_at_once_and_pauses_grow_without() {
    let now = Instant::now();
    let mut directory = Directory::new(NRF, &wanted(), now);
    directory.reach(NRF, now);
    assert_eq!(
        directory.take_subscriptions(now),
        [(Nf::Udm, Nf::Ausf, None)]
    );
    assert!(directory.take_subscriptions(now).is_empty());
    let uri = Some("http://127.0.0.10:8000/nnrf-nfm/v1/subscriptions/1".to_owned());
    directory.subscribed(Nf::Udm, Some(uri.clone()), now);
    let mut pauses = Vec::new();
    let mut at = now;
    for _ in 0..7 {
        assert_eq!(directory.take_due(at), [(Nf::Udm, Nf::Ausf)]);
        directory.heard(Nf::Udm, found(&[]), at);
        let due = directory.next_due().expect("a question");
        pauses.push((due - at).as_millis());
        at = due;
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
    directory.take_due(at);
    directory.heard(Nf::Udm, found(&[]), at);
    directory.has_news(Nf::Udm, at);
    assert_eq!(directory.take_due(at), [(Nf::Udm, Nf::Ausf)]);
    // News that come before the answer are asked for again.
    directory.has_news(Nf::Udm, at);
    directory.heard(Nf::Udm, found(&[instance("a", UDM)]), at);
    assert_eq!(directory.take_due(at), [(Nf::Udm, Nf::Ausf)]);
    directory.heard(Nf::Udm, found(&[instance("a", UDM)]), at);
    assert!(directory.take_due(at).is_empty());
    // Made anew after an hour, and with an NRF that was started again.
    let later = now + RENEW_AFTER;
    let renewed = directory.take_subscriptions(later);
    assert_eq!(renewed, [(Nf::Udm, Nf::Ausf, uri.clone())]);
    directory.subscribed(Nf::Udm, None, later);
    assert!(directory.take_subscriptions(later).is_empty());
    assert_eq!(directory.take_subscriptions(later + LONGEST).len(), 1);
    directory.subscribed(Nf::Udm, Some(uri), later);
    directory.lose(NRF, "gone", later);
    assert!(directory.take_subscriptions(later).is_empty());
    directory.reach(NRF, later);
    assert_eq!(directory.take_subscriptions(later).len(), 1);
}

#[test]
fn functions_are_reached_as_their_scp_is() {
    const SCP: &str = "http://127.0.0.200:7777";
    let now = Instant::now();
    let scp = |discovers| Scp {
        root: SCP.to_owned(),
        discovers,
    };
    // Model C: the NRF is asked, and the SCP told whom to ask.
    let mut directory = Directory::new(NRF, &wanted(), now).through(scp(false), now);
    directory.reach(NRF, now);
    assert_eq!(directory.take_probes(now), [SCP]);
    assert!(
        directory
            .heard(Nf::Udm, found(&[instance("a", UDM)]), now)
            .is_empty()
    );
    assert_eq!(directory.root(Nf::Udm.into(), "nudm-sdm"), None);
    assert_eq!(texts(&directory.reach(SCP, now)), ["[Udm] 0 up"]);
    let root = directory.root(Nf::Udm.into(), "nudm-sdm");
    assert_eq!(root.as_deref(), Some(UDM));
    assert_eq!(texts(&directory.lose(SCP, "gone", now)), ["[Udm] 0 lost"]);
    directory.tidy();
    assert_eq!(directory.take_probes(now + AGAIN), [SCP]);
    // Model D: nobody is looked for.
    let mut directory = Directory::new(NRF, &wanted(), now).through(scp(true), now);
    directory.reach(NRF, now);
    assert!(directory.take_due(now).is_empty() && directory.take_subscriptions(now).is_empty());
    assert_eq!(texts(&directory.reach(SCP, now)), ["[Udm] 0 up"]);
    assert!(directory.root(Nf::Udm.into(), "nudm-sdm").is_some());
}
