//! Context data as JSON: registrations of AMFs and SMFs, and subscriptions to changes (TS 29.503, 6.2.6.2 and 6.1.6.2.3).

use http::StatusCode;
use serde_json::{Value, json};
use sluice_ids::{Dnn, Guami, ServingNetworkName, Snssai, Supi};
use sluice_sbi::{Nf, NfInstance, SdmData, SdmSubscription, SmfRegistration};

use crate::body::{member, optional};
use crate::deviations::Deviation;
use crate::exchange::Refusal;
use crate::names::Memory;
use crate::nudm::callbacks::{self, AMF_DEREGISTRATION};
use crate::problem::{refuse, refuse_member};
use crate::values::{
    guami, guami_json, hex, network, network_text, nf_instance, plmn, plmn_json, slice, slice_json,
};

/// Begin of the URI that stands for an instance of a function.
const URN: &str = "urn:uuid:";

/// Key of the callback of an AMF that has a UE, or had it until another one registered it.
pub(crate) fn deregistration_key(supi: &Supi, amf: Guami) -> String {
    let amf = [amf.plmn.octets(), amf.amf.octets()].concat();
    format!("dereg {supi} {}", hex(&amf))
}

/// Key of the instance of the AMF that has a UE.
fn amf_key(supi: &Supi) -> String {
    format!("amf {supi}")
}

/// Registration of an AMF (Amf3GppAccessRegistration), as far as it is kept.
pub(crate) struct AmfRegistration {
    instance: NfInstance,
    callback: String,
    /// The AMF.
    pub guami: Guami,
    /// Network in which the UE was authenticated: that of the GUAMI, unless networks share a RAN.
    pub network: ServingNetworkName,
    /// Whether the UE is there no more.
    pub is_purged: bool,
}

impl AmfRegistration {
    /// Of the core's own AMF.
    pub fn own(supi: &Supi, guami: Guami, network: ServingNetworkName, memory: &Memory) -> Self {
        Self {
            instance: memory.instance(Nf::Amf),
            callback: callbacks::own_uri(&memory.own.root, supi, AMF_DEREGISTRATION),
            guami,
            network,
            is_purged: false,
        }
    }

    /// Of the AMF that has registered here, else of the core's own.
    pub fn known(supi: &Supi, guami: Guami, network: ServingNetworkName, memory: &Memory) -> Self {
        let mut known = Self::own(supi, guami, network, memory);
        let told = memory.callback(&amf_key(supi));
        if let Some(told) = told.and_then(|uri| nf_instance(&uri.strip_prefix(URN)?.into())) {
            known.instance = told;
        }
        if let Some(told) = memory.callback(&deregistration_key(supi, guami)) {
            known.callback = told.to_owned();
        }
        known
    }

    /// Amf3GppAccessRegistration. The TS has no member for a serving network that is not the GUAMI's.
    pub fn json(&self) -> Value {
        let mut body = json!({
            "amfInstanceId": self.instance.to_string(),
            "deregCallbackUri": self.callback,
            "guami": guami_json(self.guami),
            "ratType": "NR",
        });
        if self.network != self.guami.plmn.serving_network_name() {
            body["customInfo"] = json!({ "servingNetworkName": network_text(&self.network) });
        }
        body
    }

    /// Amf3GppAccessRegistration
    pub fn read(body: &Value) -> Result<Self, Refusal> {
        member(body, "/ratType", "a name", |value| {
            value.as_str().map(|_| ())
        })?;
        let purged = optional(body, "/purgeFlag", "true or false", Value::as_bool)?;
        let guami = member(body, "/guami", "a GUAMI", guami)?;
        let pointer = "/customInfo/servingNetworkName";
        let expected = "5G:mncNNN.mccNNN.3gppnetwork.org";
        let text = |value: &Value| value.as_str().and_then(network);
        let told = optional(body, pointer, expected, text)?;
        Ok(Self {
            instance: member(body, "/amfInstanceId", "a UUID", nf_instance)?,
            callback: member(body, "/deregCallbackUri", "a URI", uri)?,
            guami,
            network: told.unwrap_or_else(|| guami.plmn.serving_network_name()),
            is_purged: purged == Some(true),
        })
    }

    /// From now on this AMF is told. Gives what was kept before.
    pub fn keep(&self, supi: &Supi, memory: &mut Memory) -> Before {
        let keys = [amf_key(supi), deregistration_key(supi, self.guami)];
        let uris = [format!("{URN}{}", self.instance), self.callback.clone()];
        let before = keys.map(|key| (memory.callback(&key).map(str::to_owned), key));
        for ((_, key), uri) in before.iter().zip(&uris) {
            memory.keep_callback(key, uri);
        }
        Before(before)
    }
}

/// Names that were kept before a registration.
pub(crate) struct Before([(Option<String>, String); 2]);

impl Before {
    /// Whether an AMF had the UE.
    pub fn was_registered(&self) -> bool {
        let [(amf, _), _] = &self.0;
        amf.is_some()
    }

    /// They are kept again.
    pub fn restore(&self, memory: &mut Memory) {
        for (uri, key) in &self.0 {
            match uri {
                Some(uri) => memory.keep_callback(key, uri),
                None => memory.forget_callback(key),
            }
        }
    }
}

/// No AMF has the UE: that one is told nothing.
pub(crate) fn forget_ue(supi: &Supi, amf: Guami, memory: &mut Memory) {
    memory.forget_callback(&amf_key(supi));
    memory.forget_callback(&deregistration_key(supi, amf));
}

/// SmfRegistration
pub(crate) fn smf_json(registration: &SmfRegistration) -> Value {
    let mut body = json!({
        "smfInstanceId": registration.smf.to_string(),
        "pduSessionId": registration.session,
        "singleNssai": slice_json(registration.slice),
        "plmnId": plmn_json(registration.plmn),
    });
    if !registration.dnn.is_none() {
        body["dnn"] = registration.dnn.to_string().into();
    }
    body
}

/// SmfRegistration of a subscriber's session, which the path names, too.
pub(crate) fn smf(body: &Value, supi: Supi, segment: &str) -> Result<SmfRegistration, Refusal> {
    let expected = "the identity in the path";
    let session = member(body, "/pduSessionId", expected, |value| {
        let session = session_id(segment)?;
        (value.as_u64() == Some(session.into())).then_some(session)
    })?;
    Ok(SmfRegistration {
        supi,
        session,
        smf: member(body, "/smfInstanceId", "a UUID", nf_instance)?,
        slice: member(body, "/singleNssai", "an S-NSSAI", slice)?,
        dnn: optional(body, "/dnn", "a DNN", dnn)?.unwrap_or(Dnn::NONE),
        plmn: member(body, "/plmnId", "mcc and mnc", plmn)?,
    })
}

/// PduSessionId of a path.
pub(crate) fn session_id(segment: &str) -> Option<u8> {
    segment.parse().ok()
}

fn dnn(value: &Value) -> Option<Dnn> {
    Dnn::new(value.as_str()?)
}

fn uri(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let uri: http::Uri = text.parse().ok()?;
    uri.authority().is_some().then(|| text.to_owned())
}

/// Begin of the keys of callbacks of those who hear of changes of a subscriber's data.
pub(crate) fn sdm_keys(supi: &Supi, data: SdmData) -> String {
    let data = match data {
        SdmData::AccessAndMobility => "am-data",
        SdmData::SessionManagement => "sm-data",
    };
    format!("{data} {supi} ")
}

/// Subscription to changes (SdmSubscription).
pub(crate) struct Sdm {
    /// One for each kind of data.
    pub subscriptions: Vec<SdmSubscription>,
    callback: String,
}

impl Sdm {
    /// Of the callback that the subscriber has told, else of that of the core's own function.
    pub fn known(subscription: SdmSubscription, memory: &Memory) -> Self {
        let (supi, data) = (subscription.supi, subscription.data);
        let key = format!("{}{:016x}", sdm_keys(&supi, data), subscription.id());
        let own = || callbacks::own_uri(&memory.own.root, &supi, callbacks::of_data(data));
        Self {
            subscriptions: vec![subscription],
            callback: memory.callback(&key).map_or_else(own, str::to_owned),
        }
    }

    /// SdmSubscription. Resources are named by absolute paths (TS 29.503, 6.1.6.2.3).
    pub fn json(&self) -> Value {
        let mut body = json!({
            "callbackReference": self.callback,
            "implicitUnsubscribe": true,
        });
        let mut uris = Vec::new();
        for one in &self.subscriptions {
            body["nfInstanceId"] = one.subscriber.to_string().into();
            let data = match one.data {
                SdmData::AccessAndMobility => "am-data",
                SdmData::SessionManagement => "sm-data",
            };
            uris.push(format!("/nudm-sdm/v2/{}/{data}", one.supi));
            if let Some((slice, dnn)) = one.network() {
                body["singleNssai"] = slice_json(slice);
                if !dnn.is_none() {
                    body["dnn"] = dnn.to_string().into();
                }
            }
        }
        body["monitoredResourceUris"] = uris.into();
        body
    }

    /// SdmSubscription. Rights and data networks of a UE change with its access and mobility data here.
    pub fn read(body: &Value, supi: Supi) -> Result<Self, Refusal> {
        let subscriber = member(body, "/nfInstanceId", "a UUID", nf_instance)?;
        // free5GC's SMF has an empty one: whoever wants to be told nowhere is told nothing.
        let uri_or_empty = |value: &Value| match value.as_str() {
            Some("") => Some(String::new()),
            _ => uri(value),
        };
        let callback = member(body, "/callbackReference", "a URI", uri_or_empty)?;
        let expected = "a list of URIs";
        let pointer = "/monitoredResourceUris";
        let texts = |value: &Value| {
            let uris = value.as_array()?.iter();
            uris.map(|uri| uri.as_str().map(str::to_owned)).collect()
        };
        // free5GC's SMF names none, and is told nothing anyway: its callback is empty.
        let is_none = body
            .get(pointer.trim_start_matches('/'))
            .is_none_or(Value::is_null);
        let uris: Vec<String> = match is_none && callback.is_empty() {
            true => vec!["/sm-data".to_owned()],
            false => member(body, pointer, expected, texts)?,
        };
        if uris.is_empty() {
            return Err(refuse_member(false, pointer, expected).into());
        }
        let slice = optional(body, "/singleNssai", "an S-NSSAI", slice)?;
        let dnn = optional(body, "/dnn", "a DNN", dnn)?.unwrap_or(Dnn::NONE);
        let is_any = |names: &[&str]| {
            let last = |uri: &String| {
                let path = uri.split('?').next().unwrap_or_default();
                names
                    .iter()
                    .any(|name| path.trim_end_matches('/').ends_with(name))
            };
            uris.iter().any(last)
        };
        let mut subscriptions = Vec::new();
        if is_any(&["/am-data", "/nssai", "/smf-select-data"]) {
            subscriptions.push(SdmSubscription::access_and_mobility(supi, subscriber));
        }
        if is_any(&["/sm-data"]) {
            let of = (slice.unwrap_or(Snssai::new(0, None)), dnn);
            subscriptions.push(SdmSubscription::session_management(supi, subscriber, of));
        }
        if subscriptions.is_empty() {
            let status = StatusCode::NOT_IMPLEMENTED;
            let detail = "changes of am-data, nssai, smf-select-data and sm-data are told";
            return Err(refuse(status, "UNSUPPORTED_RESOURCE_URI", detail).into());
        }
        Ok(Self {
            subscriptions,
            callback,
        })
    }

    /// From now on this function is told.
    pub fn keep(&self, memory: &mut Memory) {
        if self.callback.is_empty() {
            return memory.deviations.count(Deviation::EmptyString);
        }
        for one in &self.subscriptions {
            let key = format!("{}{:016x}", sdm_keys(&one.supi, one.data), one.id());
            memory.keep_callback(&key, &self.callback);
        }
    }

    /// Name of the subscription in its URI: identities of all its kinds of data.
    pub fn name(&self) -> String {
        let ids = self.subscriptions.iter();
        let ids: Vec<String> = ids.map(|one| format!("{:016x}", one.id())).collect();
        ids.join("-")
    }
}

/// Identities of the name of a subscription.
pub(crate) fn sdm_ids(name: &str) -> Option<Vec<u64>> {
    let id = |text: &str| {
        let id = u64::from_str_radix(text, 16).ok()?;
        (text.len() == 16).then_some(id)
    };
    name.split('-').map(id).collect()
}

/// This one is told no more.
pub(crate) fn forget_sdm(supi: &Supi, id: u64, memory: &mut Memory) {
    for data in [SdmData::AccessAndMobility, SdmData::SessionManagement] {
        memory.forget_callback(&format!("{}{id:016x}", sdm_keys(supi, data)));
    }
}
