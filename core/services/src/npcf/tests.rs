//! Npcf_SMPolicyControl: calls that go both ways, and what other cores send and answer.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::{Dnn, Snssai, Supi};
use sluice_sbi::{
    CreateSmPolicy, DeleteSmPolicy, Done, Filter, FlowDirection, Message, NotifySmPolicy, PccRule,
    PccRules, PolicyTrigger, Problem, RuleName, SmPolicy, SmPolicyNotified, UpdateSmPolicy,
};

use super::*;
use crate::body::{read_response, respond, respond_empty, with_location};
use crate::exchange::{Response, To};
use crate::judge::faults_of_type;
use crate::names::tests::memory;
use crate::tests::round_trip::{asks, carry, has, request, trip};

mod others;

const PATH: &str = "/npcf-smpolicycontrol/v1/sm-policies";

fn creation() -> CreateSmPolicy {
    CreateSmPolicy {
        supi: Supi::from_imsi("001010000000001").expect("a SUPI"),
        session: 5,
        slice: Snssai::new(1, Some([1, 2, 3])),
        dnn: Dnn::new("internet").expect("a name"),
        context: 9.into(),
        session_type: 3,
        ambr_down_bps: 1_000_000_000.into(),
        ambr_up_bps: 500.into(),
        five_qi: 9,
        priority: 8,
    }
}

/// A rule of which each field says something.
fn rule(id: u8, name: &str) -> PccRule {
    let filter = Filter {
        remote: Some(("203.0.113.0".parse().expect("an address"), 24)),
        protocol: Some(17),
        remote_ports: Some((5_000, 5_100)),
        local_ports: Some((6_000, 6_000)),
        tos: Some((0xb8, 0xfc)),
        ..Filter::all(FlowDirection::Downlink)
    };
    let filters = [filter, Filter::all(FlowDirection::Both)];
    let name = RuleName::new(name).expect("a name");
    PccRule {
        id,
        priority: 2,
        may_preempt: true,
        is_preemptable: true,
        is_open_down: id.is_multiple_of(2),
        is_open_up: id.is_multiple_of(3),
        guaranteed_down_bps: 1_000_000.into(),
        guaranteed_up_bps: 7.into(),
        maximum_down_bps: 2_500_000.into(),
        maximum_up_bps: 8.into(),
        has_rating_group: id != 1,
        rating_group: u32::from(id != 1).wrapping_neg().into(),
        ..PccRule::new(name, id + 10, 1, &filters).expect("room")
    }
}

fn policy(rules: &[PccRule]) -> Message {
    SmPolicy {
        policy: 3.into(),
        rules: PccRules::new(rules),
    }
    .into()
}

fn update(trigger: PolicyTrigger) -> UpdateSmPolicy {
    UpdateSmPolicy {
        policy: 3.into(),
        trigger,
        ipv4: [0; 4],
        ipv6_prefix: [0; 8],
        rules: 0.into(),
        requested: PccRule::NONE,
    }
}

/// Memories of an SMF and a PCF that have a policy with these rules.
fn with_policy(rules: &[PccRule]) -> (Memory, Memory) {
    let (mut smf, mut pcf) = (memory(), memory());
    let made = trip(creation(), &mut smf, &mut pcf, |_| policy(rules));
    assert!(*made.answer == policy(rules));
    (smf, pcf)
}

#[test]
fn policies_are_created_with_all_of_their_rules() {
    let names = [
        "a",
        "video-1_a.b",
        "c",
        "d",
        "e",
        "123456789012345678901234",
        "g",
        "h",
    ];
    let rules: Vec<PccRule> = (1..).zip(names).map(|(id, name)| rule(id, name)).collect();
    for rules in [&rules[..], &rules[..1], &[]] {
        let (mut smf, mut pcf) = (memory(), memory());
        let trip = trip(creation(), &mut smf, &mut pcf, |_| policy(rules));
        assert!(*trip.asked[0] == creation().into());
        assert!(*trip.answer == policy(rules), "{}", trip.came());
        assert_eq!(trip.line(), format!("POST {PATH}"));
        // Required by SmPolicyContextData.
        let sent = trip.sent();
        has(
            &sent,
            &[
                "/supi",
                "/pduSessionId",
                "/pduSessionType",
                "/dnn",
                "/notificationUri",
            ],
        );
        has(&sent, &["/sliceInfo/sst"]);
        assert_eq!(sent["pduSessionType"], "IPV4V6");
        let came = trip.came();
        // Required by SessionRule; what is subscribed is authorized.
        assert_eq!(came["sessRules"]["1"]["sessRuleId"], "1");
        assert_eq!(came["sessRules"]["1"]["authSessAmbr"]["downlink"], "1 Gbps");
        let location = &trip.responses[0].headers()[http::header::LOCATION];
        assert_eq!(
            location,
            &format!("http://127.0.0.1:7777{PATH}/0000000000000003")
        );
    }
}

/// PccRule, QosData, TrafficControlData and ChargingData as the TS has them (5.6.2.6, 5.6.2.8, 5.6.2.10, 5.6.2.11).
#[test]
fn a_rule_has_the_members_of_the_ts() {
    let decision = rules::decision(&[rule(2, "voice")]);
    assert_eq!(
        decision["pccRules"]["2-voice"],
        json!({
            "pccRuleId": "2-voice",
            "precedence": 12,
            "flowInfos": [
                {
                    "flowDescription":
                        "permit out 17 from 203.0.113.0/24 5000-5100 to assigned 6000",
                    "flowDirection": "DOWNLINK",
                    "packFiltId": "2-voice/0",
                    "packetFilterUsage": true,
                    "tosTrafficClass": "b8fc",
                },
                {
                    "flowDescription": "permit out ip from any to assigned",
                    "flowDirection": "BIDIRECTIONAL",
                    "packFiltId": "2-voice/1",
                    "packetFilterUsage": true,
                },
            ],
            "refQosData": ["2-voice"],
            "refTcData": ["2-voice"],
            "refChgData": ["2-voice"],
        })
    );
    let arp =
        json!({ "priorityLevel": 2, "preemptCap": "MAY_PREEMPT", "preemptVuln": "PREEMPTABLE" });
    assert_eq!(
        decision["qosDecs"]["2-voice"],
        json!({
            "qosId": "2-voice", "5qi": 1, "arp": arp, "gbrDl": "1 Mbps", "gbrUl": "7 bps",
            "maxbrDl": "2500 Kbps", "maxbrUl": "8 bps",
        })
    );
    let control = json!({ "tcId": "2-voice", "flowStatus": "ENABLED-DOWNLINK" });
    assert_eq!(decision["traffContDecs"]["2-voice"], control);
    let charging = json!({ "chgId": "2-voice", "ratingGroup": u32::MAX });
    assert_eq!(decision["chgDecs"]["2-voice"], charging);
}

#[test]
fn addresses_survive() {
    let (mut smf, mut pcf) = with_policy(&[]);
    for (ipv4, ipv6_prefix) in [
        ([10, 45, 0, 2], [0x20, 1, 0xd, 0xb8, 0, 0, 0, 9]),
        ([10, 45, 0, 2], [0x20, 1, 0xd, 0xb8, 0, 0, 0, 9]),
    ] {
        let message = UpdateSmPolicy {
            ipv4,
            ipv6_prefix,
            ..update(PolicyTrigger::UeAddress)
        };
        let trip = trip(message, &mut smf, &mut pcf, |_| policy(&[]));
        assert!(*trip.asked[0] == message.into());
        assert!(*trip.answer == policy(&[]));
        let sent = json!({
            "repPolicyCtrlReqTriggers": ["UE_IP_CH"],
            "ipv4Address": "10.45.0.2",
            "ipv6AddressPrefix": "2001:db8:0:9::/64",
        });
        assert_eq!(trip.sent(), sent);
    }
    let none = update(PolicyTrigger::UeAddress);
    let (mut smf, mut pcf) = with_policy(&[]);
    let trip = trip(none, &mut smf, &mut pcf, |_| policy(&[]));
    assert!(*trip.asked[0] == none.into());
}

/// Rules of the UE have the name of their precedence, as the SMF gives it.
fn of_ue(precedence: u8) -> PccRule {
    let name = RuleName::new(&format!("ue-{precedence}")).expect("a name");
    PccRule {
        id: 0,
        name,
        precedence,
        ..rule(6, "x")
    }
}

#[test]
fn what_the_ue_asks_for_survives() {
    let there = [rule(2, "a"), rule(4, "b")];
    let (mut smf, mut pcf) = with_policy(&there);
    let after = [rule(2, "a"), rule(4, "b"), rule(7, "ue-20")];
    // A new rule has no more than a UE can say.
    let wanted = PccRule {
        priority: 8,
        may_preempt: false,
        is_preemptable: false,
        is_open_up: true,
        is_open_down: true,
        has_rating_group: false,
        rating_group: 0.into(),
        ..of_ue(20)
    };
    let create = UpdateSmPolicy {
        requested: wanted,
        ..update(PolicyTrigger::ResourceRequested)
    };
    let made = trip(create, &mut smf, &mut pcf, |_| policy(&after));
    assert!(*made.asked[0] == create.into(), "{}", made.sent());
    assert!(*made.answer == policy(&after));
    // UeInitiatedResourceRequest and RequestedQos require these.
    has(
        &made.sent(),
        &["/ueInitResReq/ruleOp", "/ueInitResReq/packFiltInfo/0"],
    );
    has(&made.sent(), &["/ueInitResReq/reqQos/5qi"]);
    // One of the rules that are there keeps what the UE says nothing of.
    let modify = UpdateSmPolicy {
        rules: (1 << 4).into(),
        requested: PccRule {
            maximum_up_bps: 99.into(),
            is_open_down: true,
            is_open_up: false,
            ..of_ue(21)
        },
        ..update(PolicyTrigger::ResourceModified)
    };
    let after = [rule(2, "a"), rule(8, "ue-21"), rule(7, "ue-20")];
    let mut sorted = after;
    sorted.sort_by_key(|rule| rule.id);
    let changed = trip(modify, &mut smf, &mut pcf, |_| policy(&after));
    assert!(*changed.asked[0] == modify.into(), "{}", changed.sent());
    assert!(*changed.answer == policy(&sorted));
    assert_eq!(changed.sent()["ueInitResReq"]["pccRuleId"], "4-b");
    // The SMF is told that the rule is gone (5.6.2.4).
    assert_eq!(changed.came()["pccRules"]["4-b"], Value::Null);
    assert!(
        changed.came()["pccRules"]
            .as_object()
            .expect("rules")
            .contains_key("4-b")
    );
    let release = UpdateSmPolicy {
        rules: (1 << 7 | 1 << 8).into(),
        ..update(PolicyTrigger::ResourceReleased)
    };
    let mut left = vec![rule(7, "ue-20"), rule(2, "a")];
    let gone = trip(release, &mut smf, &mut pcf, |_| {
        policy(&[left.pop().expect("one")])
    });
    let mut bits: Vec<u16> = gone
        .asked
        .iter()
        .map(|asked| match **asked {
            Message::UpdateSmPolicy(asked) => asked.rules.get(),
            _ => 0,
        })
        .collect();
    bits.sort_unstable();
    assert_eq!(bits, [1 << 7, 1 << 8]);
}

#[test]
fn rules_that_fail_are_reported() {
    let there = [rule(2, "a"), rule(4, "b"), rule(6, "c")];
    let (mut smf, mut pcf) = with_policy(&there);
    let failed = UpdateSmPolicy {
        rules: (1 << 2 | 1 << 6).into(),
        ..update(PolicyTrigger::RulesFailed)
    };
    let trip = trip(failed, &mut smf, &mut pcf, |_| policy(&[rule(4, "b")]));
    assert!(*trip.asked[0] == failed.into());
    assert!(*trip.answer == policy(&[rule(4, "b")]));
    // RuleReport requires both.
    has(
        &trip.sent(),
        &["/ruleReports/0/pccRuleIds/0", "/ruleReports/1/ruleStatus"],
    );
}

#[test]
fn refusals_of_what_a_ue_asks_for_survive() {
    for problem in [
        Problem::ServiceNotAllowed,
        Problem::FiveQiNotAuthorized,
        Problem::QosNotAuthorized,
        Problem::NoResources,
        Problem::Overload,
        Problem::ContextNotFound,
    ] {
        let (mut smf, mut pcf) = with_policy(&[]);
        let create = UpdateSmPolicy {
            requested: of_ue(20),
            ..update(PolicyTrigger::ResourceRequested)
        };
        let trip = trip(create, &mut smf, &mut pcf, |_| problem.into());
        assert_eq!(*trip.answer, problem.into());
    }
}

#[test]
fn a_notification_goes_where_the_smf_asked_and_its_refusals_come_back() {
    let (mut smf, mut pcf) = (memory(), memory());
    smf.own.root = "http://127.0.0.2:7777".into();
    trip(creation(), &mut smf, &mut pcf, |_| policy(&[rule(2, "a")]));
    for (rules, refused, status) in [
        (vec![rule(2, "a"), rule(4, "b")], 0, StatusCode::NO_CONTENT),
        (vec![rule(4, "b"), rule(6, "c")], 1 << 6, StatusCode::OK),
        (vec![rule(8, "d")], 1 << 8, StatusCode::BAD_REQUEST),
        (vec![], 0, StatusCode::NO_CONTENT),
    ] {
        let notice = NotifySmPolicy {
            context: 9.into(),
            policy: 3.into(),
            rules: PccRules::new(&rules),
        };
        let answer = SmPolicyNotified {
            refused: refused.into(),
        };
        let told = trip(notice, &mut pcf, &mut smf, |_| answer.into());
        assert!(*told.asked[0] == notice.into(), "{}", told.sent());
        assert!(*told.answer == answer.into(), "{}", told.came());
        assert_eq!(told.status(), status);
        let file = "TS29512_Npcf_SMPolicyControl.yaml";
        let body = told.requests[0].1.body();
        let mut faults = faults_of_type(body, file, "SmPolicyNotification");
        let of_report = match status {
            StatusCode::OK => Some("PartialSuccessReport"),
            StatusCode::BAD_REQUEST => Some("ErrorReport"),
            _ => None,
        };
        let report = told.responses[0].body();
        faults.extend(
            of_report
                .into_iter()
                .flat_map(|name| faults_of_type(report, file, name)),
        );
        assert_eq!(faults, [""; 0]);
        assert_eq!(told.requests[0].0, To::Root("http://127.0.0.2:7777".into()));
        assert_eq!(
            told.line(),
            "POST /nsmf-callback/v1/sm-policies/0000000000000009/update"
        );
        match status {
            StatusCode::OK => has(
                &told.came(),
                &["/failureCause", "/ruleReports/0/ruleStatus"],
            ),
            StatusCode::BAD_REQUEST => has(&told.came(), &["/error/cause", "/ruleReports/0"]),
            _ => {}
        }
    }
    let failure = Message::from(Problem::ContextNotFound);
    let notice = NotifySmPolicy {
        context: 9.into(),
        policy: 3.into(),
        rules: PccRules::NONE,
    };
    let told = trip(notice, &mut pcf, &mut smf, |_| failure);
    assert_eq!(*told.answer, failure);
    // Without callback, the function that is called has it.
    let told = trip(notice, &mut memory(), &mut smf, |_| failure);
    assert_eq!(told.requests[0].0, To::Function);
    assert!(*told.asked[0] == notice.into());
}

/// A rule that is gone is null until an SMF has taken it.
#[test]
fn a_rule_that_is_gone_is_told_until_it_has_come() {
    let (mut smf, mut pcf) = with_policy(&[rule(2, "a")]);
    let notice = NotifySmPolicy {
        context: 9.into(),
        policy: 3.into(),
        rules: PccRules::NONE,
    };
    let lost = |_: &Request| respond_empty(StatusCode::SERVICE_UNAVAILABLE);
    let (answer, ..) = carry(notice, &mut pcf, lost);
    assert_eq!(*answer, Problem::Overload.into());
    let nothing = SmPolicyNotified { refused: 0.into() };
    let gone = |told: &Value| {
        let rules = told["smPolicyDecision"]["pccRules"].as_object();
        rules.is_some_and(|rules| rules.get("2-a") == Some(&Value::Null))
    };
    let told = trip(notice, &mut pcf, &mut smf, |_| nothing.into());
    assert!(gone(&told.sent()));
    let told = trip(notice, &mut pcf, &mut smf, |_| nothing.into());
    assert!(!gone(&told.sent()));
}

#[test]
fn policies_are_given_back() {
    let (mut smf, mut pcf) = with_policy(&[rule(2, "a")]);
    let delete = DeleteSmPolicy { policy: 3.into() };
    let trip = trip(delete, &mut smf, &mut pcf, |_| Done::ALL.into());
    assert!(*trip.asked[0] == delete.into() && *trip.answer == Done::ALL.into());
    let line = format!("POST {PATH}/0000000000000003/delete");
    assert_eq!((trip.line(), trip.status()), (line, StatusCode::NO_CONTENT));
    let path = format!("{PATH}/0000000000000003/update");
    let update = request(Method::POST, &path, &json!({}));
    assert_eq!(asks(&update, &mut pcf).expect_err("refused").status(), 404);
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let param = |path: &str, body: &Value| {
        let (mut smf, mut pcf) = with_policy(&[rule(2, "a")]);
        let memory = match path.starts_with("/nsmf") {
            true => &mut smf,
            false => &mut pcf,
        };
        let refused = asks(&request(Method::POST, path, body), memory).expect_err("refused");
        let param = read_response(&refused)["invalidParams"][0]["param"].clone();
        param.as_str().unwrap_or_default().to_owned()
    };
    let whole = trip(creation(), &mut memory(), &mut memory(), |_| policy(&[])).sent();
    for name in [
        "supi",
        "pduSessionId",
        "pduSessionType",
        "dnn",
        "notificationUri",
        "sliceInfo",
    ] {
        for wrong in [Value::Null, json!([])] {
            let mut body = whole.clone();
            body[name] = wrong;
            assert_eq!(param(PATH, &body), format!("/{name}"));
        }
    }
    let update = format!("{PATH}/0000000000000003/update");
    let wish = |wish: Value| json!({ "ueInitResReq": wish });
    assert_eq!(param(&update, &wish(json!({}))), "/ueInitResReq/ruleOp");
    let create = json!({ "ruleOp": "CREATE_PCC_RULE", "packFiltInfo": [] });
    assert_eq!(param(&update, &wish(create)), "/ueInitResReq/packFiltInfo");
    let other = json!({ "ruleOp": "DELETE_PCC_RULE", "pccRuleId": "of another" });
    assert_eq!(param(&update, &wish(other)), "/ueInitResReq/pccRuleId");
    let odd = json!({ "ruleOp": "X", "pccRuleId": "2-a" });
    assert_eq!(param(&update, &wish(odd)), "/ueInitResReq/ruleOp");
    assert_eq!(
        param(&update, &json!({ "ipv4Address": "x" })),
        "/ipv4Address"
    );
    let notice = "/nsmf-callback/v1/sm-policies/0000000000000009/update";
    assert_eq!(param(notice, &json!({})), "/smPolicyDecision");
    let get = request(Method::GET, PATH, &json!({}));
    assert_eq!(
        asks(&get, &mut memory()).expect_err("refused").status(),
        405
    );
    let get = request(Method::GET, &format!("{PATH}/1"), &json!({}));
    assert_eq!(
        asks(&get, &mut memory()).expect_err("refused").status(),
        404
    );
}
