use sluice_sbi::{
    AdvanceSqn, CallId, Key, Nf, QueryAccessAndMobility, QuerySubscription, StoreAmf,
};

use super::*;

fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("digits")
}

fn udr() -> Udr {
    let subscriber = Subscriber {
        k: K::new([1; 16]),
        opc: Opc::new([2; 16]),
        sqn: Sqn::default(),
        ambr_bps: (1_000, 500),
        slices: vec![(Snssai::new(1, None), true)],
        networks: Vec::new(),
    };
    let mut udr = Udr::default();
    assert!(udr.insert(supi(), subscriber));
    udr
}

const ID: RequestId = RequestId {
    from: Nf::Udm,
    call: CallId(Key {
        slot: 1,
        generation: 0,
    }),
};

fn ask(udr: &mut Udr, message: impl Into<Message>) -> Vec<Effect> {
    let mut effects = Vec::new();
    let request = Input::Request {
        id: ID,
        message: message.into(),
    };
    udr.handle(Now::default(), request, &mut effects);
    effects
}

fn answer(effects: &[Effect]) -> Message {
    match effects {
        [Effect::Answer { id: ID, message }] => *message,
        other => panic!("no answer: {other:?}"),
    }
}

#[test]
fn a_sequence_number_is_stored_before_it_is_told() {
    let mut udr = udr();
    let advance = |above: Option<u64>| AdvanceSqn {
        supi: supi(),
        above: above.unwrap_or_default().into(),
        resynchronised: above.is_some(),
        floor: 7.into(),
    };
    for (above, expected) in [
        (None, 7),
        (None, 8),
        (Some(100 << 5), 101),
        (Some(50 << 5), 51),
    ] {
        let effects = ask(&mut udr, advance(above));
        let [Effect::Commit { id, .. }] = effects[..] else {
            panic!("not stored first: {effects:?}");
        };
        let mut effects = Vec::new();
        udr.handle(Now::default(), Input::Committed(id), &mut effects);
        let Message::AuthenticationSubscription(told) = answer(&effects) else {
            panic!("{effects:?}");
        };
        assert_eq!(Sqn::new(told.sqn.get()).sequence(), expected);
        assert_eq!(udr.sqn_of(&supi()).map(Sqn::sequence), Some(expected));
    }
}

#[test]
fn an_unknown_subscriber_is_not_found() {
    let mut udr = udr();
    let supi = Supi::from_imsi("001010000000002").expect("digits");
    let guami = Guami {
        plmn: sluice_ids::Plmn::new("001", "01").expect("digits"),
        amf: sluice_ids::AmfId::from_octets([1, 2, 3]),
    };
    for message in [
        Message::from(QuerySubscription { supi }),
        QueryAccessAndMobility { supi }.into(),
        AdvanceSqn {
            supi,
            above: 0.into(),
            resynchronised: false,
            floor: 0.into(),
        }
        .into(),
        StoreAmf {
            supi,
            guami,
            registered: true,
        }
        .into(),
    ] {
        assert_eq!(
            answer(&ask(&mut udr, message)),
            Problem::UserNotFound.into()
        );
    }
    assert_eq!(answer(&ask(&mut udr, Done::ALL)), Problem::Protocol.into());
}
