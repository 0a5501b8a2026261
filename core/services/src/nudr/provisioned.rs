//! Provisioned data (TS 29.505, 5.2.4): access and mobility, SMF selection, session management.

use http::{Method, StatusCode};
use serde_json::json;
use sluice_sbi::{
    Message, Problem, QueryAccessAndMobility, QuerySessionManagement, QuerySmfSelection, Slot,
};

use crate::body::{respond, send_empty};
use crate::calls::call;
use crate::deviations::Deviation;
use crate::exchange::{Consumer, Producer, Refusal};
use crate::names::Memory;
use crate::nudm::sdm::{found, networks, session_found};
use crate::nudr::provisioned_path;
use crate::route::{Route, not_allowed, unknown};
use crate::subscription::asked::{Source, Then};
use crate::subscription::{provisioned, query, refuse_data};
use crate::values::slice_json;

const ACCESS: &str = "am-data";
const SELECTION: &str = "smf-selection-subscription-data";
const SESSIONS: &str = "sm-data";

/// A request of a UDM.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    let plmn = memory.own.plmn;
    match *message {
        Message::QueryAccessAndMobility(QueryAccessAndMobility { supi }) => {
            let path = provisioned_path(&supi, plmn, ACCESS);
            Some(call(send_empty(Method::GET, &path), |came, _| {
                let data = found(&came.response)?;
                let access = provisioned::access(&data);
                access.map(Slot::from).ok_or(Problem::Protocol)
            }))
        }
        Message::QuerySmfSelection(QuerySmfSelection { supi, slice }) => {
            let path = provisioned_path(&supi, plmn, SELECTION);
            Some(call(send_empty(Method::GET, &path), move |came, memory| {
                let data = found(&came.response)?;
                let selection = provisioned::selection(&data, slice, &mut memory.deviations);
                selection.map(Slot::from).ok_or(Problem::Protocol)
            }))
        }
        Message::QuerySessionManagement(QuerySessionManagement { supi, slice, dnn }) => {
            let query = query(&[
                ("single-nssai", &slice_json(slice)),
                ("dnn", &dnn.to_string().into()),
            ]);
            let path = provisioned_path(&supi, plmn, &format!("{SESSIONS}?{query}"));
            Some(call(send_empty(Method::GET, &path), move |came, _| {
                session_found(&came.response, slice, dnn)
            }))
        }
        _ => None,
    }
}

/// A request for provisioned data. They are the same in all networks.
pub(crate) fn accept(
    route: &Route,
    ue: &str,
    rest: &[&str],
    memory: &mut Memory,
) -> Result<Producer, Refusal> {
    let set = match (route.method.as_str(), rest) {
        ("GET", [set @ (ACCESS | SELECTION | SESSIONS)]) => *set,
        (_, [ACCESS | SELECTION | SESSIONS]) => return Err(not_allowed().into()),
        _ => return Err(unknown().into()),
    };
    let supi = crate::subscription::supi(ue)?;
    let of = networks(route)?;
    // free5GC's UDM reads lists inside of shared data alone.
    let is_wrapped = set == SESSIONS && route.is_of_free5gc;
    let then: Then = Box::new(move |data, memory| {
        Producer::Done(match data {
            Ok(data) if is_wrapped => {
                memory.deviations.count(Deviation::SharedData);
                respond(StatusCode::OK, &json!({ "individualSmSubsData": data }))
            }
            Ok(data) => respond(StatusCode::OK, &data),
            Err(problem) => refuse_data(problem),
        })
    });
    Ok(match set {
        ACCESS => Source::Udr.access_data(supi, then),
        SELECTION => Source::Udr.selection_data(supi, then),
        _ => Source::Udr.session_data(supi, of, memory, then),
    })
}
