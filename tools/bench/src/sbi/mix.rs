//! Mix of requests between functions, by the shares that were published for a core under load: of a hundred, 50 on N11, 30 on
//! N7, 10.9 on N10, 2.5 each on N8 and N12, 3 on N15, and the rest on N13.

use sluice_ids::{Snssai, Supi};
use sluice_sbi::{
    AccessAndMobility, AmPolicy, AuthMethod, Authenticate, AuthenticationData, Challenge,
    Container, CreateAmPolicy, CreateSmContext, CreateSmPolicy, DeleteSmPolicy, Done, Filter,
    FlowDirection, GetAccessAndMobility, GetAuthenticationData, GetSessionManagement, Identity,
    Message, N2Sm, PccRule, PccRules, PolicyTrigger, Problem, ReleaseSmContext, Resynchronisation,
    RuleName, SessionManagement, SmChange, SmContextCreated, SmContextUpdated, SmPolicy,
    UpdateSmContext, UpdateSmPolicy,
};
use sluice_services::{Consumer, Memory, Producer, Request, Response, accept, begin};
use sluice_testbed::core as testbed;

use super::carried::Calls;
use crate::Failure;

/// Requests of a thousand on an interface, and the calls that they are of, in turn.
type Share = (u32, fn() -> Vec<Message>);

/// Shares of all interfaces.
const MIX: [Share; 7] = [
    (500, n11),
    (300, n7),
    (109, n10),
    (30, n15),
    (25, n8),
    (25, n12),
    (11, n13),
];
/// Number of the SM context and the policies.
const NUMBER: u64 = 7;
const SESSION: u8 = 5;
/// Octets of a transfer between SMF and gNB.
const TRANSFER: [u8; 40] = [0x5a; 40];
/// Subscribed session AMBR, down and up.
const AMBR_BPS: (u64, u64) = (200_000_000, 100_000_000);

/// Calls of the mix.
pub struct Mix {
    deck: Vec<Message>,
    next: usize,
}

impl Mix {
    /// A thousand calls, each interface spread evenly over them. Each call is one request.
    pub fn new() -> Self {
        let mut lanes =
            MIX.map(|(share, calls)| (i64::from(share), calls().into_iter().cycle(), 0));
        let total: i64 = lanes.iter().map(|(share, ..)| share).sum();
        let deck = (0..total).filter_map(|_| {
            lanes
                .iter_mut()
                .for_each(|(share, _, owed)| *owed += *share);
            let (_, calls, owed) = lanes.iter_mut().max_by_key(|(.., owed)| *owed)?;
            *owed -= total;
            calls.next()
        });
        let deck = deck.collect();
        Self { deck, next: 0 }
    }

    /// Calls of the whole mix.
    pub fn len(&self) -> usize {
        self.deck.len()
    }
}

impl Calls for Mix {
    fn begin(&mut self, consumer: &mut Memory) -> Result<Consumer, Failure> {
        let message = &self.deck[self.next % self.deck.len()];
        self.next += 1;
        let step = begin(message, consumer);
        step.ok_or_else(|| format!("no service carries {}", message.name()))
    }

    fn serve(&mut self, request: &Request, producer: &mut Memory) -> Response {
        let mut step = accept(request, producer);
        loop {
            match step {
                Producer::Done(response) => return response,
                Producer::Ask(_, message, then) => step = then(&answer(&message), producer),
            }
        }
    }
}

fn subscriber() -> Supi {
    testbed::supi(1)
}

fn slice() -> Snssai {
    Snssai::new(1, Some([1, 2, 3]))
}

fn container(octets: &[u8]) -> Container {
    Container::new(octets).unwrap_or(Container::NONE)
}

/// A session from its creation to its end.
fn n11() -> Vec<Message> {
    let context = NUMBER.into();
    let create = CreateSmContext {
        supi: subscriber(),
        session: SESSION,
        slice: slice(),
        dnn: testbed::dnn("internet"),
        area: testbed::tai(),
        n1: container(&[0x2e, SESSION, 1, 0xc1, 0xff, 0xff, 0x91]),
    };
    let update = |change, n2| UpdateSmContext {
        context,
        change,
        n1: Container::NONE,
        n2,
    };
    vec![
        create.into(),
        update(SmChange::SetUp, container(&TRANSFER)).into(),
        update(SmChange::Deactivate, Container::NONE).into(),
        update(SmChange::Activate, Container::NONE).into(),
        ReleaseSmContext { context }.into(),
    ]
}

/// Policies of a session from their creation to their end.
fn n7() -> Vec<Message> {
    let create = CreateSmPolicy {
        supi: subscriber(),
        session: SESSION,
        slice: slice(),
        dnn: testbed::dnn("internet"),
        context: NUMBER.into(),
        session_type: 1,
        ambr_down_bps: AMBR_BPS.0.into(),
        ambr_up_bps: AMBR_BPS.1.into(),
        five_qi: 9,
        priority: 8,
    };
    let policy = NUMBER.into();
    let update = UpdateSmPolicy {
        policy,
        trigger: PolicyTrigger::UeAddress,
        ipv4: [10, 45, 0, 9],
        ipv6_prefix: [0; 8],
        rules: 0.into(),
        requested: PccRule::NONE,
    };
    let delete = DeleteSmPolicy { policy };
    vec![create.into(), update.into(), delete.into()]
}

fn n10() -> Vec<Message> {
    let request = GetSessionManagement {
        supi: subscriber(),
        slice: slice(),
        dnn: testbed::dnn("internet"),
    };
    vec![request.into()]
}

fn n15() -> Vec<Message> {
    let request = CreateAmPolicy {
        supi: subscriber(),
        guami: testbed::amf(&[slice()]).guami,
        area: testbed::tai(),
    };
    vec![request.into()]
}

fn n8() -> Vec<Message> {
    let supi = subscriber();
    vec![GetAccessAndMobility { supi }.into()]
}

/// Sequence numbers of UE and network are together.
const NOT_LOST: Resynchronisation = Resynchronisation {
    wanted: false,
    rand: [0; 16],
    auts: [0; 14],
};

fn n12() -> Vec<Message> {
    let request = Authenticate {
        identity: Identity::from(subscriber()),
        network: testbed::plmn().serving_network_name(),
        resynchronisation: NOT_LOST,
    };
    vec![request.into()]
}

fn n13() -> Vec<Message> {
    let request = GetAuthenticationData {
        identity: Identity::from(subscriber()),
        network: testbed::plmn().serving_network_name(),
        resynchronisation: NOT_LOST,
    };
    vec![request.into()]
}

/// Answer of a function that does nothing else.
fn answer(message: &Message) -> Message {
    match message {
        Message::CreateSmContext(_) => SmContextCreated {
            created: true,
            context: NUMBER.into(),
            n1: Container::NONE,
        }
        .into(),
        Message::UpdateSmContext(update) if update.change == SmChange::Activate => {
            SmContextUpdated {
                n1: Container::NONE,
                n2_kind: N2Sm::Setup,
                n2: container(&TRANSFER),
            }
            .into()
        }
        Message::UpdateSmContext(_) => SmContextUpdated::NOTHING.into(),
        Message::ReleaseSmContext(_) | Message::DeleteSmPolicy(_) => Done::ALL.into(),
        Message::CreateSmPolicy(_) | Message::UpdateSmPolicy(_) => SmPolicy {
            policy: NUMBER.into(),
            rules: PccRules::new(rule().as_slice()),
        }
        .into(),
        Message::GetSessionManagement(_) => session_management().into(),
        Message::GetAccessAndMobility(_) => {
            AccessAndMobility::new((1_000_000_000, 500_000_000), &[(slice(), true)]).into()
        }
        Message::Authenticate(_) => challenge().into(),
        Message::CreateAmPolicy(_) => AmPolicy {
            policy: NUMBER.into(),
            rfsp: 1.into(),
        }
        .into(),
        Message::GetAuthenticationData(_) => vector().into(),
        _ => Problem::Protocol.into(),
    }
}

/// A rule for one flow.
fn rule() -> Option<PccRule> {
    let filters = [Filter::all(FlowDirection::Both)];
    PccRule::new(RuleName::new("video")?, 10, 1, &filters)
}

fn session_management() -> SessionManagement {
    SessionManagement {
        types: [true, false, false],
        default_type: 1,
        ambr_down_bps: AMBR_BPS.0.into(),
        ambr_up_bps: AMBR_BPS.1.into(),
        five_qi: 9,
        priority: 8,
        ipv4: [0; 4],
        ipv6_prefix: [0; 8],
        up_security: None.into(),
    }
}

fn challenge() -> Challenge {
    Challenge {
        context: NUMBER.into(),
        instance: 0,
        method: AuthMethod::FiveGAka,
        rand: [1; 16],
        autn: [2; 16],
        hxres_star: [3; 16],
        eap: Container::NONE,
    }
}

fn vector() -> AuthenticationData {
    AuthenticationData {
        supi: subscriber(),
        rand: [1; 16],
        autn: [2; 16],
        method: AuthMethod::FiveGAka,
        xres_star: [3; 16],
        kausf: [4; 32],
        xres: [0; 8],
        prime_keys: [0; 32],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_has_its_shares_and_each_interface_is_spread() {
        let mix = Mix::new();
        assert_eq!(mix.len(), 1_000);
        let count = |part: &[Message], is_of: fn(&Message) -> bool| {
            part.iter().filter(|message| is_of(message)).count()
        };
        let of_n13 = |message: &Message| matches!(message, Message::GetAuthenticationData(_));
        assert_eq!(count(&mix.deck, of_n13), 11);
        for part in mix.deck.chunks(100) {
            let of_n11 = count(part, |message| {
                matches!(
                    message,
                    Message::CreateSmContext(_)
                        | Message::UpdateSmContext(_)
                        | Message::ReleaseSmContext(_)
                )
            });
            assert!((49..=51).contains(&of_n11), "{of_n11}");
        }
    }
}
