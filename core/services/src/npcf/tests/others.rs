//! Npcf_SMPolicyControl with SMFs and PCFs of other cores.

use super::*;

/// PCF of Open5GS: numbers as identities, a resourceUri that ends in `/update`, and changes alone.
#[test]
fn the_pcf_of_open5gs_is_understood() {
    let mut smf = memory();
    let uri = "http://127.0.0.13:7777/npcf-smpolicycontrol/v1/sm-policies/1";
    let (answer, ..) = carry(creation(), &mut smf, |_| {
        let rule = json!({ "sessRuleId": "1", "authDefQos": { "5qi": 9 } });
        with_location(
            respond(StatusCode::CREATED, &json!({ "sessRules": { "1": rule } })),
            uri,
        )
    });
    let Message::SmPolicy(made) = *answer else {
        panic!("{answer:?}");
    };
    assert_eq!(made.rules.get(), []);
    let notify = |smf: &mut Memory, decision: Value| {
        let body = json!({ "resourceUri": format!("{uri}/update"), "smPolicyDecision": decision });
        let path = "/nsmf-callback/v1/sm-policies/0000000000000009/update";
        match *asks(&request(Method::POST, path, &body), smf).expect("asked") {
            Message::NotifySmPolicy(notice) => notice,
            ref other => panic!("{other:?}"),
        }
    };
    let flow = |direction: &str| {
        let text = "permit out 17 from 10.100.6.2 to 10.45.0.2 5004";
        json!({ "flowDescription": text, "flowDirection": direction })
    };
    let qos =
        json!({ "qosId": "n2-a1", "5qi": 2, "maxbrUl": "1000000 bps", "gbrDl": "500000 bps" });
    let one = |key: &str| {
        json!({
            "pccRuleId": key, "precedence": 2, "refQosData": ["n2-a1"],
            "flowInfos": [flow("DOWNLINK"), flow("UPLINK")],
        })
    };
    let decision = json!({ "pccRules": { "n2-a1": one("n2-a1") }, "qosDecs": { "n2-a1": qos } });
    let notice = notify(&mut smf, decision);
    assert_eq!((notice.context.get(), notice.policy), (9, made.policy));
    let [first] = notice.rules.get() else {
        panic!("{} rules", notice.rules.get().len());
    };
    assert_eq!(
        (first.id, first.name.text(), first.precedence),
        (1, "n2-a1", 2)
    );
    assert_eq!((first.five_qi, first.filters().count()), (2, 2));
    assert_eq!(
        (first.maximum_up_bps.get(), first.guaranteed_down_bps.get()),
        (1_000_000, 500_000)
    );
    // A second one; the first stays as it is.
    let notice = notify(&mut smf, json!({ "pccRules": { "b": one("b") } }));
    let ids: Vec<u8> = notice.rules.get().iter().map(|rule| rule.id).collect();
    assert_eq!(ids, [1, 2]);
    assert!(notice.rules.get()[0] == *first);
    // One that is otherwise has another number.
    let mut other = one("n2-a1");
    other["precedence"] = 7.into();
    let notice = notify(&mut smf, json!({ "pccRules": { "n2-a1": other } }));
    let ids: Vec<u8> = notice.rules.get().iter().map(|rule| rule.id).collect();
    assert_eq!(ids, [2, 3]);
    let notice = notify(
        &mut smf,
        json!({ "pccRules": { "n2-a1": null, "b": null } }),
    );
    assert_eq!(notice.rules.get(), []);
}

/// PCF of free5GC: rules that refer to data of a flow, and empty strings (5.6.2.8).
#[test]
fn rules_of_free5gc_are_read_and_those_that_are_not_are_reported() {
    let mut smf = memory();
    let uri = "http://127.0.0.7:8000/npcf-smpolicycontrol/v1/sm-policies/imsi-001010000000001-5";
    let flow = json!({
        "flowDescription": "permit out ip from 10.100.6.2/32 to assigned",
        "packFiltId": "PackFiltId-1", "packetFilterUsage": true, "flowDirection": "DOWNLINK",
    });
    let rule = json!({
        "flowInfos": [flow], "pccRuleId": "PccRuleId-2",
        "refQosData": ["QosId-2"], "refTcData": ["TcId-2"],
    });
    let arp = json!({ "priorityLevel": 15, "preemptCap": "", "preemptVuln": "" });
    let qos = json!({ "qosId": "QosId-2", "5qi": 1, "gbrUl": "100 Kbps", "gbrDl": "100 Kbps", "arp": arp });
    let decision = json!({
        "pccRules": {
            "PccRuleId-2": rule,
            "app": { "pccRuleId": "app", "appId": "video" },
            "lost": { "pccRuleId": "lost", "flowInfos": [flow], "refQosData": ["QosId-9"] },
        },
        "qosDecs": { "QosId-2": qos },
        "traffContDecs": { "TcId-2": { "tcId": "TcId-2", "flowStatus": "ENABLED-UPLINK" } },
        "chgDecs": null,
    });
    let answer = |request: &Request| -> Response {
        match request.uri().path().ends_with("/update") {
            true => respond(StatusCode::OK, &json!({})),
            false => with_location(respond(StatusCode::CREATED, &decision), uri),
        }
    };
    let (answer, requests, _) = carry(creation(), &mut smf, answer);
    let Message::SmPolicy(made) = *answer else {
        panic!("{answer:?}");
    };
    let [first] = made.rules.get() else {
        panic!("{} rules", made.rules.get().len());
    };
    assert_eq!(
        (first.name.text(), first.precedence, first.priority),
        ("PccRuleId-2", 254, 15)
    );
    assert_eq!(
        (first.is_open_down, first.is_open_up, first.may_preempt),
        (false, true, false)
    );
    assert_eq!(requests.len(), 2);
    let report: Value = serde_json::from_slice(requests[1].1.body()).expect("JSON");
    assert_eq!(
        report["ruleReports"],
        json!([
            { "pccRuleIds": ["app"], "ruleStatus": "INACTIVE", "failureCode": "APP_ID_ERR" },
            { "pccRuleIds": ["lost"], "ruleStatus": "INACTIVE", "failureCode": "UNKNOWN_REF_ID" },
        ])
    );
    gives_up(&mut smf, &made);
}

/// A UE gives up a rule by the PCF's name.
fn gives_up(smf: &mut Memory, made: &SmPolicy) {
    let release = UpdateSmPolicy {
        policy: made.policy,
        rules: (1 << made.rules.get()[0].id).into(),
        ..update(PolicyTrigger::ResourceReleased)
    };
    let nothing = |_: &Request| {
        respond(
            StatusCode::OK,
            &json!({ "pccRules": { "PccRuleId-2": null } }),
        )
    };
    let (answer, requests, _) = carry(release, smf, nothing);
    let sent: Value = serde_json::from_slice(requests[0].1.body()).expect("JSON");
    assert_eq!(sent["ueInitResReq"]["pccRuleId"], "PccRuleId-2");
    assert_eq!(
        sent["ueInitResReq"]["packFiltInfo"][0]["packFiltId"],
        "PackFiltId-1"
    );
    let none = SmPolicy {
        policy: made.policy,
        rules: PccRules::NONE,
    };
    assert!(*answer == none.into());
}

/// SMF of free5GC: it has the address before it asks, and its notification URI is of its own.
#[test]
fn an_smf_that_has_the_address_is_understood() {
    let mut pcf = memory();
    let uri = "http://127.0.0.2:8000/nsmf-callback/sm-policies/urn:uuid:8396c996";
    let mut body = trip(creation(), &mut memory(), &mut memory(), |_| policy(&[])).sent();
    body["notificationUri"] = uri.into();
    body["ipv4Address"] = "10.60.0.1".into();
    let mut step = crate::routes::accept(&request(Method::POST, PATH, &body), &mut pcf);
    let mut asked = Vec::new();
    while let Producer::Ask(_, message, then) = step {
        asked.push(message);
        step = then(&policy(&[rule(2, "a")]), &mut pcf);
    }
    let Producer::Done(response) = step else {
        panic!("it asks without end");
    };
    assert_eq!(response.status(), StatusCode::CREATED);
    has(&read_response(&response), &["/pccRules/2-a/pccRuleId"]);
    let [_, second] = asked.as_slice() else {
        panic!("{} messages", asked.len());
    };
    let expected = UpdateSmPolicy {
        ipv4: [10, 60, 0, 1],
        ..update(PolicyTrigger::UeAddress)
    };
    assert!(**second == expected.into());
    let Message::CreateSmPolicy(first) = *asked[0] else {
        panic!("{:?}", asked[0]);
    };
    let notice = NotifySmPolicy {
        context: first.context,
        policy: 3.into(),
        rules: PccRules::NONE,
    };
    let taken = |_: &Request| respond_empty(StatusCode::NO_CONTENT);
    let (_, requests, _) = carry(notice, &mut pcf, taken);
    assert_eq!(requests[0].0, To::Root("http://127.0.0.2:8000".into()));
    let path = "/nsmf-callback/sm-policies/urn:uuid:8396c996/update";
    assert_eq!(requests[0].1.uri(), path);
    let report = |_: &Request| {
        let reports = rules::reports(&[("2-a".to_owned(), "RES_ALLO_FAIL")]);
        let body = json!({ "failureCause": "PCC_RULE_EVENT", "ruleReports": reports });
        respond(StatusCode::OK, &body)
    };
    let (answer, ..) = carry(notice, &mut pcf, report);
    let refused = (1 << 2).into();
    assert!(*answer == SmPolicyNotified { refused }.into());
}

/// Other operations on a rule of the UE (5.6.3.4), whose answer has the rule's other fields.
#[test]
fn other_operations_of_a_ue_are_read() {
    let (_, mut pcf) = with_policy(&[rule(2, "a")]);
    let path = format!("{PATH}/0000000000000003/update");
    let mut ask = |operation: &str, filters: Value| {
        let wish = json!({ "ruleOp": operation, "pccRuleId": "2-a", "packFiltInfo": filters });
        let request = request(Method::POST, &path, &json!({ "ueInitResReq": wish }));
        match *asks(&request, &mut pcf).expect("asked") {
            Message::UpdateSmPolicy(asked) => asked,
            ref other => panic!("{other:?}"),
        }
    };
    let one = json!([{ "packFiltCont": "permit out ip from any to assigned", "flowDirection": "UPLINK" }]);
    for (operation, filters, number) in [
        ("MODIFY_PCC_RULE_AND_ADD_PACKET_FILTERS", one.clone(), 3),
        (
            "MODIFY_ PCC_RULE_AND_REPLACE_PACKET_FILTERS",
            one.clone(),
            1,
        ),
        ("MODIFY_PCC_RULE_AND_REPLACE_PACKET_FILTERS", one, 1),
        (
            "MODIFY_ PCC_RULE_AND_DELETE_PACKET_FILTERS",
            json!([{ "packFiltId": "2-a/1" }]),
            1,
        ),
        (
            "MODIFY_PCC_RULE_WITHOUT_MODIFY_PACKET_FILTERS",
            json!([{}]),
            2,
        ),
    ] {
        let asked = ask(operation, filters);
        assert_eq!(asked.trigger, PolicyTrigger::ResourceModified);
        assert_eq!(
            (asked.rules.get(), asked.requested.filters().count()),
            (4, number)
        );
        assert_eq!(
            asked.requested.rating_group(),
            Some(u32::MAX),
            "{operation}"
        );
    }
}
