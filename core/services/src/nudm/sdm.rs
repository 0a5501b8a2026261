//! Nudm_SubscriberDataManagement (TS 29.503, 6.1): what a subscriber may do, and subscriptions to changes of it.

use http::{Method, StatusCode};
use serde_json::{Map, Value};
use sluice_ids::{Dnn, Snssai, Supi};
use sluice_sbi::{
    GetAccessAndMobility, GetSessionManagement, GetSmfSelection, Message, Nf, Problem,
    SdmSubscribed, Slot, SmfRegistration, SubscribeSdm, UnsubscribeSdm,
};

use crate::body::{read, read_response, respond, respond_empty, send_empty};
use crate::calls::{ask_each, call, subscriber_problem};
use crate::exchange::{Consumer, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::problem::{refuse, tell};
use crate::route::{Route, not_allowed, unknown};
use crate::subscription::asked::{Source, Then};
use crate::subscription::context::{Sdm, forget_sdm, sdm_ids};
use crate::subscription::registered::in_smfs_json;
use crate::subscription::{provisioned, query, refuse_data, sdm_resource};
use crate::values::{plmn_json, slice, slice_json};

/// Begin of the paths.
const ROOT: &str = "/nudm-sdm/v2";

/// Begin of the paths of subscriptions.
const SDM_ROOT: sdm_resource::Root = (ROOT, "");

/// A request of an AMF or an SMF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::GetAccessAndMobility(GetAccessAndMobility { supi }) => Some(access(supi, memory)),
        Message::GetSmfSelection(GetSmfSelection { supi, slice }) => {
            Some(selection(supi, *slice, memory))
        }
        Message::GetSessionManagement(request) => Some(session(*request, memory)),
        Message::SubscribeSdm(SubscribeSdm { subscription }) => {
            let sdm = Sdm::known(*subscription, memory);
            Some(sdm_resource::create(SDM_ROOT, sdm, |id| {
                SdmSubscribed { id: id.into() }.into()
            }))
        }
        Message::UnsubscribeSdm(UnsubscribeSdm { supi, id }) => {
            Some(sdm_resource::delete(SDM_ROOT, *supi, id.get(), memory))
        }
        _ => None,
    }
}

fn access(supi: &Supi, memory: &Memory) -> Consumer {
    let query = query(&[("plmn-id", &plmn_json(memory.own.plmn))]);
    let path = format!("{ROOT}/{supi}/am-data?{query}");
    call(send_empty(Method::GET, &path), |came, _| {
        let data = found(&came.response)?;
        let access = provisioned::access(&data);
        access.map(Slot::from).ok_or(Problem::Protocol)
    })
}

fn selection(supi: &Supi, slice: Snssai, memory: &Memory) -> Consumer {
    let query = query(&[("plmn-id", &plmn_json(memory.own.plmn))]);
    let path = format!("{ROOT}/{supi}/smf-select-data?{query}");
    call(send_empty(Method::GET, &path), move |came, memory| {
        let data = found(&came.response)?;
        let selection = provisioned::selection(&data, slice, &mut memory.deviations);
        selection.map(Slot::from).ok_or(Problem::Protocol)
    })
}

fn session(request: GetSessionManagement, memory: &Memory) -> Consumer {
    let GetSessionManagement { supi, slice, dnn } = request;
    let query = query(&[
        ("single-nssai", &slice_json(slice)),
        ("dnn", &dnn.to_string().into()),
        ("plmn-id", &plmn_json(memory.own.plmn)),
    ]);
    let path = format!("{ROOT}/{supi}/sm-data?{query}");
    call(send_empty(Method::GET, &path), move |came, _| {
        session_found(&came.response, slice, dnn)
    })
}

/// SmSubsData of one data network: unless a cause says that the subscriber is not found, it is the data.
pub(crate) fn session_found(response: &Response, slice: Snssai, dnn: Dnn) -> Result<Slot, Problem> {
    let is_user = crate::calls::cause(response).as_deref() == Some("USER_NOT_FOUND");
    if response.status() == StatusCode::NOT_FOUND && !is_user {
        return Err(Problem::DnnNotSupported);
    }
    let data = found(response)?;
    let session = provisioned::session(&data, slice, dnn);
    session.map(Slot::from).ok_or(Problem::DnnNotSupported)
}

/// Data of a response.
pub(crate) fn found(response: &Response) -> Result<Value, Problem> {
    match response.status() {
        StatusCode::OK => Ok(read_response(response)),
        _ => Err(subscriber_problem(response)),
    }
}

/// A request for the UDM.
pub(crate) fn accept(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("GET", [ue]) => accept_sets(ue, route, memory),
        (
            "GET",
            [
                ue,
                set @ ("am-data" | "nssai" | "smf-select-data" | "sm-data"),
            ],
        ) => accept_get(ue, set, route, memory),
        ("GET", [ue, "ue-context-in-smf-data"]) => accept_in_smfs(ue),
        ("POST", [ue, "sdm-subscriptions"]) => accept_subscribe(ue, request, memory),
        ("DELETE", [ue, "sdm-subscriptions", name]) => accept_unsubscribe(ue, name, memory),
        (
            _,
            [_]
            | [
                _,
                "am-data"
                | "nssai"
                | "smf-select-data"
                | "sm-data"
                | "ue-context-in-smf-data"
                | "sdm-subscriptions",
            ]
            | [_, "sdm-subscriptions", _],
        ) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn accept_get(
    ue: &str,
    set: &str,
    route: &Route,
    memory: &mut Memory,
) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let of = networks(route)?;
    let then: Then = Box::new(|data, _| {
        Producer::Done(match data {
            Ok(data) => respond(StatusCode::OK, &data),
            Err(problem) => refuse_data(problem),
        })
    });
    Ok(match set {
        "am-data" => Source::Udm.access_data(supi, then),
        "nssai" => Source::Udm.nssai_data(supi, then),
        "smf-select-data" => Source::Udm.selection_data(supi, then),
        _ => Source::Udm.session_data(supi, of, memory, then),
    })
}

/// UeContextInSmfData of a UE that is known, and perhaps has no sessions.
fn accept_in_smfs(ue: &str) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let respond = |smfs: Result<Vec<SmfRegistration>, Problem>, _: &mut Memory| {
        Producer::Done(match smfs {
            Ok(smfs) => respond(StatusCode::OK, &in_smfs_json(&smfs)),
            Err(problem) => tell(problem),
        })
    };
    Ok(Source::Udm.smfs(supi, Box::new(respond)))
}

/// Slice and data network of a query for session management data.
pub(crate) fn networks(route: &Route) -> Result<(Option<Snssai>, Option<Dnn>), Refusal> {
    let wrong = |name: &str| {
        let detail = format!("{name} is wrong");
        refuse(
            StatusCode::BAD_REQUEST,
            "OPTIONAL_QUERY_PARAM_INCORRECT",
            &detail,
        )
    };
    let asked_slice = route.query("single-nssai").map(|text| {
        let value: Option<Value> = serde_json::from_str(text).ok();
        value.as_ref().and_then(slice)
    });
    let asked_dnn = route.query("dnn").map(Dnn::new);
    if asked_slice == Some(None) {
        return Err(wrong("single-nssai").into());
    }
    if asked_dnn == Some(None) {
        return Err(wrong("dnn").into());
    }
    Ok((asked_slice.flatten(), asked_dnn.flatten()))
}

/// Data sets of a subscriber in one (SubscriptionDataSets).
fn accept_sets(ue: &str, route: &Route, memory: &mut Memory) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let Some(names) = route.query("dataset-names") else {
        let detail = "dataset-names is missing";
        let cause = "MANDATORY_QUERY_PARAM_MISSING";
        return Err(refuse(StatusCode::BAD_REQUEST, cause, detail).into());
    };
    let of = networks(route)?;
    let wanted: Vec<&str> = names.split(',').collect();
    let known = ["AM", "SMF_SEL", "SM", "UEC_SMF"];
    let wanted = known.into_iter().filter(|name| wanted.contains(name));
    let sets = Sets {
        supi,
        of,
        wanted: wanted.collect(),
        found: Map::new(),
    };
    Ok(sets.next(memory))
}

/// Data sets that are asked for one after the other.
struct Sets {
    supi: Supi,
    of: (Option<Snssai>, Option<Dnn>),
    wanted: Vec<&'static str>,
    found: Map<String, Value>,
}

impl Sets {
    fn next(mut self, memory: &mut Memory) -> Producer {
        let Some(set) = self.wanted.pop() else {
            return Producer::Done(match self.found.is_empty() {
                true => refuse_data(Problem::DnnNotSupported),
                false => respond(StatusCode::OK, &self.found.into()),
            });
        };
        let (supi, of) = (self.supi, self.of);
        let member = match set {
            "AM" => "amData",
            "SMF_SEL" => "smfSelData",
            "UEC_SMF" => "uecSmfData",
            _ => "smData",
        };
        let then: Then = Box::new(move |data, memory| match data {
            Ok(data) => {
                self.found.insert(member.to_owned(), data);
                self.next(memory)
            }
            // One that has none of these data has others.
            Err(Problem::DnnNotSupported) => self.next(memory),
            Err(problem) => Producer::Done(tell(problem)),
        });
        match set {
            "AM" => Source::Udm.access_data(supi, then),
            "SMF_SEL" => Source::Udm.selection_data(supi, then),
            "UEC_SMF" => {
                let on_smfs = |smfs: Result<Vec<SmfRegistration>, Problem>, memory: &mut Memory| {
                    then(smfs.map(|smfs| in_smfs_json(&smfs)), memory)
                };
                Source::Udm.smfs(supi, Box::new(on_smfs))
            }
            _ => Source::Udm.session_data(supi, of, memory, then),
        }
    }
}

fn accept_subscribe(ue: &str, request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let sdm = Sdm::read(&read(request)?, supi)?;
    // The repository is told the callback, too.
    sdm.keep(memory);
    let messages = sdm.subscriptions.iter();
    let messages: Vec<Slot> = messages
        .map(|one| Slot::from(SubscribeSdm { subscription: *one }))
        .collect();
    let on_answers = move |answers: Vec<Message>, memory: &mut Memory| {
        Producer::Done(subscribed(&sdm, &supi, &answers, memory))
    };
    let messages = messages.into_iter();
    Ok(ask_each(
        Nf::Udm,
        messages,
        Vec::new(),
        memory,
        Box::new(on_answers),
    ))
}

fn subscribed(sdm: &Sdm, supi: &Supi, answers: &[Message], memory: &mut Memory) -> Response {
    let mut answers = answers.iter();
    let failed = answers.find_map(|answer| answer.answer_to::<SubscribeSdm>().err());
    match failed {
        None => sdm_resource::created(SDM_ROOT, sdm, supi, memory),
        Some(problem) => {
            for one in &sdm.subscriptions {
                forget_sdm(supi, one.id(), memory);
            }
            tell(problem)
        }
    }
}

fn accept_unsubscribe(ue: &str, name: &str, memory: &mut Memory) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let no_such = || {
        let detail = "there is no such subscription";
        refuse(StatusCode::NOT_FOUND, "SUBSCRIPTION_NOT_FOUND", detail)
    };
    let ids = sdm_ids(name).ok_or_else(no_such)?;
    let messages = ids.iter();
    let messages: Vec<Slot> = messages
        .map(|id| {
            Slot::from(UnsubscribeSdm {
                supi,
                id: (*id).into(),
            })
        })
        .collect();
    let on_answers = move |answers: Vec<Message>, memory: &mut Memory| {
        for id in ids {
            forget_sdm(&supi, id, memory);
        }
        let mut answers = answers.iter();
        let failed = answers.find_map(|answer| answer.answer_to::<UnsubscribeSdm>().err());
        Producer::Done(match failed {
            None => respond_empty(StatusCode::NO_CONTENT),
            Some(problem) => tell(problem),
        })
    };
    let messages = messages.into_iter();
    Ok(ask_each(
        Nf::Udm,
        messages,
        Vec::new(),
        memory,
        Box::new(on_answers),
    ))
}
