//! Sessions of applications (Npcf_PolicyAuthorization, TS 29.514): an application wants flows of its own
//! for as long as it needs them.
//!
//! The types are those of the JSON of the TS (5.6.2), of which what acts is read and anything else
//! is left alone. An application of an operator asks what became of it; others are notified.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sluice_ids::{Dnn, Supi};
use sluice_sbi::{Effect, Filter, Now, PccRule, RuleName};

use crate::config::is_guaranteed;
use crate::policies::{FlowRefused, PolicyId};
use crate::{Pcf, filter};

/// A session of an application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppSession {
    /// Of which PDU session.
    pub(crate) policy: PolicyId,
    /// Its rules, a bit for each.
    pub(crate) rules: u16,
    /// What the application asked for.
    pub request: AppSessionRequest,
    /// Whether it wants to hear of what becomes of it.
    pub(crate) is_told: bool,
}

/// AppSessionContext (5.6.2.2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppSessionContext {
    /// What the application asks for.
    pub asc_req_data: AppSessionRequest,
}

/// AppSessionContextReqData (5.6.2.3).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AppSessionRequest {
    /// Which application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub af_app_id: Option<String>,
    /// Whose session, as `imsi-...`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supi: Option<String>,
    /// In which data network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dnn: Option<String>,
    /// The UE's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ue_ipv4: Option<Ipv4Addr>,
    /// The UE's address, or one of its prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ue_ipv6: Option<Ipv6Addr>,
    /// Its media, each a flow, by their numbers.
    pub med_components: BTreeMap<String, MediaComponent>,
}

/// MediaComponent (5.6.2.7); bit rates as `64 Kbps` (TS 29.571, 5.5.2).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MediaComponent {
    /// Its number.
    pub med_comp_n: u32,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub med_type: Option<MediaType>,
    /// Whether packets pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f_status: Option<FlowStatus>,
    /// Most bits per second to the UE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mar_bw_dl: Option<String>,
    /// Most bits per second from the UE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mar_bw_ul: Option<String>,
    /// Bits per second to the UE that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mir_bw_dl: Option<String>,
    /// Bits per second from the UE that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mir_bw_ul: Option<String>,
    /// Its packets.
    pub med_sub_comps: BTreeMap<String, MediaSubComponent>,
}

/// MediaSubComponent (5.6.2.8).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MediaSubComponent {
    /// Its number.
    pub f_num: u32,
    /// Packet filters: `permit out ...`, `permit in ...` ([`filter`]).
    pub f_descs: Vec<String>,
}

/// What a medium is (5.6.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum MediaType {
    /// Speech.
    Audio,
    /// Video.
    Video,
    /// Data.
    Data,
    /// Of an application.
    Application,
    /// Signalling.
    Control,
    /// Text.
    Text,
    /// Messages.
    Message,
    /// Anything else.
    Other,
}

/// Whether packets pass (5.6.3.12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FlowStatus {
    /// Those from the UE.
    #[serde(rename = "ENABLED-UPLINK")]
    EnabledUplink,
    /// Those to the UE.
    #[serde(rename = "ENABLED-DOWNLINK")]
    EnabledDownlink,
    /// Both.
    #[serde(rename = "ENABLED")]
    Enabled,
    /// None.
    #[serde(rename = "DISABLED")]
    Disabled,
    /// There is no such flow any more.
    #[serde(rename = "REMOVED")]
    Removed,
}

/// Why there is no such session, as ProblemDetails has it (TS 29.514, 5.7).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AppSessionProblem {
    /// Of HTTP.
    pub status: u16,
    /// Of the TS.
    pub cause: &'static str,
    /// In words.
    pub detail: String,
}

impl AppSessionProblem {
    fn new(status: u16, cause: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            cause,
            detail: detail.into(),
        }
    }

    /// There is no session of this number, or not any more.
    pub fn not_found() -> Self {
        let cause = "APPLICATION_SESSION_CONTEXT_NOT_FOUND";
        Self::new(404, cause, "there is no session of this number")
    }

    fn invalid(detail: impl Into<String>) -> Self {
        Self::new(400, "INVALID_SERVICE_INFORMATION", detail)
    }
}

impl From<FlowRefused> for AppSessionProblem {
    fn from(refused: FlowRefused) -> Self {
        match refused {
            FlowRefused::NoSession => {
                let what = "no session of such a UE is there";
                Self::new(500, "PDU_SESSION_NOT_AVAILABLE", what)
            }
            FlowRefused::NoFlow => Self::not_found(),
            FlowRefused::Rule(what) => Self::invalid(what),
            FlowRefused::NoRoom => {
                let cause = "REQUESTED_SERVICE_NOT_AUTHORIZED";
                Self::new(403, cause, refused.text())
            }
        }
    }
}

/// Bits per second of `1.5 Mbps` (TS 29.571, 5.5.2).
fn bit_rate(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let times = match unit {
        "bps" => 1,
        "Kbps" => 1_000,
        "Mbps" => 1_000_000,
        "Gbps" => 1_000_000_000,
        "Tbps" => 1_000_000_000_000,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| {
        let is_digits = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
        is_digits.then(|| text.parse::<u64>().ok()).flatten()
    };
    // What is below a thousandth of the unit is nothing.
    let part = format!("{part:0<3}");
    let thousandths = digits(part.get(..3)?)?;
    let whole = digits(whole)?.checked_mul(times)?;
    whole.checked_add(thousandths * times / 1_000)
}

impl MediaComponent {
    /// The rule of its flow; none if it is removed.
    fn rule(&self, app: u64) -> Result<Option<PccRule>, AppSessionProblem> {
        let status = self.f_status.unwrap_or(FlowStatus::Enabled);
        if status == FlowStatus::Removed {
            return Ok(None);
        }
        let name = RuleName::new(&format!("af{app}-{}", self.med_comp_n));
        let name = name.ok_or_else(|| AppSessionProblem::invalid("medCompN"))?;
        let texts = self.med_sub_comps.values().flat_map(|sub| &sub.f_descs);
        let mut filters: Vec<Filter> = Vec::new();
        for text in texts {
            let read = filter::read(text).map_err(|error| {
                AppSessionProblem::new(400, "FILTER_RESTRICTIONS", format!("'{text}': {error}"))
            })?;
            filters.push(read);
        }
        let rates = [
            &self.mar_bw_dl,
            &self.mar_bw_ul,
            &self.mir_bw_dl,
            &self.mir_bw_ul,
        ];
        let mut bps = [0; 4];
        for (into, text) in bps.iter_mut().zip(rates) {
            if let Some(text) = text {
                let what = || AppSessionProblem::invalid(format!("'{text}' is no bit rate"));
                *into = bit_rate(text).ok_or_else(what)?;
            }
        }
        // TS 29.513, 7.2 and 7.3: what a medium gets by default.
        let five_qi = match self.med_type.unwrap_or(MediaType::Other) {
            MediaType::Audio => 1,
            MediaType::Video => 2,
            MediaType::Control => 5,
            _ => 8,
        };
        let [most_down, most_up, least_down, least_up] = bps;
        let needed = |least: u64, most: u64| match is_guaranteed(five_qi) {
            true if least > 0 => least,
            true => most,
            false => 0,
        };
        let rule = PccRule::new(name, 0, five_qi, &filters);
        let rule = rule
            .ok_or_else(|| AppSessionProblem::invalid("a component has 4 filters at the most"))?;
        Ok(Some(PccRule {
            maximum_down_bps: most_down.into(),
            maximum_up_bps: most_up.into(),
            guaranteed_down_bps: needed(least_down, most_down).into(),
            guaranteed_up_bps: needed(least_up, most_up).into(),
            is_open_down: matches!(status, FlowStatus::Enabled | FlowStatus::EnabledDownlink),
            is_open_up: matches!(status, FlowStatus::Enabled | FlowStatus::EnabledUplink),
            ..rule
        }))
    }
}

impl AppSessionRequest {
    fn rules(&self, app: u64) -> Result<Vec<PccRule>, AppSessionProblem> {
        let rules = self.med_components.values().map(|one| one.rule(app));
        let rules: Result<Vec<_>, _> = rules.collect();
        let rules: Vec<PccRule> = rules?.into_iter().flatten().collect();
        if rules.is_empty() {
            return Err(AppSessionProblem::invalid("medComponents have no flow"));
        }
        Ok(rules)
    }
}

impl Pcf {
    /// Npcf_PolicyAuthorization_Create (4.2.2): the number of the new session. The SMF may have no room
    /// for it: then [`Pcf::app_session`] has none of this number once the effects were carried out.
    ///
    /// # Errors
    /// [`AppSessionProblem`], for an HTTP answer.
    pub fn create_app_session(
        &mut self,
        now: Now,
        request: &AppSessionRequest,
        effects: &mut Vec<Effect>,
    ) -> Result<u64, AppSessionProblem> {
        self.now = now;
        if self.apps.len() >= crate::APP_SESSIONS {
            return Err(AppSessionProblem::new(
                503,
                "NF_CONGESTION",
                "too many sessions of applications",
            ));
        }
        let policy = self.of(request)?;
        let app = self.next_app;
        let rules = self.add(policy, &request.rules(app)?)?;
        self.next_app += 1;
        let request = request.clone();
        self.apps.insert(
            app,
            AppSession {
                policy,
                rules,
                request,
                is_told: false,
            },
        );
        self.take_effects(effects);
        Ok(app)
    }

    /// Npcf_PolicyAuthorization_Update (4.2.3): the session has these flows from now on.
    ///
    /// # Errors
    /// [`AppSessionProblem`]; the flows stay as they were.
    pub fn update_app_session(
        &mut self,
        now: Now,
        app: u64,
        request: &AppSessionRequest,
        effects: &mut Vec<Effect>,
    ) -> Result<(), AppSessionProblem> {
        self.now = now;
        let known = self
            .apps
            .get(app)
            .ok_or_else(AppSessionProblem::not_found)?;
        let (policy, before) = (known.policy, known.rules);
        let rules = request.rules(app)?;
        let session = self.sessions.get_mut(policy.0);
        let session = session.ok_or_else(AppSessionProblem::not_found)?;
        let kept = session.rules.clone();
        session.rules.retain(|rule| before & 1 << rule.id == 0);
        match self.add(policy, &rules) {
            Ok(rules) => {
                self.apps.change(app, |known| {
                    (known.rules, known.request) = (rules, request.clone());
                });
                self.take_effects(effects);
                Ok(())
            }
            Err(refused) => {
                if let Some(session) = self.sessions.get_mut(policy.0) {
                    session.rules = kept;
                }
                Err(refused.into())
            }
        }
    }

    /// Npcf_PolicyAuthorization_Delete (4.2.4).
    ///
    /// # Errors
    /// There is no session of this number.
    pub fn delete_app_session(
        &mut self,
        now: Now,
        app: u64,
        effects: &mut Vec<Effect>,
    ) -> Result<(), AppSessionProblem> {
        self.now = now;
        let known = self.apps.remove(app);
        let known = known.ok_or_else(AppSessionProblem::not_found)?;
        self.take(known.policy, known.rules);
        self.take_effects(effects);
        Ok(())
    }

    /// Whether the SMF has not answered yet what the rules of an application's session are.
    pub fn is_asking_for_app(&self, app: u64) -> bool {
        let known = self.apps.get(app);
        known.is_some_and(|app| self.is_asking(app.policy))
    }

    /// A session of an application; none if it is over, or there was no room for it.
    pub fn app_session(&self, app: u64) -> Option<&AppSession> {
        self.apps.get(app)
    }

    /// The PDU session that a request is for: by its UE's identity, or address.
    fn of(&self, request: &AppSessionRequest) -> Result<PolicyId, AppSessionProblem> {
        let dnn = match &request.dnn {
            Some(text) => Some(Dnn::new(text).ok_or_else(|| AppSessionProblem::invalid("dnn"))?),
            None => None,
        };
        let (ipv4, ipv6) = (request.ue_ipv4, request.ue_ipv6);
        let found = match &request.supi {
            Some(text) => {
                let digits = text.strip_prefix("imsi-").unwrap_or(text);
                let supi = Supi::from_imsi(digits);
                let supi = supi.ok_or_else(|| AppSessionProblem::invalid("supi"))?;
                self.find(&supi, None, dnn)
            }
            None if ipv4.is_some() || ipv6.is_some() => self.find_address(ipv4, ipv6, dnn),
            None => {
                return Err(AppSessionProblem::invalid(
                    "supi, ueIpv4 or ueIpv6 is expected",
                ));
            }
        };
        found.ok_or_else(|| FlowRefused::NoSession.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_rates_are_those_of_the_ts() {
        for (text, bps) in [
            ("64 Kbps", Some(64_000)),
            ("1.5 Mbps", Some(1_500_000)),
            ("10 bps", Some(10)),
            ("2 Gbps", Some(2_000_000_000)),
            ("64", None),
            ("64 kbps", None),
            ("x Mbps", None),
            ("1. Mbps", Some(1_000_000)),
            ("99999999999999999999 bps", None),
        ] {
            assert_eq!(bit_rate(text), bps, "{text}");
        }
    }

    #[test]
    fn the_json_of_an_application_becomes_rules() {
        let text = r#"{"ascReqData": {"afAppId": "voice", "ueIpv4": "10.45.0.2", "notifUri": "http://x",
            "medComponents": {"1": {"medCompN": 1, "medType": "AUDIO", "marBwDl": "64 Kbps",
            "marBwUl": "64 Kbps", "fStatus": "ENABLED", "medSubComps": {"1": {"fNum": 1, "fDescs":
            ["permit out 17 from 203.0.113.7 5000 to any", "permit in 17 from any to 203.0.113.7 5000"]}}}}}}"#;
        let context: AppSessionContext = serde_json::from_str(text).expect("json");
        let rules = context.asc_req_data.rules(7).expect("rules");
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].name.text(), "af7-1");
        assert_eq!(rules[0].five_qi, 1);
        assert_eq!(rules[0].guaranteed_bps(), Some((64_000, 64_000)));
        assert_eq!(rules[0].filters().count(), 2);
        let again = serde_json::to_string(&context).expect("json");
        assert_eq!(
            serde_json::from_str::<AppSessionContext>(&again).expect("json"),
            context
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let with = |component: MediaComponent| AppSessionRequest {
            med_components: BTreeMap::from([("1".to_owned(), component)]),
            ..AppSessionRequest::default()
        };
        let bad_rate = with(MediaComponent {
            mar_bw_dl: Some("fast".to_owned()),
            ..MediaComponent::default()
        });
        let sub = MediaSubComponent {
            f_num: 1,
            f_descs: vec!["deny out ip from any to any".to_owned()],
        };
        let bad_filter = with(MediaComponent {
            med_sub_comps: BTreeMap::from([("1".to_owned(), sub)]),
            ..MediaComponent::default()
        });
        for (request, cause) in [
            (bad_rate, "INVALID_SERVICE_INFORMATION"),
            (bad_filter, "FILTER_RESTRICTIONS"),
            (AppSessionRequest::default(), "INVALID_SERVICE_INFORMATION"),
        ] {
            assert_eq!(request.rules(1).expect_err("wrong").cause, cause);
        }
    }
}
