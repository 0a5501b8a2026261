//! Sessions of applications by messages: flows that come and go, and news of them.

use sluice_ids::{Dnn, Snssai, Supi};
use sluice_sbi::{
    CallId, CreateAppSession, CreateSmPolicy, DeleteAppSession, DeleteSmPolicy, Input, Instant,
    Key, NetworkFunction, NotifySmPolicy, PolicyTrigger, RequestId, SmPolicyNotified,
    UpdateAppSession, UpdateSmPolicy,
};

use super::*;
use crate::Config;

struct World {
    pcf: Pcf,
    policy: u64,
}

/// Effects of a message: its answer, rules that the SMF is told, and news of applications.
#[derive(Default)]
struct Outcome {
    answer: Option<Message>,
    told: Vec<(CallId, NotifySmPolicy)>,
    news: Vec<(CallId, NotifyAppSession)>,
}

impl World {
    /// With a session that has the address 10.45.0.2.
    fn new() -> Self {
        let pcf = Pcf::new(Config::default()).expect("sound");
        let mut world = Self { pcf, policy: 0 };
        let create = CreateSmPolicy {
            supi: Supi::from_imsi("001010000000001").expect("digits"),
            session: 5,
            slice: Snssai::new(1, None),
            dnn: Dnn::new("internet").expect("a name"),
            context: 1.into(),
            session_type: 1,
            ambr_down_bps: 1_000_000_000.into(),
            ambr_up_bps: 1_000_000_000.into(),
            five_qi: 9,
            priority: 8,
        };
        let Some(Message::SmPolicy(made)) = world.ask(create).answer else {
            panic!("no session");
        };
        world.policy = made.policy.get();
        world.update(PolicyTrigger::UeAddress, 0);
        world
    }

    fn update(&mut self, trigger: PolicyTrigger, rules: u16) -> Outcome {
        self.ask(UpdateSmPolicy {
            policy: self.policy.into(),
            trigger,
            ipv4: [10, 45, 0, 2],
            ipv6_prefix: [0; 8],
            rules: rules.into(),
            requested: PccRule::NONE,
        })
    }

    fn input(&mut self, input: Input<'_>) -> Outcome {
        let mut effects = Vec::new();
        let now = self.pcf.now;
        self.pcf.handle(now, input, &mut effects);
        let mut outcome = Outcome::default();
        for effect in effects {
            match effect {
                Effect::Answer { message, .. } => outcome.answer = Some(*message),
                Effect::Call {
                    to, call, message, ..
                } => match *message {
                    Message::NotifySmPolicy(notice) => outcome.told.push((call, notice)),
                    Message::NotifyAppSession(news) => {
                        assert!(to.is_outside());
                        outcome.news.push((call, news));
                    }
                    other => panic!("{other}"),
                },
                _ => {}
            }
        }
        outcome
    }

    fn ask(&mut self, message: impl Into<Message>) -> Outcome {
        let id = RequestId {
            from: Nf::Smf.into(),
            call: CallId(Key {
                slot: 0,
                generation: 0,
            }),
        };
        let message = message.into().into();
        self.input(Input::Request { id, message })
    }

    /// A session of an application with these media, of which the SMF takes all but `refused`; and the news of it.
    fn create(&mut self, media: &[u32], refused: u16) -> (u64, Vec<NotifyAppSession>) {
        let mut outcome = self.ask(CreateAppSession {
            request: request(media),
        });
        let Some(Message::AppSessionStored(stored)) = outcome.answer else {
            panic!("{:?}", outcome.answer);
        };
        let (call, notice) = outcome.told.remove(0);
        assert!(notice.rules.get().len() >= media.len());
        let news = self.smf_answers(call, refused);
        (stored.app.get(), news)
    }

    fn smf_answers(&mut self, call: CallId, refused: u16) -> Vec<NotifyAppSession> {
        let refused = refused.into();
        let message = SmPolicyNotified { refused }.into();
        news(&self.input(Input::Reply { call, message }))
    }
}

fn news(outcome: &Outcome) -> Vec<NotifyAppSession> {
    outcome.news.iter().map(|(_, one)| *one).collect()
}

/// An application wants these media for the UE of 10.45.0.2.
fn request(media: &[u32]) -> AppSessionText {
    let one = |number: &u32| {
        format!(
            "\"{number}\": {{\"medCompN\": {number}, \"medType\": \"AUDIO\", \"marBwDl\": \"64 Kbps\", \
             \"marBwUl\": \"64 Kbps\", \"medSubComps\": {{\"1\": {{\"fNum\": 1, \"fDescs\": \
             [\"permit out 17 from 203.0.113.7 {number} to any\"]}}}}}}"
        )
    };
    let media: Vec<String> = media.iter().map(one).collect();
    let media = media.join(", ");
    let text = format!("{{\"ueIpv4\": \"10.45.0.2\", \"medComponents\": {{{media}}}}}");
    AppSessionText::new(&text).expect("short")
}

fn seen(news: &[NotifyAppSession]) -> Vec<(u64, AppSessionNews, Vec<u32>)> {
    let one = |one: &NotifyAppSession| {
        let media = one.medium[..one.media.into()].iter();
        (
            one.app.get(),
            one.news,
            media.map(|one| one.get()).collect(),
        )
    };
    news.iter().map(one).collect()
}

#[test]
fn an_application_has_its_flows_until_it_needs_them_no_more() {
    let mut world = World::new();
    let (app, news) = world.create(&[1, 7], 0);
    assert!(news.is_empty());
    let mut outcome = world.ask(UpdateAppSession {
        app: app.into(),
        request: request(&[7]),
    });
    assert!(matches!(outcome.answer, Some(Message::AppSessionStored(one)) if one.app.get() == app));
    let (call, notice) = outcome.told.remove(0);
    let names: Vec<&str> = notice
        .rules
        .get()
        .iter()
        .map(|rule| rule.name.text())
        .collect();
    assert_eq!(names, [format!("af{app}-7")]);
    assert!(world.smf_answers(call, 0).is_empty());
    let delete = DeleteAppSession { app: app.into() };
    let outcome = world.ask(delete);
    assert_eq!(outcome.answer, Some(Done::ALL.into()));
    assert!(outcome.told[0].1.rules.get().is_empty() && outcome.news.is_empty());
    assert_eq!(
        world.ask(delete).answer,
        Some(Problem::ContextNotFound.into())
    );
}

#[test]
fn an_application_hears_of_flows_that_it_has_lost_and_of_its_end() {
    use AppSessionNews::{Failed, FlowsOver, SessionOver};
    let mut world = World::new();
    // The SMF has no room for the second flow.
    let (app, news) = world.create(&[1, 7], 1 << 2);
    assert_eq!(seen(&news), [(app, Failed, vec![7])]);
    // The gNB takes the other one away.
    let outcome = world.update(PolicyTrigger::RulesFailed, 1 << 1);
    let expected = [(app, Failed, vec![1]), (app, FlowsOver, vec![])];
    assert_eq!(seen(&super::tests::news(&outcome)), expected);
    let (second, _) = world.create(&[3], 0);
    let policy = world.policy.into();
    let outcome = world.ask(DeleteSmPolicy { policy });
    let expected = [(second, SessionOver, vec![])];
    assert_eq!(seen(&super::tests::news(&outcome)), expected);
    let mut left = world.pcf.sizes();
    left.retain(|(name, _)| *name != "PCF: calls");
    assert!(left.iter().all(|(_, size)| *size == 0), "{left:?}");
}

#[test]
fn an_application_that_does_not_know_its_session_is_told_no_more() {
    let mut world = World::new();
    let (app, _) = world.create(&[1, 2, 3], 0);
    let outcome = world.update(PolicyTrigger::RulesFailed, 1 << 1);
    let (call, news) = outcome.news[0];
    assert_eq!((news.app.get(), news.media), (app, 1));
    let message = Problem::ContextNotFound.into();
    world.input(Input::Reply { call, message });
    let outcome = world.update(PolicyTrigger::RulesFailed, 1 << 2);
    assert!(outcome.news.is_empty());
    // One that does not answer is forgotten after its time, and told again.
    let (other, _) = world.create(&[4, 5], 0);
    let rules = world.pcf.app_session(other).expect("there").rules;
    let first = 1 << rules.trailing_zeros();
    assert_eq!(
        world.update(PolicyTrigger::RulesFailed, first).news.len(),
        1
    );
    world.pcf.now.instant = Instant(0).plus_ms(CALL_MS);
    let outcome = world.input(Input::Time);
    assert!(outcome.news.is_empty() && outcome.told.is_empty());
    assert_eq!(
        world
            .update(PolicyTrigger::RulesFailed, rules & !first)
            .news
            .len(),
        2
    );
}

#[test]
fn what_is_wrong_is_refused() {
    let mut world = World::new();
    let text = |text| AppSessionText::new(text).expect("short");
    let nobody = r#"{"ueIpv4": "10.45.0.9", "medComponents": {"1": {"medCompN": 1}}}"#;
    for (request, problem) in [
        (text("{"), Problem::Protocol),
        (text("{}"), Problem::Protocol),
        (text(nobody), Problem::UserNotFound),
    ] {
        let outcome = world.ask(CreateAppSession { request });
        assert_eq!(outcome.answer, Some(problem.into()));
    }
    assert!(AppSessionText::new(&"x".repeat(2_000)).is_none());
    let unknown = UpdateAppSession {
        app: 9.into(),
        request: request(&[1]),
    };
    assert_eq!(
        world.ask(unknown).answer,
        Some(Problem::ContextNotFound.into())
    );
}
