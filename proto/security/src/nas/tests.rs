use oxirush_security::{
    Bearer, CipheringAlgorithm as Nea, Direction as Way, IntegrityAlgorithm as Nia,
    nea_cipher_bits, nia_mac_bits,
};

use super::*;
use crate::key::tests::{array, key_256, octets};

/// Algorithm, key, COUNT, bearer, direction, bits, input, output.
type Vector<A, T> = (A, &'static str, u32, u8, u8, usize, &'static str, T);

/// TS 33.401, Annex C.1 and C.4 (128-EEA2 set 1, 128-EEA3 set 1), and TS 35.218 (128-EEA1 set 1):
/// algorithm, key, COUNT, bearer, direction, bits, plain, ciphered.
#[rustfmt::skip]
const CIPHERED: [Vector<Nea, &'static str>; 3] = [
    (
        Nea::NEA1, "d3c5d592327fb11c4035c6680af8c6d1", 0x398a_59b4, 0x15, 1, 253,
        "981ba6824c1bfb1ab485472029b71d808ce33e2cc3c0b5fc1f3de8a6dc66b1f0",
        "5d5bfe75eb04f68ce0a12377ea00b37d47c6a0ba06309155086a859c4341b378",
    ),
    (
        Nea::NEA2, "d3c5d592327fb11c4035c6680af8c6d1", 0x398a_59b4, 0x15, 1, 253,
        "981ba6824c1bfb1ab485472029b71d808ce33e2cc3c0b5fc1f3de8a6dc66b1f0",
        "e9fed8a63d155304d71df20bf3e82214b20ed7dad2f233dc3c22d7bdeeed8e78",
    ),
    (
        Nea::NEA3, "173d14ba5003731d7a60049470f00a29", 0x6603_5492, 0x0f, 0, 193,
        "6cf65340735552ab0c9752fa6f9025fe0bd675d9005875b200",
        "a6c85fc66afb8533aafc2518dfe784940ee1e4b030238cc800",
    ),
];

/// TS 33.401, Annex C.2 (128-EIA2 sets 1 and 2), TS 35.217 (UIA2 set 1) and TS 35.223 (EIA3 sets 1
/// and 2): algorithm, key, COUNT, bearer, direction, bits, message, MAC.
#[rustfmt::skip]
const MACS: [Vector<Nia, u32>; 5] = [
    (
        Nia::NIA1, "2bd6459f82c5b300952c49104881ff48", 0x38a6_f056, 0x1f, 0, 88,
        "33323462633938613734790000000000", 0x731f_1165,
    ),
    (
        Nia::NIA2, "2bd6459f82c5b300952c49104881ff48", 0x38a6_f056, 0x18, 0, 58,
        "3332346263393840", 0x118c_6eb8,
    ),
    (
        Nia::NIA2, "d3c5d592327fb11c4035c6680af8c6d1", 0x398a_59b4, 0x1a, 1, 64,
        "484583d5afe082ae", 0xb937_87e6,
    ),
    (Nia::NIA3, "00000000000000000000000000000000", 0, 0, 0, 1, "00000000", 0xc8a9_595e),
    (
        Nia::NIA3, "47054125561eb2dda94059da05097850", 0x561e_b2dd, 0x14, 0, 90,
        "000000000000000000000000", 0x6719_a088,
    ),
];

fn way(bit: u8) -> Way {
    if bit == 0 { Way::Uplink } else { Way::Downlink }
}

#[test]
fn ciphering_gives_the_values_of_the_specifications() {
    for (algorithm, key, count, bearer, direction, bits, plain, ciphered) in CIPHERED {
        let key = KNasEnc::new(&array(key));
        let (bearer, mut data) = (Bearer::new(bearer).expect("5 bits"), octets(plain));
        let direction = way(direction);
        nea_cipher_bits(
            &key,
            count,
            bearer,
            direction,
            &mut data,
            bits as u64,
            algorithm,
        )
        .expect("so many bits");
        assert_eq!(data, octets(ciphered), "{algorithm}");
    }
}

#[test]
fn macs_are_the_values_of_the_specifications() {
    for (algorithm, key, count, bearer, direction, bits, message, expected) in MACS {
        let key = KNasInt::new(&array(key));
        let (bearer, message) = (Bearer::new(bearer).expect("5 bits"), octets(message));
        let direction = way(direction);
        let mac = nia_mac_bits(
            &key,
            count,
            bearer,
            direction,
            &message,
            bits as u64,
            algorithm,
        );
        assert_eq!(mac, Ok(expected), "{algorithm}");
    }
}

/// KNASenc and KNASint of the chain that begins with test set 1 of TS 35.208, derived by another
/// library: the ciphered message and its MAC are those that they give.
#[test]
fn a_message_is_ciphered_and_protected_with_the_keys_of_annex_a8() {
    let kamf = "9d63b519775a92ca861ca6a50d848fa8ebf160ea7b73735a85b33737e73c55b4";
    let kamf = Kamf::new(key_256(kamf));
    let keys = NasKeys::new(&kamf, Ciphering::Nea2, Integrity::Nia2);
    assert_eq!(
        keys.encryption_key.as_octets(),
        &array("f47ae570afde775373d1b313d2176f54")
    );
    assert_eq!(
        keys.integrity_key.as_octets(),
        &array("28ddb5356880149b9fee22f2367522a4")
    );
    // Registration Complete with uplink count 0.
    let (count, mut message) = (NasCount::default(), [0x7e, 0, 0x43]);
    keys.cipher(count, Direction::Uplink, &mut message);
    assert_eq!(message, [0xb5, 0x7d, 0xd5]);
    let mac = keys.mac(count, Direction::Uplink, &[0, 0xb5, 0x7d, 0xd5]);
    assert_eq!(mac, 0x83e4_d009_u32.to_be_bytes());
    assert_ne!(
        mac,
        keys.mac(count, Direction::Downlink, &[0, 0xb5, 0x7d, 0xd5])
    );
}

#[test]
fn every_algorithm_deciphers_what_it_ciphered() {
    let kamf = Kamf::new([7; 32]);
    let count = NasCount::new(0x1234).expect("24 bits");
    for number in 0..4 {
        let ciphering = Ciphering::from_number(number).expect("four algorithms");
        let keys = NasKeys::new(&kamf, ciphering, Integrity::Nia2);
        let mut message = [0x55; 37];
        keys.cipher(count, Direction::Downlink, &mut message);
        assert_eq!(message == [0x55; 37], number == 0, "NEA{number}");
        keys.cipher(count, Direction::Downlink, &mut message);
        assert_eq!(message, [0x55; 37]);
    }
}

#[test]
fn a_count_is_estimated_from_its_sequence_number() {
    let count = NasCount::new(0x1fe).expect("24 bits");
    assert_eq!(count.estimate(0xfe).map(NasCount::get), Some(0x1fe));
    assert_eq!(count.estimate(0x02).map(NasCount::get), Some(0x202));
    // Never a lower count: a message that was seen is not taken again.
    assert_eq!(count.estimate(0xfd).map(NasCount::get), Some(0x2fd));
    assert_eq!(NasCount::MAX.next(), None);
    assert_eq!(NasCount::MAX.estimate(0), None);
}
