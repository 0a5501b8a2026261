use super::*;
use crate::field::Nf;
use crate::nrf::{Found, Requester};
use proptest::prelude::*;

fn tai() -> Tai {
    let plmn = sluice_ids::Plmn::new("001", "01").expect("digits");
    let tac = sluice_ids::Tac([0, 0, 1]);
    Tai { plmn, tac }
}

fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("digits")
}

#[test]
fn a_message_is_read_as_it_was_written() {
    let slices = [(Snssai::new(1, None), true), (Snssai::new(2, None), false)];
    let subscription = AccessAndMobility::new((1_000, 500), &slices);
    assert!(subscription.subscribed().eq(slices));
    let both = slices.map(|(slice, _)| slice);
    let selection = SelectSlices::new(tai(), &both, &slices, &both[1..]);
    assert!(selection.subscribed().eq(slices));
    assert_eq!(
        (selection.requested(), selection.offered()),
        (&both[..], &both[1..])
    );
    let instance = NfInstance::of([7; 16]);
    let served = Served::new(&both, &[Dnn::new("internet").expect("a name")], &[tai()]);
    let profile = NfProfile::new(instance, Nf::Smf, &[tai().plmn], served);
    assert_eq!(profile.plmns(), [tai().plmn]);
    let requester = Requester::new(Nf::Amf, Some(both[1]), Some(tai().plmn));
    let query = NfQuery::new(requester, Nf::Smf, Some(both[1]), None, Some(tai()));
    assert!(served.serves(&query) && served.is_in(&query));
    let found = Found {
        instance,
        priority: 1.into(),
        capacity: 2.into(),
        load: 3,
    };
    for message in [
        Message::from(subscription),
        Done::ALL.into(),
        RegisterNf { profile }.into(),
        DiscoverNfs { query }.into(),
        NfsDiscovered {
            found: NfsFound::new(60, &[found]),
        }
        .into(),
        selection.into(),
        StoreAvailability {
            amf: instance,
            is_first: true,
            is_last: false,
            tai: tai(),
            slices: AvailableSlices::new(&both),
        }
        .into(),
        SlicesSelected::new(&[slices[0].0], &[(slices[1].0, true)]).into(),
        Problem::UserNotFound.into(),
        AdvanceSqn {
            supi: supi(),
            above: 7.into(),
            resynchronised: true,
            floor: 9.into(),
        }
        .into(),
    ] {
        let octets = message.to_octets();
        assert!(octets.len() <= LONGEST);
        assert_eq!(Message::from_octets(&octets), Some(message));
        assert_eq!(Message::from_octets(&octets[..octets.len() - 1]), None);
    }
}

#[test]
fn an_identity_is_one_of_two() {
    assert_eq!(Identity::from(supi()).get(), Ok(supi()));
    let home = sluice_ids::Plmn::new("001", "01").expect("digits");
    let suci = sluice_ids::Suci::new(home, 0, 0, &[1]).expect("short");
    assert_eq!(Identity::from(suci).get(), Err(suci));
}

#[test]
fn keys_are_not_printed() {
    let subscription = AuthenticationSubscription {
        method: AuthMethod::FiveGAka,
        algorithm: SimAlgorithm::Milenage,
        k: [0x5a; 32],
        opc: [0x5a; 32],
        sqn: 1.into(),
    };
    let text = format!("{:?}", Message::from(subscription));
    assert_eq!(text, "Nudr_DM Response (authentication subscription)");
}

proptest! {
    #[test]
    fn any_octets_are_a_message_or_none(
        number in 0u8..112,
        octets in proptest::collection::vec(any::<u8>(), 0..2048),
    ) {
        let octets = [&[0, number][..], &octets].concat();
        if let Some(message) = Message::from_octets(&octets) {
            prop_assert_eq!(message.to_octets(), octets);
            if let Message::AccessAndMobility(subscription) = message {
                prop_assert!(subscription.subscribed().count() <= SLICES);
            }
            if let Message::SelectSlices(one) = message {
                prop_assert!(one.subscribed().count() <= SLICES && one.requested().len() <= REQUESTED);
                prop_assert!(one.offered().len() <= OFFERED);
            }
            if let Message::RegisterNf(one) = message {
                prop_assert!(one.profile.plmns().len() <= crate::nrf::PLMNS);
                prop_assert!(one.profile.served.dnns().len() <= DNNS);
            }
            if let Message::NfsDiscovered(one) = message {
                prop_assert!(one.found.all().len() <= crate::nrf::FOUND);
            }
            if let Message::UeContext(one) = message {
                prop_assert!(one.sessions.all().len() <= crate::MOVED_SESSIONS);
                prop_assert!(one.keys.get().is_none_or(|keys| keys.capability().len() <= 8));
            }
            if let Message::SlicesSelected(one) = message {
                prop_assert!(one.rejected().count() <= REQUESTED && one.allowed().len() <= REQUESTED);
            }
        }
    }
}

#[test]
fn lists_that_are_too_long_are_told_in_parts_that_are_whole_together() {
    let slices: Vec<Snssai> = (0..17).map(|sst| Snssai::new(sst, None)).collect();
    let dnns: Vec<Dnn> = (0..9).filter_map(|n| Dnn::new(&format!("n{n}"))).collect();
    assert_eq!(dnns.len(), 9);
    let parts = Served::parts(&slices, &dnns, &[]);
    assert_eq!(parts.len(), 4);
    for slice in &slices {
        for dnn in &dnns {
            let amf = Requester::new(Nf::Amf, None, None);
            let query = NfQuery::new(amf, Nf::Smf, Some(*slice), Some(*dnn), None);
            assert_eq!(parts.iter().filter(|part| part.serves(&query)).count(), 1);
        }
    }
}
