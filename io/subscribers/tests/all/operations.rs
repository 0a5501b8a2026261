//! Operations as command line, control socket and HTTP ask for them.

use serde_json::{Value, json};
use sluice_subscribers::operation::{Changed, Operation};
use sluice_subscribers::{Error, Store};

use crate::kit::{NOW_S, Place, imsi, k, opc, supi, table};

fn ask(place: &Place, store: &mut Store, request: Value) -> Result<(Value, Changed), Error> {
    let request: Operation = serde_json::from_value(request).expect("an operation");
    // As it goes over a socket.
    let text = serde_json::to_string(&request).unwrap();
    let request: Operation = serde_json::from_str(&text).unwrap();
    assert!(!format!("{request:?}").contains(&k(1)), "{request:?}");
    let done = request.run(store, &place.key, NOW_S)?;
    let told = done.answer.to_string();
    assert!(!told.contains(&k(1)) && !told.contains(&opc(1)), "{told}");
    Ok((done.answer, done.changed))
}

fn add(place: &Place, store: &mut Store) {
    let request = json!({
        "cmd": "subscriber_add",
        "subscriber": {"imsi": imsi(1), "k": k(1), "opc": opc(1)},
    });
    let (answer, changed) = ask(place, store, request).unwrap();
    assert_eq!(answer["slices"][0]["networks"][0]["dnn"], "internet");
    assert_eq!(changed.subscribers, [supi(1)]);
}

#[test]
pub fn a_subscriber_is_added_changed_shown_and_removed() {
    let (place, mut store) = Place::new();
    add(&place, &mut store);
    let change =
        |change: Value| json!({"cmd": "subscriber_change", "imsi": imsi(1), "change": change});
    let request = change(json!({
        "set": {"barred": true, "ue_ambr_down_bps": "2G"},
        "networks": [
            {"network": {"dnn": "internet", "types": "ipv4", "ipv4": "10.0.0.9"}},
            {"slice": "2", "default": "yes", "network": {"dnn": "ims", "five_qi": 5}},
        ],
    }));
    let (answer, changed) = ask(&place, &mut store, request).unwrap();
    assert_eq!(changed.subscribers, [supi(1)]);
    assert_eq!(
        (&answer["barred"], &answer["ue_ambr_down_bps"]),
        (&json!(true), &json!(2_000_000_000))
    );
    let first = &answer["slices"][0]["networks"][0];
    assert_eq!(
        (&first["ipv4"], &first["default_type"]),
        (&json!("10.0.0.9"), &json!("ipv4"))
    );
    assert_eq!(
        answer["slices"][1],
        json!({
            "slice": "2", "default": true, "networks": [{
                "dnn": "ims", "types": ["ipv4", "ipv6", "ipv4v6"], "default_type": "ipv4v6",
                "session_ambr_down_bps": 1_000_000_000, "session_ambr_up_bps": 1_000_000_000, "five_qi": 5, "arp": 8,
            }],
        })
    );
    let request = change(json!({"networks": [
        {"slice": "1", "network": {"ipv4": "none"}},
        {"slice": "2", "network": {"dnn": "ims"}, "remove": true},
    ]}));
    let (answer, _) = ask(&place, &mut store, request).unwrap();
    assert_eq!(answer["slices"][0]["networks"][0].get("ipv4"), None);
    assert_eq!(answer["slices"][1]["networks"], json!([]));
    let request = change(json!({"networks": [{"slice": "2", "remove": true}]}));
    ask(&place, &mut store, request).unwrap();
    let show = json!({"cmd": "subscriber_show", "imsi": imsi(1)});
    let (answer, changed) = ask(&place, &mut store, show.clone()).unwrap();
    assert_eq!(answer["slices"].as_array().unwrap().len(), 1);
    assert_eq!(changed, Changed::default());
    let remove = json!({"cmd": "subscriber_remove", "imsi": imsi(1)});
    assert_eq!(
        ask(&place, &mut store, remove.clone()).unwrap().1.removed,
        [supi(1)]
    );
    for request in [remove, show] {
        assert!(matches!(
            ask(&place, &mut store, request),
            Err(Error::NotFound(_))
        ));
    }
}

#[test]
pub fn a_user_plane_security_policy_is_set_and_taken_away_as_a_whole() {
    let (place, mut store) = Place::new();
    add(&place, &mut store);
    let mut change = |network: Value| {
        let change = json!({"networks": [{"network": network}]});
        let request = json!({"cmd": "subscriber_change", "imsi": imsi(1), "change": change});
        ask(&place, &mut store, request)
            .map(|(answer, _)| answer["slices"][0]["networks"][0].clone())
            .map_err(|error| error.to_string())
    };
    let set = json!({"up_integrity": "required", "up_confidentiality": "preferred"});
    let told = change(set).unwrap();
    assert_eq!(
        (&told["up_integrity"], &told["up_confidentiality"]),
        (&json!("required"), &json!("preferred"))
    );
    // Another change leaves it.
    let told = change(json!({"arp": 7, "up_integrity": "not_needed"})).unwrap();
    assert_eq!(
        (&told["up_integrity"], &told["up_confidentiality"]),
        (&json!("not_needed"), &json!("preferred"))
    );
    let half = change(json!({"up_integrity": "none"})).unwrap_err();
    assert!(half.contains("up_integrity: missing"), "{half}");
    let wrong = change(json!({"up_confidentiality": "REQUIRED"})).unwrap_err();
    assert!(
        wrong.contains("got 'REQUIRED'; expected required, preferred or not_needed"),
        "{wrong}"
    );
    let neither = json!({"up_integrity": "none", "up_confidentiality": "none"});
    assert_eq!(change(neither).unwrap().get("up_integrity"), None);
}

#[test]
pub fn a_change_that_cannot_be_is_refused() {
    let (place, mut store) = Place::new();
    add(&place, &mut store);
    let change =
        |change: Value| json!({"cmd": "subscriber_change", "imsi": imsi(1), "change": change});
    for (edit, expected) in [
        (
            json!({"networks": [{"slice": "7", "remove": true}]}),
            "slice: got '7'; expected 1",
        ),
        (
            json!({"networks": [{"network": {"dnn": "x"}, "remove": true}]}),
            "dnn: got 'x'",
        ),
        (
            json!({"networks": [{"slice": "1", "remove": true}]}),
            "none left",
        ),
        (json!({"set": {"imsi": imsi(2)}}), "another one"),
        (json!({"set": {"k": k(2)}}), "opc: missing"),
    ] {
        let refused = ask(&place, &mut store, change(edit)).unwrap_err();
        assert!(
            refused.to_string().contains(expected),
            "{expected}: {refused}"
        );
    }
}

#[test]
pub fn lists_imports_exports_and_keys_are_operations_as_well() {
    let (place, mut store) = Place::new();
    let mut ask = |request: Value| ask(&place, &mut store, request);
    let text = table(3).replace(&k(1), &k(500)).replace(&opc(1), &opc(500));
    let request = json!({"cmd": "subscriber_import", "format": "csv", "text": text});
    let (answer, changed) = ask(request.clone()).unwrap();
    assert_eq!(answer, json!({"added": 3, "replaced": 0}));
    assert_eq!(changed.subscribers.len(), 3);
    assert!(matches!(ask(request), Err(Error::Problems(_))));
    let (answer, _) = ask(json!({"cmd": "subscriber_list", "limit": 2})).unwrap();
    assert_eq!(
        (&answer["number"], &answer["next_after"]),
        (&json!(3), &json!(imsi(1)))
    );
    let (answer, _) =
        ask(json!({"cmd": "subscriber_list", "after": imsi(1), "filter": {"dnn": "internet"}}))
            .unwrap();
    assert_eq!(answer["subscribers"].as_array().unwrap().len(), 1);
    let (answer, _) = ask(json!({"cmd": "subscriber_export", "format": "csv"})).unwrap();
    assert_eq!(answer["text"].as_str().unwrap().lines().count(), 4);
    let (answer, changed) = ask(json!({"cmd": "home_key_new", "profile": "b"})).unwrap();
    assert!(changed.home_keys && answer["id"] == 1 && answer.get("private").is_none());
    let (answer, _) = ask(json!({"cmd": "home_key_list"})).unwrap();
    assert_eq!(answer["home_keys"][0]["profile"], "b");
    let backup = place.file("copy.db");
    ask(json!({"cmd": "backup", "to": backup})).unwrap();
    assert!(
        ask(json!({"cmd": "home_key_remove", "id": 1}))
            .unwrap()
            .1
            .home_keys
    );
    assert!(ask(json!({"cmd": "home_key_remove", "id": 1})).is_err());
    let (answer, changed) = ask(json!({"cmd": "restore", "from": backup})).unwrap();
    assert!(changed.all && changed.home_keys && answer["subscribers"] == 3);
}
