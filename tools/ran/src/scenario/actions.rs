//! Parameters of scenario actions.

use std::net::IpAddr;
use std::time::Duration;

use crate::Mute;

use super::Step;
use super::kinds::{self, NetnsPlace};
use super::names::Names;
use super::steps::Act;
use sluice_n1::RegistrationKind;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{self, Kind};

/// UEs get sessions and devices.
#[derive(Clone, Debug)]
pub struct Attach {
    /// Which; those that are attached stay as they are.
    pub ues: Vec<usize>,
    /// Per second.
    pub rate: Option<f64>,
    /// gNB to attach to; `None`: the gNBs of the UE's group, in turn.
    pub gnb: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Detach {
    /// Which; those that are not attached stay as they are.
    pub ues: Vec<usize>,
    /// Per second.
    pub rate: Option<f64>,
}

/// UEs move to another gNB.
#[derive(Clone, Debug)]
pub struct Handover {
    pub ues: Vec<usize>,
    pub from: Option<usize>,
    /// Target gNB; `None`: the gNB after the present one.
    pub to: Option<usize>,
    /// Per second.
    pub rate: Option<f64>,
}

#[derive(Clone, Debug)]
pub struct Ping {
    /// From which; those that are not attached keep quiet.
    pub ues: Vec<usize>,
    /// Address to ping: UEs without an address of its family send nothing.
    pub to: IpAddr,
    pub count: u32,
    /// From one to the next, of each UE.
    pub interval: Duration,
    /// Behind the headers of IPv4 and ICMP.
    pub payload_bytes: u16,
    /// How long the last answers may take.
    pub wait: Duration,
    /// The script goes on meanwhile; the next check waits for the end.
    pub background: bool,
}

/// Echo Requests of gNBs.
#[derive(Clone, Debug)]
pub struct Echo {
    pub gnbs: Vec<usize>,
    /// To whom; `None`: to the addresses that their UEs' uplinks lead to.
    pub to: Option<IpAddr>,
    /// How long an answer may take.
    pub wait: Duration,
}

#[derive(Clone, Debug)]
pub struct RunProgram {
    pub command: String,
    /// In whose namespaces; `None`: once, in `namespace`.
    pub ues: Option<Vec<usize>>,
    /// Namespace of the command, if it is not for UEs.
    pub namespace: NetnsPlace,
    /// With which code it must end.
    pub exit: i32,
    pub timeout: Duration,
    /// The script goes on meanwhile; the next check waits for the end.
    pub background: bool,
}

/// gNBs forget all.
#[derive(Clone, Debug)]
pub struct Restart {
    pub gnbs: Vec<usize>,
}

/// gNBs keep things to themselves.
#[derive(Clone, Debug)]
pub struct MuteGnb {
    pub gnbs: Vec<usize>,
    /// Messages that the gNB does not send.
    pub what: Mute,
    /// How long; `None`: until they are told otherwise.
    pub time: Option<Duration>,
}

/// UEs come and go.
#[derive(Clone, Debug)]
pub struct Churn {
    pub ues: Vec<usize>,
    /// Arrivals and departures together, per second.
    pub rate: f64,
    pub time: Duration,
}

/// Steps again and again.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// How often; `None`: without end.
    pub times: Option<u64>,
    pub steps: Vec<Step>,
}

/// Procedures of UEs with SIMs.
#[derive(Clone, Debug)]
pub struct Signal {
    pub ues: Vec<usize>,
    /// Per second, open-loop; `None`: some at a time, as fast as it goes.
    pub rate: Option<f64>,
    pub what: SignalKind,
    /// How long a procedure may take.
    pub limit: Duration,
    /// Namespace from which packets come for UEs that are paged.
    pub data_network: Option<NetnsPlace>,
}

/// Procedures of UEs with SIMs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalKind {
    /// They register and establish all sessions that they have.
    Attach,
    Register(RegistrationKind),
    /// They establish a session, or all that they have.
    Establish(Option<u8>),
    Release(Option<u8>),
    /// Their gNB releases them: they are idle.
    Idle,
    /// They come back by a service request.
    Service,
    /// Their gNB releases them, a packet comes for each, and they answer the paging.
    Page,
    /// Their gNB has their packets come to other tunnels.
    MoveTunnels,
    /// They go to another gNB; `None`: the one after theirs.
    HandOver(By, Option<usize>),
    Deregister {
        /// Without waiting for an answer.
        switch_off: bool,
    },
}

/// Interface of a handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    Xn,
    N2,
}

impl SignalKind {
    /// In words, behind a number of UEs.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Attach => "register and establish sessions",
            Self::Register(_) => "register",
            Self::Establish(_) => "establish sessions",
            Self::Release(_) => "release sessions",
            Self::Idle => "become idle",
            Self::Service => "come back by service request",
            Self::Page => "become idle and are paged",
            Self::MoveTunnels => "have other tunnels at their gNB",
            Self::HandOver(By::Xn, _) => "go to another gNB by Xn",
            Self::HandOver(By::N2, _) => "go to another gNB by N2",
            Self::Deregister { .. } => "deregister",
        }
    }
}

/// UEs go through procedures again and again, from registration to deregistration.
#[derive(Clone, Debug)]
pub struct Cycle {
    pub ues: Vec<usize>,
    /// How many at the same time.
    pub at_once: usize,
    pub time: Duration,
    /// Procedures between registration and deregistration.
    pub procedures: Vec<SignalKind>,
    /// How long a procedure may take.
    pub limit: Duration,
    /// Namespace from which packets come for UEs that are paged.
    pub data_network: Option<NetnsPlace>,
}

/// Procedures that a cycle may have between registration and deregistration, in any order.
const CYCLED: [(&str, SignalKind); 8] = [
    ("establish", SignalKind::Establish(None)),
    ("move_tunnels", SignalKind::MoveTunnels),
    ("idle", SignalKind::Idle),
    ("service", SignalKind::Service),
    ("page", SignalKind::Page),
    ("xn_handover", SignalKind::HandOver(By::Xn, None)),
    ("n2_handover", SignalKind::HandOver(By::N2, None)),
    ("release", SignalKind::Release(None)),
];

/// UEs with SIMs do what they should not.
#[derive(Clone, Debug)]
pub struct Misbehave {
    pub ues: Vec<usize>,
    pub what: Wrong,
}

/// Faults of a UE, until `nothing` ends them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    Nothing,
    /// The UE does not answer.
    Silent,
    /// MACs of its first messages are wrong.
    Mac,
    /// The UE answers a challenge with a wrong RES.
    Res,
    /// The UE reports once that the key set identifier is in use.
    Ngksi,
    /// The UE rejects the security mode.
    SecurityMode,
    /// The UE does not send Registration Complete.
    NoComplete,
    /// The SIM is ahead of the network's sequence numbers, once.
    Sqn,
    /// The UE uses an unknown GUTI, once.
    Guti,
    /// The UE has lost its keys, once.
    Keys,
}

/// Reads actions of a scenario with these names.
pub struct ActionReader<'n> {
    pub(super) names: &'n Names,
}

impl ActionReader<'_> {
    pub(super) fn attach(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        Some(Act::Attach(Attach {
            ues: f.or("ues", "all", &self.names.ues()).value,
            rate: f.or("rate", "max", &kinds::rate()).value,
            gnb: f.optional("gnb", &self.names.one_gnb()).map(|at| at.value),
        }))
    }

    pub(super) fn detach(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        Some(Act::Detach(Detach {
            ues: f.or("ues", "all", &self.names.ues()).value,
            rate: f.or("rate", "max", &kinds::rate()).value,
        }))
    }

    pub(super) fn handover(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let words = kind::word(&[("xn", By::Xn), ("n2", By::N2)]);
        let by = f.optional("by", &words);
        let ues = f.or("ues", "all", &self.names.ues());
        let from = f.optional("from", &self.names.one_gnb());
        let to = f.or("to", "next", &self.names.gnb_or_next());
        let rate = f.or("rate", "max", &kinds::rate());
        if to.value.is_none() && self.names.is_one_gnb() {
            let key = f.key("to");
            let what = "there is one gNB";
            f.report().problem(to.line, key, what, "at least two gnbs");
        }
        if let Some(by) = by {
            if let Some(from) = &from {
                let (key, what) = (f.key("from"), "given together with by");
                let expected = "one of both: UEs with SIMs go from where they are";
                f.report().problem(from.line, key, what, expected);
            }
            let limit = f.or("limit", "15s", &kinds::duration());
            return Some(Act::Signal(Signal {
                ues: self.names.with_sims(&ues, f),
                rate: rate.value,
                what: SignalKind::HandOver(by.value, to.value),
                limit: limit.value,
                data_network: None,
            }));
        }
        if ues.value.iter().any(|ue| self.names.has_sim(*ue)) {
            let (key, what) = (f.key("ues"), "there are UEs with SIMs among them");
            let expected = "by: xn or by: n2 for these, and UEs without sim in a step of their own";
            f.report().problem(ues.line, key, what, expected);
        }
        Some(Act::Handover(Handover {
            ues: ues.value,
            from: from.map(|at| at.value),
            to: to.value,
            rate: rate.value,
        }))
    }

    pub(super) fn ping(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let to = f.required("to", &kinds::ip_address());
        Some(Act::Ping(Ping {
            ues: f.or("ues", "all", &self.names.ues()).value,
            count: f.or("count", "5", &kind::number(1, 100_000, "")).value,
            interval: f.or("interval", "20ms", &kinds::duration()).value,
            payload_bytes: f
                .or("payload_bytes", "56", &kind::number(16, 8972, "octets"))
                .value,
            wait: f.or("wait", "1s", &kinds::duration()).value,
            background: f.or("background", "false", &kind::boolean()).value,
            to: to?.value,
        }))
    }

    pub(super) fn echo(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        Some(Act::Echo(Echo {
            gnbs: f.or("gnbs", "all", &self.names.gnbs()).value,
            to: f.optional("to", &kind::ip()).map(|at| at.value),
            wait: f.or("wait", "1s", &kinds::duration()).value,
        }))
    }

    pub(super) fn run(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let command = f.required("command", &kinds::command());
        let ues = f.optional("ues", &self.names.ues());
        let namespace = f.or("namespace", "current", &kinds::namespace());
        if ues.is_some() && f.has("namespace") {
            let (key, what) = (f.key("namespace"), "given together with ues");
            let expected = "one of both: UEs have namespaces";
            f.report().problem(namespace.line, key, what, expected);
        }
        Some(Act::Run(RunProgram {
            ues: ues.map(|at| at.value),
            namespace: namespace.value,
            exit: f.or("exit", "0", &kind::number(0, 255, "")).value,
            timeout: f.or("timeout", "60s", &kinds::duration()).value,
            background: f.or("background", "false", &kind::boolean()).value,
            command: command?.value,
        }))
    }

    pub(super) fn restart(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let gnbs = f.required("gnbs", &self.names.gnbs());
        Some(Act::Restart(Restart { gnbs: gnbs?.value }))
    }

    pub(super) fn mute(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let gnbs = f.required("gnbs", &self.names.gnbs());
        let words = kind::word(&[
            ("echo", Mute::Echo),
            ("all", Mute::All),
            ("nothing", Mute::No),
        ]);
        Some(Act::Mute(MuteGnb {
            what: f.or("what", "echo", &words).value,
            time: f.optional("for", &kinds::duration()).map(|at| at.value),
            gnbs: gnbs?.value,
        }))
    }

    pub(super) fn churn(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let expected = "so many per second from 0.001 to 100000";
        let rates = kinds::rate();
        let rate = Kind::new(expected, move |text| rates.parse(text).flatten());
        let rate = f.required("rate", &rate);
        let time = f.required("for", &kinds::duration());
        Some(Act::Churn(Churn {
            ues: f.or("ues", "all", &self.names.ues()).value,
            rate: rate?.value,
            time: time?.value,
        }))
    }

    /// Keys that all procedures have.
    fn signal(&self, f: &mut Fields<'_, '_>, what: SignalKind) -> Act {
        Act::Signal(self.procedure(f, what))
    }

    fn procedure(&self, f: &mut Fields<'_, '_>, what: SignalKind) -> Signal {
        let ues = f.or("ues", "all", &self.names.ues());
        let ues = self.names.with_sims(&ues, f);
        Signal {
            ues,
            rate: f.or("rate", "max", &kinds::rate()).value,
            what,
            limit: f.or("limit", "15s", &kinds::duration()).value,
            data_network: None,
        }
    }

    pub(super) fn register(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let words = kind::word(&[
            ("initial", RegistrationKind::Initial),
            ("mobility", RegistrationKind::Mobility),
            ("periodic", RegistrationKind::Periodic),
        ]);
        let kind = f.or("kind", "initial", &words);
        Some(self.signal(f, SignalKind::Register(kind.value)))
    }

    pub(super) fn establish(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let session = f.or("session", "all", &session());
        Some(self.signal(f, SignalKind::Establish(session.value)))
    }

    pub(super) fn release(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let session = f.or("session", "all", &session());
        Some(self.signal(f, SignalKind::Release(session.value)))
    }

    pub(super) fn idle(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        Some(self.signal(f, SignalKind::Idle))
    }

    pub(super) fn service(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        Some(self.signal(f, SignalKind::Service))
    }

    pub(super) fn page(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let signal = self.procedure(f, SignalKind::Page);
        let data_network = f.required("data_network", &kinds::namespace());
        self.with_devices(&signal.ues, f);
        Some(Act::Signal(Signal {
            data_network: Some(data_network?.value),
            ..signal
        }))
    }

    /// Packets that come for UEs need devices.
    fn with_devices(&self, ues: &[usize], f: &mut Fields<'_, '_>) {
        if ues.iter().any(|ue| self.names.is_without_device(*ue)) {
            let (line, key) = (f.line(), f.key("ues"));
            let what = "packets come for UEs that are paged, and some of these have no device";
            let expected = "UEs with sim.devices: true";
            f.report().problem(line, key, what, expected);
        }
    }

    pub(super) fn move_tunnels(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        Some(self.signal(f, SignalKind::MoveTunnels))
    }

    pub(super) fn deregister(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let switch_off = f.or("switch_off", "false", &kind::boolean()).value;
        Some(self.signal(f, SignalKind::Deregister { switch_off }))
    }

    pub(super) fn cycle(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let ues = f.or("ues", "all", &self.names.ues());
        let time = f.required("for", &kinds::duration());
        let ues = self.names.with_sims(&ues, f);
        let procedures = f.list("procedures", &kind::word(&CYCLED));
        let by_handover = |at: &At<SignalKind>| matches!(at.value, SignalKind::HandOver(..));
        if let Some(at) = procedures.iter().find(|at| by_handover(at))
            && self.names.is_one_gnb()
        {
            let key = f.key("procedures");
            let (what, expected) = ("there is one gNB", "at least two gnbs for handovers");
            f.report().problem(at.line, key, what, expected);
        }
        let data_network = self.data_network(f, &procedures, &ues);
        Some(Act::Cycle(Cycle {
            ues,
            data_network,
            procedures: procedures.into_iter().map(|at| at.value).collect(),
            at_once: f.or("at_once", "32", &kind::number(1, 10_000, "")).value,
            limit: f.or("limit", "15s", &kinds::duration()).value,
            time: time?.value,
        }))
    }

    /// From where packets come for the UEs of a cycle: needed by `page`, and by nothing else.
    fn data_network(
        &self,
        f: &mut Fields<'_, '_>,
        procedures: &[At<SignalKind>],
        ues: &[usize],
    ) -> Option<NetnsPlace> {
        if procedures.iter().any(|at| at.value == SignalKind::Page) {
            self.with_devices(ues, f);
            return f
                .required("data_network", &kinds::namespace())
                .map(|at| at.value);
        }
        if let Some(unused) = f.optional("data_network", &kinds::namespace()) {
            let (key, what) = (f.key("data_network"), "no packet comes for UEs");
            let expected = "page among procedures";
            f.report().problem(unused.line, key, what, expected);
        }
        None
    }

    pub(super) fn misbehave(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let ues = f.or("ues", "all", &self.names.ues());
        let words = kind::word(&[
            ("nothing", Wrong::Nothing),
            ("silent", Wrong::Silent),
            ("mac", Wrong::Mac),
            ("res", Wrong::Res),
            ("ngksi", Wrong::Ngksi),
            ("security_mode", Wrong::SecurityMode),
            ("no_complete", Wrong::NoComplete),
            ("sqn", Wrong::Sqn),
            ("guti", Wrong::Guti),
            ("keys", Wrong::Keys),
        ]);
        let what = f.required("what", &words);
        let ues = self.names.with_sims(&ues, f);
        Some(Act::Misbehave(Misbehave {
            ues,
            what: what?.value,
        }))
    }

    pub(super) fn reset(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let gnbs = f.required("gnbs", &self.names.gnbs());
        Some(Act::Reset(gnbs?.value))
    }

    pub(super) fn repeat(&self, f: &mut Fields<'_, '_>) -> Option<Act> {
        let times = kind::number(1, u64::MAX, "");
        let forever = Kind::new(
            format!("forever or {}", times.expected),
            move |text| match text {
                "forever" => Some(None),
                _ => times.parse(text).map(Some),
            },
        );
        let times = f.or("times", "forever", &forever);
        let expected = "a list of steps, such as - wait: 1s";
        let steps = f.required_sections("steps", expected, |f| Step::read(f, self.names));
        Some(Act::Repeat(Repeat {
            times: times.value,
            steps,
        }))
    }
}

/// A session's number, or `all`.
fn session() -> Kind<Option<u8>> {
    let number = kind::number(1, 15, "");
    let expected = format!("all or {}", number.expected);
    Kind::new(expected, move |text| match text {
        "all" => Some(None),
        _ => number.parse(text).map(Some),
    })
}
