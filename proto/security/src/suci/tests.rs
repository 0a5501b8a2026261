use super::*;
use crate::key::tests::{array, octets};

// TS 33.501, Annex C.4.3 and C.4.4: the home network's keys, a UE's ephemeral keys, and what they give.
const HOME_A: &str = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d";
const PUBLIC_A: &str = "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650";
const EPHEMERAL_A: &str = "c80949f13ebe61af4ebdbd293ea4f942696b9e815d7e8f0096bbf6ed7de62256";
const OUTPUT_A: &str = "b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d\
    cb02352410cddd9e730ef3fa87";
const HOME_B: &str = "f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda";
const PUBLIC_B: &str = "0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1";
const EPHEMERAL_B: &str = "99798858a1dc6a2c68637149a4b1dbfd1fdff5addd62a2142f06699ed7602529";
const OUTPUT_B: &str = "039aab8376597021e855679a9778ea0b67396e68c66df32c0f41e9acca2da9b9d1\
    46a33fc2716ac7dae96aa30a4d";
const MSIN: &str = "001002086";

fn home() -> Plmn {
    Plmn::new("274", "012").expect("digits")
}

fn key_a() -> HomeKey {
    HomeKey::profile_a(array(HOME_A))
}

fn key_b() -> HomeKey {
    HomeKey::profile_b(array(HOME_B)).expect("a scalar")
}

#[test]
fn concealment_gives_the_values_of_annex_c4() {
    for (key, public, ephemeral, output) in [
        (key_a(), PUBLIC_A, EPHEMERAL_A, OUTPUT_A),
        (key_b(), PUBLIC_B, EPHEMERAL_B, OUTPUT_B),
    ] {
        assert_eq!(key.public().octets(), octets(public));
        let suci = conceal(home(), MSIN, 27, &key.public(), array(ephemeral)).expect("short");
        assert_eq!(suci.output(), octets(output), "{key:?}");
        let supi = deconceal(&suci, |id| (id == 27).then_some(&key)).expect("genuine");
        assert_eq!(supi.to_string(), "imsi-274012001002086");
    }
}

#[test]
fn a_subscriber_may_be_shown_as_it_is() {
    let suci = unconcealed(home(), MSIN).expect("short");
    let supi = deconceal(&suci, |_| None).expect("not concealed");
    assert_eq!(supi.to_string(), "imsi-274012001002086");
}

#[test]
fn what_was_changed_or_concealed_for_others_is_refused() {
    let refusal = |suci: &Suci, key: &HomeKey| deconceal(suci, |_| Some(key)).err();
    for (key, scheme, output) in [(key_a(), 1, OUTPUT_A), (key_b(), 2, OUTPUT_B)] {
        let output = octets(output);
        let last = output.len() - 1;
        for at in [last - 12, last - 8, last] {
            let mut changed = output.clone();
            changed[at] ^= 1;
            let suci = Suci::new(home(), scheme, 27, &changed).expect("short");
            assert_eq!(refusal(&suci, &key), Some(Unreadable::Mac), "{key:?} {at}");
        }
        let suci = Suci::new(home(), scheme, 27, &output[..last - 12]).expect("short");
        assert_eq!(refusal(&suci, &key), Some(Unreadable::Form));
        let other = if scheme == 1 { key_b() } else { key_a() };
        let suci = Suci::new(home(), scheme, 27, &output).expect("short");
        assert_eq!(refusal(&suci, &other), Some(Unreadable::Key));
        assert_eq!(deconceal(&suci, |_| None), Err(Unreadable::Key));
    }
    let unknown = Suci::new(home(), 3, 0, &[0; 40]).expect("short");
    assert_eq!(refusal(&unknown, &key_a()), Some(Unreadable::Key));
    let no_digits = Suci::new(home(), 0, 0, &[0xaa]).expect("short");
    assert_eq!(refusal(&no_digits, &key_a()), Some(Unreadable::Form));
}

#[test]
fn points_that_give_away_the_secret_are_refused() {
    // Of small order: the secret would be zero for everyone.
    let suci = Suci::new(home(), 1, 27, &[0; 45]).expect("short");
    let key = key_a();
    assert_eq!(deconceal(&suci, |_| Some(&key)), Err(Unreadable::Point));
    let mut no_point = [1; 46];
    no_point[0] = 4;
    let suci = Suci::new(home(), 2, 27, &no_point).expect("short");
    let key = key_b();
    assert_eq!(deconceal(&suci, |_| Some(&key)), Err(Unreadable::Point));
    assert!(HomeKey::profile_b([0; 32]).is_none());
}

proptest::proptest! {
    #[test]
    fn any_output_is_read_or_refused(
        scheme in 0u8..5,
        output in proptest::collection::vec(proptest::prelude::any::<u8>(), 1..64),
    ) {
        let suci = Suci::new(home(), scheme, 27, &output).expect("short");
        for key in [key_a(), key_b()] {
            if let Ok(supi) = deconceal(&suci, |_| Some(&key)) {
                proptest::prop_assert!(supi.imsi().len() > 6);
            }
        }
    }
}
