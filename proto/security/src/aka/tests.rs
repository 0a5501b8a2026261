use oxirush_security::milenage;
use sluice_ids::Plmn;

use super::*;
use crate::functions::milenage_of;
use crate::key::tests::{array, key_256};
use crate::key::{K, Opc};

/// A test set of TS 35.208, 4.3: K, RAND, SQN, AMF, OP, OPc, f1, f1*, f2, f5, f3, f4, f5*.
const SETS: [[&str; 13]; 3] = [
    [
        "465b5ce8b199b49faa5f0a2ee238a6bc",
        "23553cbe9637a89d218ae64dae47bf35",
        "ff9bb4d0b607",
        "b9b9",
        "cdc202d5123e20f62b6d676ac72cb318",
        "cd63cb71954a9f4e48a5994e37a02baf",
        "4a9ffac354dfafb3",
        "01cfaf9ec4e871e9",
        "a54211d5e3ba50bf",
        "aa689c648370",
        "b40ba9a3c58b2a05bbf0d987b21bf8cb",
        "f769bcd751044604127672711c6d3441",
        "451e8beca43b",
    ],
    [
        "fec86ba6eb707ed08905757b1bb44b8f",
        "9f7c8d021accf4db213ccff0c7f71a6a",
        "9d0277595ffc",
        "725c",
        "dbc59adcb6f9a0ef735477b7fadf8374",
        "1006020f0a478bf6b699f15c062e42b3",
        "9cabc3e99baf7281",
        "95814ba2b3044324",
        "8011c48c0c214ed2",
        "33484dc2136b",
        "5dbdbb2954e8f3cde665b046179a5098",
        "59a92d3b476a0443487055cf88b2307b",
        "deacdd848cc6",
    ],
    [
        "9e5944aea94b81165c82fbf9f32db751",
        "ce83dbc54ac0274a157c17f80d017bd6",
        "0b604a81eca8",
        "9e09",
        "223014c5806694c007ca1eeef57f004f",
        "a64a507ae1a2a98bb88eb4210135dc87",
        "74a58220cba84c49",
        "ac2cc74a96871837",
        "f365cd683cd92e96",
        "f0b9c08ad02e",
        "e203edb3971574f5a94b0d61b816345d",
        "0c4524adeac041c4dd830d20854fc46b",
        "6085a86c6f63",
    ],
];

#[test]
fn milenage_gives_the_values_of_ts_35_208() {
    for [
        k,
        rand,
        sqn,
        amf,
        op,
        opc,
        f1,
        f1_star,
        f2,
        f5,
        f3,
        f4,
        f5_star,
    ] in SETS
    {
        let (k, op) = (K::new(array(k)), array(op));
        assert_eq!(Opc::from_op(&k, op).octets(), &array(opc));
        let milenage = milenage_of(&k, &Opc::new(array(opc)));
        let rand = oxirush::Rand::new(&array(rand));
        let (sqn, amf) = (
            milenage::Sqn::new(&array(sqn)),
            milenage::Amf::new(&array(amf)),
        );
        assert_eq!(milenage.f1(&rand, &sqn, &amf).as_octets(), &array(f1));
        assert_eq!(
            milenage.f1_star(&rand, &sqn, &amf).as_octets(),
            &array(f1_star)
        );
        assert_eq!(milenage.f2(&rand).as_octets(), &array(f2));
        assert_eq!(milenage.f3(&rand).as_octets(), &array(f3));
        assert_eq!(milenage.f4(&rand).as_octets(), &array(f4));
        assert_eq!(milenage.f5(&rand).as_octets(), &array(f5));
        assert_eq!(milenage.f5_star(&rand).as_octets(), &array(f5_star));
    }
}

/// Keys of test set 1.
fn keys() -> (K, Opc, Rand) {
    let [k, rand, .., opc, _, _, _, _, _, _, _] = SETS[0];
    (K::new(array(k)), Opc::new(array(opc)), array(rand))
}

fn network() -> ServingNetworkName {
    Plmn::new("208", "93")
        .expect("digits")
        .serving_network_name()
}

/// TS 33.501, Annex A has no test data: these values were derived with the HMAC-SHA-256 of another
/// library over the strings of A.2 to A.7, from CK, IK and RES of test set 1.
#[test]
fn the_chain_of_keys_is_that_of_annex_a() {
    let (k, opc, rand) = keys();
    let milenage = milenage_of(&k, &opc);
    let sqn = milenage::Sqn::try_from(0xff9b_b4d0_b607).expect("48 bits");
    let amf = milenage::Amf::new(&[0xb9, 0xb9]);
    let vector = milenage.authentication_vector(&oxirush::Rand::new(&rand), &sqn, &amf);
    let name = network();
    let functions = Functions::Milenage(milenage);
    let response = functions.response(&rand);
    let autn = functions.autn(&rand, Sqn::new(sqn.get()), [0xb9, 0xb9], &response);
    assert_eq!(&autn, vector.autn().as_octets());
    let (xres_star, kausf) = five_g(&rand, &autn, &response, &name);
    let expected = "f2e35260f85194d4f891504d02111e56689ac23dd393bee3abbcc5bfbc013ef9";
    assert_eq!(kausf.octets(), &array(expected));
    assert_eq!(xres_star, array("5cc9527f4d21c43bee83a15443acf1c4"));
    assert_eq!(
        hxres_star(rand, &xres_star),
        array("6970075e3c8245fdc2073003cf166279")
    );
    let kseaf = kseaf(&kausf, &name);
    let expected = "cfddde483bd1318a412e98870f556410905be4fb7500abed93ee16af71bbb3fa";
    assert_eq!(kseaf.octets(), &array(expected));
    let supi = Supi::from_imsi("208930000000001").expect("digits");
    let kamf = kamf(&kseaf, &supi, &[0, 0]).expect("a SUPI");
    let expected = "9d63b519775a92ca861ca6a50d848fa8ebf160ea7b73735a85b33737e73c55b4";
    assert_eq!(kamf.octets(), &array(expected));
}

#[test]
fn a_sim_and_its_home_network_agree() {
    let (k, opc, rand) = keys();
    let credentials = Credentials::milenage(k, opc);
    let home = Subscriber::new(&credentials);
    let mut sim = Usim::new(&credentials);
    let challenge = home.challenge(rand, Sqn::default().next(7), &network());
    let answer = sim
        .answer(rand, challenge.autn, &network())
        .expect("genuine");
    assert_eq!(answer.res_star, challenge.xres_star);
    assert_eq!(answer.kausf, challenge.kausf);
    // The keys are bound to the serving network.
    let elsewhere = Plmn::new("001", "01")
        .expect("digits")
        .serving_network_name();
    let challenge = home.challenge(rand, Sqn::default().next(8), &elsewhere);
    let answer = sim
        .answer(rand, challenge.autn, &network())
        .expect("genuine");
    assert_ne!(answer.res_star, challenge.xres_star);
}

#[test]
fn a_sim_refuses_what_is_forged_not_for_5g_or_used() {
    let (k, opc, rand) = keys();
    let credentials = Credentials::milenage(k, opc);
    let home = Subscriber::new(&credentials);
    let mut sim = Usim::new(&credentials);
    let sqn = Sqn::default().next(100);
    let challenge = home.challenge(rand, sqn, &network());
    let mut forged = challenge.autn;
    forged[15] ^= 1;
    assert_eq!(
        sim.answer(rand, forged, &network()).err(),
        Some(UsimError::Mac)
    );
    let functions = Functions::new(&credentials);
    let no_separation = functions.autn(&rand, sqn, [0; 2], &functions.response(&rand));
    let answer = sim.answer(rand, no_separation, &network());
    assert_eq!(answer.err(), Some(UsimError::SeparationBit));
    sim.answer(rand, challenge.autn, &network())
        .expect("genuine");
    let Err(UsimError::Synch(auts)) = sim.answer(rand, challenge.autn, &network()) else {
        panic!("a used sequence number was taken");
    };
    let told = home.resynchronise(rand, &auts).expect("genuine");
    assert_eq!(told.sequence(), 100);
    let challenge = home.challenge(rand, told.next(0), &network());
    sim.answer(rand, challenge.autn, &network())
        .expect("above what the SIM has taken");
    let mut forged = auts;
    forged[13] ^= 1;
    assert_eq!(home.resynchronise(rand, &forged), None);
}

#[test]
fn sequence_numbers_go_up_in_both_parts() {
    let first = Sqn::new(5 << 5 | 31).next(0);
    assert_eq!((first.sequence(), first.index()), (6, 0));
    let second = first.next(1000);
    assert_eq!((second.sequence(), second.index()), (1000, 1));
    // Not further at once than a SIM takes.
    let third = second.next(u64::MAX);
    assert_eq!(third.sequence(), 1000 + (1 << 27));
    assert_eq!(Sqn::new(u64::MAX).get(), (1 << 48) - 1);
}

/// Of Python's hmac: SHA-256 by the key of `72 00 0001 00000005 0004`.
#[test]
fn the_key_of_the_next_amf_follows_from_the_count_of_the_request() {
    let kamf = Kamf::new([7; 32]);
    let count = |count| NasCount::new(count).expect("24 bits");
    let next = next_kamf(&kamf, count(5));
    let expected = key_256("661553ebb09da959a610605c4e2d70cb33437cc42d529fa171ca31d8d5377b42");
    assert_eq!(next.octets(), &expected);
    assert_ne!(next_kamf(&kamf, count(6)), next);
}
