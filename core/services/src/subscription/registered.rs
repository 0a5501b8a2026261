//! Registrations of a UE's AMF and of its SMFs, as the UDM (Nudm_UECM_Get) and the UDR (Nudr_DM_Query) tell them.

use serde_json::{Map, Value, json};
use sluice_ids::Supi;
use sluice_sbi::{
    ContextData, GetSmfRegistration, GetUeContext, Message, Problem, QueryContextData, QuerySmf,
    Slot, SmfRegistration,
};

use crate::calls::ask_each;
use crate::exchange::Producer;
use crate::names::Memory;
use crate::subscription::asked::{Source, Then};
use crate::subscription::context::{AmfRegistration, smf_json};
use crate::values::{plmn_json, slice_json};

/// Goes on with all registrations of SMFs.
type OnSmfs =
    Box<dyn FnOnce(Result<Vec<SmfRegistration>, Problem>, &mut Memory) -> Producer + Send>;

impl Source {
    fn context(self, supi: Supi) -> Slot {
        match self {
            Self::Udm => GetUeContext { supi }.into(),
            Self::Udr => QueryContextData { supi }.into(),
        }
    }

    fn smf_request(self, supi: Supi, session: u8) -> Slot {
        match self {
            Self::Udm => GetSmfRegistration { supi, session }.into(),
            Self::Udr => QuerySmf { supi, session }.into(),
        }
    }

    /// Goes on with what is known of a UE.
    pub fn known(
        self,
        supi: Supi,
        then: impl FnOnce(Result<ContextData, Problem>, &mut Memory) -> Producer + Send + 'static,
    ) -> Producer {
        let on_answer = |answer: &Message, memory: &mut Memory| {
            then(answer.answer_to::<QueryContextData>(), memory)
        };
        Producer::Ask(self.nf(), self.context(supi), Box::new(on_answer))
    }

    /// Amf3GppAccessRegistration
    pub fn amf(self, supi: Supi, then: Then) -> Producer {
        self.known(supi, move |known, memory| {
            let found = known.and_then(|known| match known.has_amf {
                true => Ok(amf_json(&supi, &known, memory)),
                false => Err(Problem::ContextNotFound),
            });
            then(found, memory)
        })
    }

    /// SmfRegistration
    pub fn smf(self, supi: Supi, session: u8, then: Then) -> Producer {
        let on_answer = |answer: &Message, memory: &mut Memory| {
            let found = answer.answer_to::<QuerySmf>();
            then(found.map(|stored| smf_json(&stored.registration)), memory)
        };
        let request = self.smf_request(supi, session);
        Producer::Ask(self.nf(), request, Box::new(on_answer))
    }

    /// SmfRegistrations; one that has gone meanwhile is not among them.
    pub fn smfs(self, supi: Supi, then: OnSmfs) -> Producer {
        self.known(supi, move |known, memory| match known {
            Ok(known) => self.each_smf(supi, &known, memory, then),
            Err(problem) => then(Err(problem), memory),
        })
    }

    fn each_smf(
        self,
        supi: Supi,
        known: &ContextData,
        memory: &mut Memory,
        then: OnSmfs,
    ) -> Producer {
        let sessions = known.sessions.get();
        let has = |session: &u8| sessions & 1 << session != 0;
        let requests: Vec<Slot> = (0..16_u8)
            .filter(has)
            .map(|session| self.smf_request(supi, session))
            .collect();
        let on_answers = |answers: Vec<Message>, memory: &mut Memory| {
            let answers = answers.iter();
            let found = answers.filter_map(|answer| answer.answer_to::<QuerySmf>().ok());
            then(
                Ok(found.map(|stored| stored.registration).collect()),
                memory,
            )
        };
        let requests = requests.into_iter();
        ask_each(
            self.nf(),
            requests,
            Vec::new(),
            memory,
            Box::new(on_answers),
        )
    }
}

fn amf_json(supi: &Supi, known: &ContextData, memory: &Memory) -> Value {
    let network = known.guami.plmn.serving_network_name();
    AmfRegistration::known(supi, known.guami, network, memory).json()
}

/// SmfRegistrationInfo, which has at least one.
pub(crate) fn smfs_json(smfs: &[SmfRegistration]) -> Value {
    let list: Value = smfs.iter().map(smf_json).collect();
    json!({ "smfRegistrationList": list })
}

/// UeContextInSmfData
pub(crate) fn in_smfs_json(smfs: &[SmfRegistration]) -> Value {
    let session = |one: &SmfRegistration| {
        let body = json!({
            "dnn": one.dnn.to_string(),
            "smfInstanceId": one.smf.to_string(),
            "plmnId": plmn_json(one.plmn),
            "singleNssai": slice_json(one.slice),
        });
        (one.session.to_string(), body)
    };
    // An SMF need not say which data network it is (TS 29.503, 6.2.6.2.4): then nobody can be told.
    let named = smfs.iter().filter(|one| !one.dnn.is_none());
    let sessions: Map<String, Value> = named.map(session).collect();
    match sessions.is_empty() {
        true => json!({}),
        false => json!({ "pduSessions": sessions }),
    }
}
