use sluice_ids::Snssai;

use super::*;

const K_TEXT: &str = "465b5ce8b199b49faa5f0a2ee238a6bc";
const OP_TEXT: &str = "cdc202d5123e20f62b6d676ac72cb318";
const OPC_TEXT: &str = "cd63cb71954a9f4e48a5994e37a02baf";

fn draft() -> Draft {
    Draft {
        imsi: Text::new("001010000000001"),
        k: Secret::new(K_TEXT),
        opc: Secret::new(OPC_TEXT),
        ..Draft::default()
    }
}

fn problems(draft: &Draft) -> Vec<String> {
    let found = draft.check(None).unwrap_err();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_not_written_has_its_default() {
    let checked = draft().check(None).unwrap();
    let [slice] = &checked.profile.slices[..] else {
        panic!("{checked:?}");
    };
    assert!(slice.is_default && slice.snssai == Snssai::new(1, None));
    let [network] = &slice.networks[..] else {
        panic!("{checked:?}");
    };
    assert_eq!(network.dnn.to_string(), "internet");
    assert_eq!((network.types, network.default_type), ([true; 3], 3));
    assert_eq!((network.five_qi, network.arp), (9, 8));
    assert_eq!(checked.profile.ambr_bps, (1_000_000_000, 1_000_000_000));
    assert!(!checked.profile.barred);
}

/// Test set 1 of TS 35.208, 4.3.
#[test]
fn opc_is_derived_from_op() {
    let mut with_op = draft();
    (with_op.opc, with_op.op) = (Secret::default(), Secret::new(OP_TEXT));
    assert_eq!(with_op.check(None), draft().check(None));
    with_op.opc = Secret::new(OPC_TEXT);
    assert_eq!(
        problems(&with_op),
        ["imsi 001010000000001: op: given beside opc; expected one of both"]
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once_and_no_key_is() {
    let wrong = Draft {
        imsi: Text::new("00101x"),
        k: Secret::new(&K_TEXT[1..]),
        opc: Secret::new(format!("{}g", &OPC_TEXT[1..])),
        barred: Text::new("perhaps"),
        ue_ambr_up_bps: Text::new("fast"),
        slices: vec![
            SliceDraft {
                slice: Text::new("1-12"),
                ..SliceDraft::default()
            },
            SliceDraft {
                slice: Text::new("2"),
                networks: vec![NetworkDraft {
                    // A key in the wrong place.
                    dnn: Text::new(format!("{K_TEXT}_")),
                    arp: Text::new("16"),
                    up_integrity: Text::new("always"),
                    ..NetworkDraft::default()
                }],
                ..SliceDraft::default()
            },
        ],
        ..Draft::default()
    };
    let told = problems(&wrong);
    let fields = [
        "imsi",
        "k",
        "opc",
        "barred",
        "ue_ambr_up_bps",
        "slices[0].slice",
    ];
    for field in fields
        .into_iter()
        .chain(["slices[1].networks[0].dnn", "slices[1].networks[0].arp"])
        .chain(["slices[1].networks[0].up_integrity"])
    {
        let begin = format!("imsi 00101x: {field}: ");
        assert!(
            told.iter().any(|one| one.starts_with(&begin)),
            "{field}: {told:?}"
        );
    }
    let all = told.join("\n") + &format!("{wrong:?}");
    assert!(!all.contains(&OPC_TEXT[1..9]), "{all}");
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    let mut wrong = draft();
    wrong.ue_ambr_down_bps = Text::new(K_TEXT);
    let told = problems(&wrong).join("\n");
    assert!(
        told.contains("ue_ambr_down_bps") && !told.contains(&K_TEXT[..8]),
        "{told}"
    );
    for text in [
        format!("{{\"slices\":\"{K_TEXT}\"}}"),
        format!("{{\"{K_TEXT}\":1}}"),
    ] {
        let refused = crate::json::draft(&text).unwrap_err().to_string();
        assert!(!refused.contains(&K_TEXT[..8]), "{refused}");
    }
    let debug = format!("{:?}", draft());
    assert!(!debug.contains(K_TEXT), "{debug}");
}

#[test]
fn slices_and_networks_are_consistent() {
    let network = |dnn: &str| NetworkDraft {
        dnn: Text::new(dnn),
        ..NetworkDraft::default()
    };
    let slice = |name: &str, default: &str, networks: &[NetworkDraft]| SliceDraft {
        slice: Text::new(name),
        default: Text::new(default),
        networks: networks.to_vec(),
    };
    let with = |slices: Vec<SliceDraft>| Draft { slices, ..draft() };
    for (slices, expected) in [
        (vec![slice("1", "no", &[])], "no default slice"),
        (
            vec![slice("1", "yes", &[]), slice("1", "no", &[])],
            "slices[1].slice: 1 a second time",
        ),
        (
            vec![slice("1", "yes", &[network("a"), network("A")])],
            "a a second time in this slice",
        ),
        (
            vec![slice("1", "yes", &[]); SLICES + 1],
            "17 slices; expected at most 16",
        ),
        (
            vec![slice("1", "yes", &vec![network("a"); DNNS + 1])],
            "9 data networks; expected at most 8",
        ),
        (
            vec![slice(
                "1",
                "yes",
                &[NetworkDraft {
                    types: Text::new("ipv4"),
                    default_type: Text::new("ipv6"),
                    ..network("a")
                }],
            )],
            "default_type: got 'ipv6'; expected one of types",
        ),
        (
            vec![slice(
                "1",
                "yes",
                &[NetworkDraft {
                    types: Text::new("ipv6"),
                    ipv4: Text::new("10.0.0.1"),
                    ..network("a")
                }],
            )],
            "ipv4: given, but no session may have one",
        ),
    ] {
        let told = problems(&with(slices)).join("\n");
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let two = with(vec![
        slice("1", "no", &[network("a")]),
        slice("2-00000a", "yes", &[network("a")]),
    ]);
    assert_eq!(two.check(None).unwrap().profile.slices.len(), 2);
}

#[test]
fn a_change_keeps_keys_and_sequence_numbers_unless_they_are_written() {
    let now = 1_700_000_000;
    let mut sim = draft();
    sim.sqn = Text::new("000000000fff");
    let before = sim.check(None).unwrap().into_record(None, now).unwrap();
    let mut change = Draft {
        imsi: draft().imsi,
        ..Draft::default()
    };
    let after = change.check(Some(&before)).unwrap();
    let after = after.into_record(Some(&before), now + 9).unwrap();
    assert_eq!(
        (&after.credentials, after.sqn),
        (&before.credentials, before.sqn)
    );
    // A new key needs its OPc, and its SIM has taken no number yet.
    change.k = Secret::new("00112233445566778899aabbccddeeff");
    let told = change.check(Some(&before)).unwrap_err();
    assert!(told[0].to_string().contains("opc: missing"), "{told:?}");
    change.op = Secret::new(OP_TEXT);
    let after = change.check(Some(&before)).unwrap();
    let after = after.into_record(Some(&before), now + 9).unwrap();
    assert_eq!(after.sqn, SqnState::new(Sqn::default(), now + 9));
    // The same keys, written once more, are no change.
    let again = draft().check(Some(&before)).unwrap();
    assert_eq!(
        again.into_record(Some(&before), now + 9).unwrap().sqn,
        before.sqn
    );
}

const TOP_TEXT: &str = "0952be13556c32ebc58195d9dd930493e12a9003669988ffde5fa1f0fe35cc01";
const TOPC_TEXT: &str = "2bc16eb657a68e1f446f08f57c0efb1d493527a2e652ce281eb6ca0e4487760a";

/// Test set 4 of TS 35.233, 6.6.
fn tuak() -> Draft {
    Draft {
        imsi: draft().imsi,
        k: Secret::new("b8da837a50652d6ac7c97da14f6acc61"),
        topc: Secret::new(TOPC_TEXT),
        algorithm: Text::new("tuak"),
        method: Text::new("eap_aka_prime"),
        ..Draft::default()
    }
}

#[test]
fn topc_is_derived_from_top_and_keys_are_those_of_one_algorithm() {
    let tuak = tuak();
    let checked = tuak.check(None).unwrap();
    let with_top = Draft {
        topc: Secret::default(),
        top: Secret::new(TOP_TEXT),
        ..tuak.clone()
    };
    assert_eq!(with_top.check(None).unwrap(), checked);
    let record = checked.into_record(None, 1_700_000_000).unwrap();
    assert_eq!(format!("{:?}", record.credentials), "Tuak by EapAkaPrime");
    // The method alone may change; keys of another algorithm need that to be said.
    let by_aka = Draft {
        imsi: draft().imsi,
        method: Text::new("5g_aka"),
        ..Draft::default()
    };
    let after = by_aka.check(Some(&record)).unwrap();
    let after = after.into_record(Some(&record), 1_700_000_000).unwrap();
    assert_eq!(format!("{:?}", after.credentials), "Tuak by FiveGAka");
    assert_eq!(after.sqn, record.sqn);
    let told = draft().check(Some(&record)).unwrap_err();
    let expected = "opc: given with algorithm tuak; expected the keys of one algorithm";
    assert!(told[0].to_string().ends_with(expected), "{told:?}");
    let milenage = Draft {
        algorithm: Text::new("milenage"),
        ..draft()
    };
    let after = milenage.check(Some(&record)).unwrap();
    let after = after.into_record(Some(&record), 1_700_000_000).unwrap();
    assert_eq!(
        format!("{:?}", after.credentials),
        "Milenage by EapAkaPrime"
    );
}

#[test]
fn what_is_wrong_with_keys_of_tuak_is_told() {
    let tuak = tuak();
    for (draft, expected) in [
        (
            Draft {
                k: Secret::new("12"),
                ..tuak.clone()
            },
            "k: 2 characters",
        ),
        (
            Draft {
                topc: Secret::default(),
                ..tuak.clone()
            },
            "topc: missing",
        ),
        (
            Draft {
                algorithm: Text::new("comp128"),
                ..tuak.clone()
            },
            "expected milenage or tuak",
        ),
        (
            Draft {
                method: Text::new("eap_tls"),
                ..tuak.clone()
            },
            "5g_aka or eap_aka_prime",
        ),
    ] {
        let told = draft.check(None).unwrap_err();
        assert!(told[0].to_string().contains(expected), "{told:?}");
    }
}
