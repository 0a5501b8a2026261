//! Questions of operators to a core, as the control socket and HTTP read them: each is a variant of [`Request`], named
//! on the wire by `cmd`.

use crate::operators::qos_rule::QosRule;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sluice_ids::Supi;
use sluice_n2::OverloadAction;
use sluice_pcf::AppSessionContext;
use sluice_program::control::{Question, Socket, refusal};
use sluice_sbi::Nf;
use sluice_subscribers::Operation;
use std::time::Duration;

/// The core's control socket.
pub(crate) type Ctl = Socket<Ask>;

/// What can be asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Version, uptime, gNBs, UPFs, UEs and sessions in short.
    Status,
    /// UEs by their identities, from one on.
    Ues {
        /// The first; none: from the beginning.
        from: Option<String>,
        /// At most so many; none: [`UES_MAX`].
        count: Option<usize>,
    },
    /// One UE with its sessions.
    Ue {
        /// Whose.
        imsi: String,
    },
    /// gNBs with their areas and slices, by their identities.
    Gnbs {
        /// After this one; none: from the beginning.
        after: Option<String>,
        /// At most so many; none: all.
        count: Option<usize>,
    },
    /// Network functions as the NRF knows them.
    Nfs,
    /// Procedures under way, by the step at which they wait.
    Procedures,
    /// What was said of a UE, step by step.
    Flow {
        /// Whose.
        imsi: String,
    },
    /// Messages of a UE as octets since the last time that this was asked, from the first time on.
    Trace {
        /// Whose; none: of all.
        imsi: Option<String>,
        /// Nobody follows it any more.
        #[serde(default)]
        ends: bool,
    },
    /// What was refused, the newest, and all by cause.
    Refusals,
    /// All counters.
    Counters,
    /// The same and more for Prometheus, as text.
    Metrics,
    /// Read core.yaml again.
    Reload,
    /// Tell all gNBs what is served (AMF Configuration Update; TS 38.413, 8.7.3).
    UpdateGnbs,
    /// Have gNBs keep UEs away (TS 38.413, 8.7.7).
    OverloadStart {
        /// Which.
        #[serde(default)]
        action: Action,
        /// How many of a hundred, 1 to 99; none: all.
        percent: Option<u8>,
    },
    /// Have them do so no more (TS 38.413, 8.7.8).
    OverloadStop,
    /// Take an instance of a function out: it gets no new calls, and its program ends when those of before are over.
    Drain {
        /// Function, by its name.
        function: String,
        /// Number of the instance.
        instance: u8,
    },
    /// Take it in again.
    Undrain {
        /// Function, by its name.
        function: String,
        /// Number of the instance.
        instance: u8,
    },
    /// Deregister a UE (TS 23.502, 4.2.2.3.3).
    Deregister {
        /// Whose.
        imsi: String,
        /// It is to register again at once.
        #[serde(default)]
        registers_again: bool,
    },
    /// Start a QoS flow of a session.
    QosStart {
        /// Whose.
        imsi: String,
        /// Of which PDU session; none: of the first.
        session: Option<u8>,
        /// What it is.
        rule: QosRule,
    },
    /// Stop one, whoever started it.
    QosStop {
        /// Whose.
        imsi: String,
        /// Of which PDU session; none: of the first.
        session: Option<u8>,
        /// Its name.
        name: String,
    },
    /// Flows of an application (TS 29.514, 4.2.2).
    AppSessionCreate {
        /// What it asks for.
        context: AppSessionContext,
    },
    /// It has other flows from now on (TS 29.514, 4.2.3).
    AppSessionUpdate {
        /// Which.
        id: u64,
        /// What it asks for.
        context: AppSessionContext,
    },
    /// It has none any more (TS 29.514, 4.2.4).
    AppSessionDelete {
        /// Which.
        id: u64,
    },
    /// What it asked for.
    AppSession {
        /// Which.
        id: u64,
    },
}

/// What gNBs keep away (TS 38.413, 9.3.1.105).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "OverloadAction")]
pub enum Action {
    /// UEs that have data and begin by themselves, but for emergencies.
    #[default]
    RejectData,
    /// UEs that have signalling alone.
    RejectSignalling,
    /// All but emergencies and those that are called.
    PermitEmergency,
    /// All but those of high priority and those that are called.
    PermitHighPriority,
}

impl Action {
    /// Of what NGAP has.
    pub(crate) fn of_ngap(action: OverloadAction) -> Self {
        match action {
            OverloadAction::RejectData => Self::RejectData,
            OverloadAction::RejectSignalling => Self::RejectSignalling,
            OverloadAction::PermitEmergency => Self::PermitEmergency,
            OverloadAction::PermitHighPriority => Self::PermitHighPriority,
        }
    }

    /// As NGAP has it.
    pub(crate) fn to_ngap(self) -> OverloadAction {
        match self {
            Self::RejectData => OverloadAction::RejectData,
            Self::RejectSignalling => OverloadAction::RejectSignalling,
            Self::PermitEmergency => OverloadAction::PermitEmergency,
            Self::PermitHighPriority => OverloadAction::PermitHighPriority,
        }
    }
}

/// UEs of one answer, which is made between two turns of the core: some 10 ms.
pub const UES_MAX: usize = 10_000;

/// A question to the core, or to its database of subscribers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ask {
    /// To the core.
    Core(Request),
    /// To the database.
    Subscribers(Box<Operation>),
}

impl<'de> Deserialize<'de> for Ask {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let cmd = value.get("cmd").and_then(Value::as_str).unwrap_or_default();
        let read = match Operation::COMMANDS.contains(&cmd) {
            true => serde_json::from_value(value).map(|one| Self::Subscribers(Box::new(one))),
            false => serde_json::from_value(value).map(Self::Core),
        };
        read.map_err(D::Error::custom)
    }
}

impl Question for Ask {
    /// Room for an import of some 200,000 subscribers.
    const REQUEST_MAX: usize = 64 << 20;
    const ANSWER_WITHIN: Duration = Duration::from_secs(300);
}

/// An answer as the control socket and HTTP carry it.
pub(crate) fn told(answer: impl Serialize) -> Value {
    match serde_json::to_value(answer) {
        Ok(value) => value,
        Err(e) => refusal("internal", &e.to_string()),
    }
}

/// Refusal of a question for which a function of another program is needed.
pub(crate) fn not_reached(nf: Nf) -> Value {
    let why = format!("the {nf} is not reached: its program is not there, or does not answer");
    refusal("refused", &why)
}

/// An IMSI, also as `imsi-...`.
pub(crate) fn subscriber(text: &str) -> Result<Supi, Value> {
    let digits = text.strip_prefix("imsi-").unwrap_or(text);
    Supi::from_imsi(digits).ok_or_else(|| {
        let what = format!("'{text}' is no IMSI: 6 to 15 digits are expected");
        refusal("invalid", &what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, serde_json::Error> {
        match serde_json::from_str(text)? {
            Ask::Core(request) => Ok(request),
            Ask::Subscribers(operation) => panic!("{operation:?}"),
        }
    }

    #[test]
    fn operations_of_the_database_are_questions_too() {
        for text in [
            r#"{"cmd":"subscriber_list"}"#,
            r#"{"cmd":"home_key_list"}"#,
            r#"{"cmd":"restore","from":"/x"}"#,
        ] {
            let ask: Ask = serde_json::from_str(text).unwrap();
            assert!(matches!(ask, Ask::Subscribers(_)), "{text}");
        }
        assert!(serde_json::from_str::<Ask>(r#"{"cmd":"restore"}"#).is_err());
    }

    #[test]
    fn requests_are_named_by_their_command() {
        let ue = Request::Ue {
            imsi: "001010000000001".to_owned(),
        };
        assert_eq!(
            read(r#"{"cmd":"ue","imsi":"001010000000001"}"#).unwrap(),
            ue
        );
        let all = Request::Ues {
            from: None,
            count: None,
        };
        assert_eq!(read(r#"{"cmd":"ues"}"#).unwrap(), all);
        for bad in [
            r#"{"cmd":"ue"}"#,
            r#"{"cmd":"sessions"}"#,
            r#"{"cmd":"ue","imsi":"1","x":1}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_subscriber_is_named_by_its_digits() {
        assert_eq!(
            subscriber("imsi-001010000000001"),
            subscriber("001010000000001")
        );
        assert!(
            subscriber("00101x").unwrap_err()["error"]
                .as_str()
                .unwrap()
                .contains("no IMSI")
        );
    }
}
