use super::*;
use crate::key::tests::{array, octets};

/// A test set of TS 35.233, 6.3 to 6.8: K, RAND, SQN, AMF, TOP, TOPc, f1, f1*, f2, f3, f4, f5, f5*.
const SETS: [[&str; 13]; 6] = [
    [
        "abababababababababababababababab",
        "42424242424242424242424242424242",
        "111111111111",
        "ffff",
        "5555555555555555555555555555555555555555555555555555555555555555",
        "bd04d9530e87513c5d837ac2ad954623a8e2330c115305a73eb45d1f40cccbff",
        "f9a54e6aeaa8618d",
        "e94b4dc6c7297df3",
        "657acd64",
        "d71a1e5c6caffe986a26f783e5c78be1",
        "be849fa2564f869aecee6f62d4337e72",
        "719f1e9b9054",
        "e7af6b3d0e38",
    ],
    [
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0",
        "0123456789abcdef0123456789abcdef",
        "0123456789ab",
        "abcd",
        "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
        "305425427e18c503c8a4b294ea72c95d0c36c6c6b29d0c65de5974d5977f8524",
        "c0b8c2d4148ec7aa5f1d78a97e4d1d58",
        "ef81af7290f7842c6ceafa537fa0745b",
        "e9d749dc4eea0035",
        "a4cb6f6529ab17f8337f27baa8234d47",
        "2274155ccf4199d5e2abcbf621907f90",
        "480a9345cc1e",
        "f84eb338848c",
    ],
    [
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0",
        "0123456789abcdef0123456789abcdef",
        "0123456789ab",
        "abcd",
        "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
        "305425427e18c503c8a4b294ea72c95d0c36c6c6b29d0c65de5974d5977f8524",
        "d97b75a1776065271b1e212bc3b1bf173f438b21e6c64a55a96c372e085e5cc5",
        "427bbf07c6e3a86c54f8c5216499f3909a6fd4a164c9fe235b1550258111b821",
        "07021c73e7635c7d",
        "4d59ac796834eb85d11fa148a5058c3c",
        "126d47500136fdc5ddfd14f19ebf16749ce4b6435323fbb5715a3a796a6082bd",
        "1d6622c4e59a",
        "f84eb338848c",
    ],
    [
        "b8da837a50652d6ac7c97da14f6acc61",
        "6887e55425a966bd86c9661a5fa72be8",
        "0dea2ee2c5af",
        "df1e",
        "0952be13556c32ebc58195d9dd930493e12a9003669988ffde5fa1f0fe35cc01",
        "2bc16eb657a68e1f446f08f57c0efb1d493527a2e652ce281eb6ca0e4487760a",
        "749214087958dd8f58bfcdf869d8ae3f",
        "619e865afe80e382aee13063f9dfb56d",
        "4041ce438e3e38e8aa96562eed83ac43",
        "3e3bc01bea0cd914c4c2c83ce2d92757",
        "666a8e6f577b1aa77b7fd53cebb8a3d6",
        "1f880d005119",
        "45e617d77fe5",
    ],
    [
        "1574ca56881d05c189c82880f789c9cd4244955f4426aa2b69c29f15770e5aa5",
        "c570aac68cde651fb1e3088322498bef",
        "c89bb71f3a41",
        "297d",
        "e59f6eb10ea406813f4991b0b9e02f181edf4c7e17b480f66d34da35ee88c95e",
        "3c6052e41532a28a47aa3cbb89f223e8f3aaa976aecd48bc3e7d6165a55eff62",
        "d7340dad02b4cb01",
        "c6021e2e66accb15",
        "84d89b41db1867ffd4c7ba1d82163f4d526a20fbae5418fbb526940b1eeb905c",
        "d419676afe5ab58c1d8bee0d43523a4d2f52ef0b31a4676a0c334427a988fe65",
        "205533e505661b61d05cc0eac87818f4",
        "d7b3d2d4980a",
        "ca9655264986",
    ],
    [
        "1574ca56881d05c189c82880f789c9cd4244955f4426aa2b69c29f15770e5aa5",
        "c570aac68cde651fb1e3088322498bef",
        "c89bb71f3a41",
        "297d",
        "e59f6eb10ea406813f4991b0b9e02f181edf4c7e17b480f66d34da35ee88c95e",
        "b04a66f26c62fcd6c82de22a179ab65506ecf47f56245cd149966cfa9cec7a51",
        "90d2289ed1ca1c3dbc2247bb480d431ac71d2e4a7677f6e997cfddb0cbad88b7",
        "427355dbac30e825063aba61b556e87583abac638e3ab01c4c884ad9d458dc2f",
        "d67e6e64590d22eecba7324afa4af4460c93f01b24506d6e12047d789a94c867",
        "ede57edfc57cdffe1aae75066a1b7479bbc3837438e88d37a801cccc9f972b89",
        "48ed9299126e5057402fe01f9201cf25249f9c5c0ed2afcf084755daff1d3999",
        "6aae8d18c448",
        "8c5f33b61f4e",
    ],
];

/// Octets of the output from one on, as the test sets write them.
fn written(state: &State, at: usize, length: usize) -> Vec<u8> {
    state[at..at + length].iter().rev().copied().collect()
}

#[test]
fn tuak_gives_the_values_of_ts_35_233() {
    for (number, set) in SETS.iter().enumerate() {
        let [
            k,
            rand,
            sqn,
            amf,
            top,
            topc,
            f1,
            f1_star,
            f2,
            f3,
            f4,
            f5,
            f5_star,
        ] = *set;
        let iterations = if number == 5 { 2 } else { 1 };
        let k = TuakKey::new(&octets(k)).expect("128 or 256 bits");
        let (rand, sqn, amf) = (array(rand), array(sqn), array(amf));
        let variant = Variant {
            mac: f1.len() / 2,
            res: f2.len() / 2,
            ck: f3.len() / 2,
            ik: f4.len() / 2,
            iterations,
        };
        let derived = topc_after(iterations, &k, &array(top));
        assert_eq!(derived.octets(), &array::<32>(topc), "set {}", number + 1);
        let tuak = Tuak::new(&k, &derived);
        for (kind, expected) in [(F1, f1), (F1_STAR, f1_star)] {
            let state = tuak.mac(kind, variant, &rand, &sqn, amf);
            assert_eq!(written(&state, 0, variant.mac), octets(expected));
        }
        let state = tuak.response(variant, &rand);
        assert_eq!(written(&state, 0, variant.res), octets(f2));
        assert_eq!(written(&state, CK_AT, variant.ck), octets(f3));
        assert_eq!(written(&state, IK_AT, variant.ik), octets(f4));
        assert_eq!(written(&state, AK_AT, 6), octets(f5));
        let state = tuak.conceal(variant, &rand);
        assert_eq!(written(&state, AK_AT, 6), octets(f5_star));
    }
}

#[test]
fn what_simcards_have_is_one_of_the_variants() {
    // Set 2 has 64 bits of RES and 128 of CK and IK, and so what f2 to f5 are asked for.
    let [k, rand, sqn, amf, _, topc, _, _, f2, f3, f4, f5, f5_star] = SETS[1];
    let k = TuakKey::new(&octets(k)).expect("256 bits");
    let tuak = Tuak::new(&k, &Topc::new(array(topc)));
    let output = tuak.f2345(&array(rand));
    assert_eq!(output.res, array(f2));
    assert_eq!((*output.ck, *output.ik), (array(f3), array(f4)));
    assert_eq!(
        (*output.ak, *tuak.f5_star(&array(rand))),
        (array(f5), array(f5_star))
    );
    // Set 1 and set 5 have 64 bits of MAC.
    let [k, .., topc, mac, mac_star, _, _, _, _, _] = SETS[0];
    let k = TuakKey::new(&octets(k)).expect("128 bits");
    let tuak = Tuak::new(&k, &Topc::new(array(topc)));
    let [_, rand, _, _, ..] = SETS[0];
    let (rand, one) = (array(rand), ([0x11; 6], [0xff; 2]));
    assert_eq!(tuak.f1(&rand, &one.0, one.1), array(mac));
    assert_eq!(tuak.f1_star(&rand, &one.0, one.1), array(mac_star));
    assert_ne!(tuak.f1(&rand, &array(sqn), array(amf)), array(mac));
}
