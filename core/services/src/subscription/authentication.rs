//! Authentication as JSON: events, keys, and refusals (TS 29.503, 6.3.6; TS 29.505, 5.4.2.2).

use serde_json::{Value, json};
use sluice_ids::ServingNetworkName;
use sluice_sbi::{AuthMethod, AuthenticationSubscription, NfInstance, Problem, SimAlgorithm};

use crate::body::member;
use crate::calls::{is_bare_refusal, subscriber_problem};
use crate::deviations::Deviation;
use crate::exchange::{Refusal, Response};
use crate::names::Memory;
use crate::values::{
    array, date_time, date_time_text, hex, network, network_text, nf_instance, octets,
};

/// Authentication Management Field: the separation bit, which 5G demands.
const AMF_FIELD: &str = "8000";

/// How an authentication ended (AuthEvent: TS 29.503, 6.3.6.2.7).
pub(crate) struct AuthEvent {
    /// For which network.
    pub network: ServingNetworkName,
    /// By which method.
    pub method: AuthMethod,
    /// Whether it was that UE.
    pub success: bool,
    /// Seconds since 1970.
    pub unix_s: u64,
}

impl AuthEvent {
    /// AuthEvent of an AUSF.
    pub fn json(&self, ausf: NfInstance) -> Value {
        json!({
            "nfInstanceId": ausf.to_string(),
            "success": self.success,
            "timeStamp": date_time_text(self.unix_s),
            "authType": method_text(self.method),
            "servingNetworkName": network_text(&self.network),
        })
    }

    /// AuthEvent
    pub fn read(body: &Value) -> Result<Self, Refusal> {
        member(body, "/nfInstanceId", "a UUID", nf_instance)?;
        let text = |value: &Value| value.as_str().and_then(network);
        Ok(Self {
            success: member(body, "/success", "true or false", Value::as_bool)?,
            unix_s: member(body, "/timeStamp", "a date and time", |value| {
                date_time(value.as_str()?)
            })?,
            method: member(body, "/authType", "5G_AKA or EAP_AKA_PRIME", method)?,
            network: member(
                body,
                "/servingNetworkName",
                "5G:mncNNN.mccNNN.3gppnetwork.org",
                text,
            )?,
        })
    }
}

/// AuthType, AuthMethod
pub(crate) fn method_text(method: AuthMethod) -> &'static str {
    match method {
        AuthMethod::FiveGAka => "5G_AKA",
        AuthMethod::EapAkaPrime => "EAP_AKA_PRIME",
    }
}

/// AuthType, AuthMethod
pub(crate) fn method(value: &Value) -> Option<AuthMethod> {
    let all = [AuthMethod::FiveGAka, AuthMethod::EapAkaPrime];
    let text = value.as_str()?;
    all.into_iter().find(|one| method_text(*one) == text)
}

/// AuthenticationSubscription. Its keys are as they are: there is no protectionParameterId.
pub(crate) fn subscription_json(subscription: &AuthenticationSubscription) -> Value {
    let AuthenticationSubscription {
        method,
        algorithm,
        k,
        opc,
        sqn,
    } = subscription;
    let (name, k_octets, member, opc_octets) = match algorithm {
        SimAlgorithm::Milenage => ("milenage", 16, "encOpcKey", 16),
        SimAlgorithm::Tuak128 => ("tuak", 16, "encTopcKey", 32),
        SimAlgorithm::Tuak256 => ("tuak", 32, "encTopcKey", 32),
    };
    json!({
        "authenticationMethod": method_text(*method),
        "algorithmId": name,
        "encPermanentKey": hex(&k[..k_octets]),
        member: hex(&opc[..opc_octets]),
        "authenticationManagementField": AMF_FIELD,
        "sequenceNumber": { "sqn": sqn_text(sqn.get()) },
    })
}

/// AuthenticationSubscription. The algorithm is Milenage unless it is said to be TUAK: others have no algorithmId, or
/// something else in it.
pub(crate) fn subscription(body: &Value) -> Option<AuthenticationSubscription> {
    let named = body.get("algorithmId").and_then(Value::as_str);
    let is_tuak = named.is_some_and(|name| name.eq_ignore_ascii_case("tuak"));
    let key = |name| octets(body.get(name)?.as_str()?);
    let k = key("encPermanentKey")?;
    let opc = key(if is_tuak { "encTopcKey" } else { "encOpcKey" })?;
    let algorithm = match (is_tuak, k.len(), opc.len()) {
        (false, 16, 16) => SimAlgorithm::Milenage,
        (true, 16, 32) => SimAlgorithm::Tuak128,
        (true, 32, 32) => SimAlgorithm::Tuak256,
        _ => return None,
    };
    let padded = |key: &[u8]| std::array::from_fn(|at| key.get(at).copied().unwrap_or_default());
    Some(AuthenticationSubscription {
        method: method(body.get("authenticationMethod")?)?,
        algorithm,
        k: padded(&k),
        opc: padded(&opc),
        sqn: body.pointer("/sequenceNumber/sqn").and_then(sqn)?.into(),
    })
}

/// Sqn
pub(crate) fn sqn_text(sqn: u64) -> String {
    format!("{sqn:012x}")
}

/// Sqn
pub(crate) fn sqn(value: &Value) -> Option<u64> {
    let [a, b, c, d, e, f] = array(value)?;
    Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

/// Problem of a response to a request for an authentication. What a SIM has said of its sequence numbers is rejected like an
/// identity that cannot be read; and with 400 alone by Open5GS.
pub(crate) fn refused(response: &Response, resynchronises: bool, memory: &mut Memory) -> Problem {
    if resynchronises && is_bare_refusal(response) {
        memory.deviations.count(Deviation::Status);
        return Problem::AuthenticationRejected;
    }
    match subscriber_problem(response) {
        Problem::IdentityUnreadable if resynchronises => Problem::AuthenticationRejected,
        problem => problem,
    }
}
