//! Import and export: what was exported comes back the same, and a file comes in as a whole or not at all.

use proptest::prelude::*;
use sluice_ids::{Dnn, Snssai, Supi, UpProtection, UpSecurity};
use sluice_security::{Credentials, K, Method, Opc, Sqn, Topc, TuakKey};
use sluice_subscribers::store::Format;
use sluice_subscribers::{Error, Network, Problems, Profile, Record, Slice, SqnState, Store};

use crate::kit::{NOW_S, Place, contains, imsi, k, opc, supi, table};

fn import(store: &mut Store, text: &str, format: Format) -> Result<(usize, usize), Error> {
    let done = store.import(text.as_bytes(), format, false, NOW_S)?;
    Ok((done.added.len(), done.replaced.len()))
}

fn replace(store: &mut Store, text: &str) -> Result<(usize, usize), Error> {
    let done = store.import(text.as_bytes(), Format::Csv, true, NOW_S)?;
    Ok((done.added.len(), done.replaced.len()))
}

fn exported(store: &Store, format: Format, with_keys: bool) -> String {
    let mut text = Vec::new();
    store.export(format, with_keys, NOW_S, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn all(store: &Store) -> Vec<Record> {
    let mut all = Vec::new();
    let read = store.each(|record| {
        all.push(record);
        Ok(())
    });
    read.unwrap();
    all
}

fn problems(result: Result<(usize, usize), Error>) -> Problems {
    match result {
        Err(Error::Problems(problems)) => problems,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tens_of_thousands_come_in_at_once_and_go_out_again() {
    many(20_000);
}

/// So many that they are read in several pieces.
pub fn some_thousands_come_in_at_once_and_go_out_again() {
    many(3_000);
}

fn many(number: u32) {
    let (_place, mut store) = Place::new();
    let text = table(number);
    let all_of_them = number as usize;
    assert_eq!(
        import(&mut store, &text, Format::Csv).unwrap(),
        (all_of_them, 0)
    );
    assert_eq!(store.number().unwrap(), u64::from(number));
    let record = store.get(&supi(number - 1)).unwrap().unwrap();
    let network = &record.profile.slices[0].networks[0];
    let [_, a, b, c] = (number - 1).to_be_bytes();
    assert_eq!(network.ipv4.unwrap().octets(), [10, a, b, c]);
    // Once more: each is told of, and nothing is changed.
    let found = problems(import(&mut store, &text, Format::Csv));
    assert_eq!((found.number, found.told.len()), (u64::from(number), 20));
    assert_eq!(replace(&mut store, &text).unwrap(), (0, all_of_them));
    let out = exported(&store, Format::Json, true);
    let (_other, mut copy) = Place::new();
    assert_eq!(
        import(&mut copy, &out, Format::Json).unwrap(),
        (all_of_them, 0)
    );
    assert_eq!(all(&copy), all(&store));
}

#[test]
pub fn all_or_nothing_and_errors_by_line() {
    let (_place, mut store) = Place::new();
    import(&mut store, &table(2), Format::Csv).unwrap();
    let before = all(&store);
    let text = format!(
        "imsi,k,opc,ipv4\n{},{},{},10.9.9.9\n{},{},{},\n12345,{},{},\n{},{},{},10.0.0.256\n\
         {},{},{},\n{},{},{},10.9.9.9\n{},zz,,\n",
        imsi(10),
        k(10),
        opc(10),
        imsi(1),
        k(1),
        opc(1),
        k(11),
        opc(11),
        imsi(12),
        k(12),
        opc(12),
        imsi(10),
        k(10),
        opc(10),
        imsi(13),
        k(13),
        opc(13),
        imsi(14),
    );
    // The address needs a data network; only then it is compared.
    let text = text
        .replace("opc,ipv4\n", "opc,dnn\n")
        .replace("10.9.9.9", "internet")
        .replace("10.0.0.256", "a b");
    let found = problems(import(&mut store, &text, Format::Csv));
    let told: Vec<String> = found.told.iter().map(ToString::to_string).collect();
    let has = |begin: &str| told.iter().any(|one| one.starts_with(begin));
    assert!(
        has("line 3: imsi 001010000000001: imsi: there is one already"),
        "{told:#?}"
    );
    assert!(
        has("line 4: imsi 12345: imsi: got '12345'; expected 6 to 15 digits"),
        "{told:#?}"
    );
    assert!(
        has("line 5: imsi 001010000000012: slices[0].networks[0].dnn: got 'a b'"),
        "{told:#?}"
    );
    assert!(
        has("line 6: imsi 001010000000010: imsi: a second time; first in line 2"),
        "{told:#?}"
    );
    assert!(
        has("line 8: imsi 001010000000014: k: 2 characters"),
        "{told:#?}"
    );
    assert_eq!(all(&store), before);
}

#[test]
pub fn addresses_are_had_once_and_may_change_places() {
    let (_place, mut store) = Place::new();
    let row = |number, address: &str| {
        format!(
            "{},{},{},1,internet,{address}\n",
            imsi(number),
            k(number),
            opc(number)
        )
    };
    let header = "imsi,k,opc,slice,dnn,ipv4\n";
    let text = format!("{header}{}{}", row(1, "10.0.0.1"), row(2, "10.0.0.2"));
    import(&mut store, &text, Format::Csv).unwrap();
    let text = format!("{header}{}{}", row(3, "10.0.0.3"), row(4, "10.0.0.1"));
    let found = problems(import(&mut store, &text, Format::Csv));
    let told = found.told[0].to_string();
    assert!(
        told.starts_with(
            "line 3: imsi 001010000000004: ipv4: 10.0.0.1 in internet is that of imsi"
        ),
        "{told}"
    );
    assert_eq!(store.number().unwrap(), 2);
    let text = format!("{header}{}{}", row(1, "10.0.0.2"), row(2, "10.0.0.1"));
    assert_eq!(replace(&mut store, &text).unwrap(), (0, 2));
    let one = store.get(&supi(1)).unwrap().unwrap();
    assert_eq!(
        one.profile.slices[0].networks[0].ipv4.unwrap().to_string(),
        "10.0.0.2"
    );
}

#[test]
pub fn who_is_replaced_keeps_its_sequence_numbers_unless_its_keys_are_others() {
    let (_place, mut store) = Place::new();
    import(&mut store, &table(2), Format::Csv).unwrap();
    let state = SqnState {
        last: Sqn::new(500 << 5),
        difference_s: -5,
    };
    store
        .store_sqns(&[(supi(0), state), (supi(1), state)])
        .unwrap();
    let text = format!(
        "imsi,k,opc\n{},{},{}\n{},{},{}\n",
        imsi(0),
        k(0),
        opc(0),
        imsi(1),
        k(7),
        opc(7)
    );
    assert_eq!(replace(&mut store, &text).unwrap(), (0, 2));
    let sqn = |number| store.get(&supi(number)).unwrap().unwrap().sqn;
    assert_eq!(sqn(0), state);
    assert_eq!(sqn(1), SqnState::new(Sqn::default(), NOW_S));
}

#[test]
pub fn keys_leave_only_if_they_are_asked_for() {
    let (_place, mut store) = Place::new();
    import(&mut store, &table(5), Format::Csv).unwrap();
    for format in [Format::Csv, Format::Json] {
        let (without, with) = (
            exported(&store, format, false),
            exported(&store, format, true),
        );
        for number in 0..5 {
            for key in [k(number), opc(number)] {
                assert!(!contains(without.as_bytes(), key.as_bytes()));
                assert!(contains(with.as_bytes(), key.as_bytes()));
            }
        }
        // What has no keys does not come in as if it had some.
        let (_other, mut copy) = Place::new();
        let found = problems(import(&mut copy, &without, format));
        assert_eq!(
            found.number,
            5 * if found.told[0].field == "k" { 1 } else { 2 },
            "{found}"
        );
    }
}

fn network() -> impl Strategy<Value = Network> {
    let types = prop::sample::select(vec![
        ([true, false, false], 1),
        ([false, true, false], 2),
        ([true, true, true], 3),
        ([true, true, true], 1),
        ([false, true, true], 3),
        ([true, true, false], 2),
    ]);
    let rates = (1_000..=4_000_000_000_000u64, 1_000..=4_000_000_000_000u64);
    let five_qi = prop::sample::select(vec![5u8, 6, 7, 8, 9, 69, 70, 79, 80, 128, 255]);
    (types, rates, five_qi, 1..=15u8, any::<u16>()).prop_map(
        |((types, default_type), ambr_bps, five_qi, arp, flags)| Network {
            dnn: Dnn::NONE,
            types,
            default_type,
            ambr_bps,
            five_qi,
            arp,
            ipv4: (flags & 1 != 0 && (types[0] || types[2])).then_some([10, 0, 0, 0].into()),
            ipv6_prefix: (flags & 2 != 0 && (types[1] || types[2])).then_some([0x20; 8]),
            up_security: (flags & 4 != 0).then_some(UpSecurity {
                integrity: UpProtection::ALL[usize::from(flags >> 3) % 3],
                confidentiality: UpProtection::ALL[usize::from(flags >> 8) % 3],
            }),
        },
    )
}

fn profile() -> impl Strategy<Value = Profile> {
    let slice = (
        any::<u8>(),
        any::<Option<[u8; 3]>>(),
        any::<bool>(),
        prop::collection::vec(network(), 0..4),
    );
    let rates = (1_000..=4_000_000_000_000u64, 1_000..=4_000_000_000_000u64);
    (any::<bool>(), rates, prop::collection::vec(slice, 1..5)).prop_map(
        |(barred, ambr_bps, slices)| {
            let mut profile = Profile {
                barred,
                ambr_bps,
                slices: Vec::new(),
            };
            for (sst, sd, is_default, mut networks) in slices {
                let snssai = Snssai::new(sst, sd);
                if profile.slices.iter().any(|one| one.snssai == snssai) {
                    continue;
                }
                for (at, network) in networks.iter_mut().enumerate() {
                    network.dnn = Dnn::new(&format!("net-{at}.example")).unwrap();
                }
                profile.slices.push(Slice {
                    snssai,
                    is_default,
                    networks,
                });
            }
            profile.slices[0].is_default = true;
            profile
        },
    )
}

/// Of either algorithm, key length and method.
fn credentials(k: [u8; 16], opc: [u8; 16], choice: u64) -> Credentials {
    let method = match choice & 1 {
        0 => Method::FiveGAka,
        _ => Method::EapAkaPrime,
    };
    let topc = Topc::new([opc, k].concat().try_into().unwrap());
    let tuak = |k: &[u8]| Credentials::tuak(TuakKey::new(k).unwrap(), topc.clone());
    let credentials = match choice >> 1 & 3 {
        0 => tuak(&k),
        1 => tuak(&[k, opc].concat()),
        _ => Credentials::milenage(K::new(k), Opc::new(opc)),
    };
    credentials.by(method)
}

/// Subscribers whose addresses differ.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let one = (
        any::<[u8; 16]>(),
        any::<[u8; 16]>(),
        0..1u64 << 48,
        profile(),
    );
    prop::collection::btree_map("[0-9]{6,15}", one, 0..8).prop_map(|all| {
        let mut address = 0u32;
        let of = |(imsi, (k, opc, sqn, mut profile)): (String, (_, _, _, Profile))| {
            for network in profile
                .slices
                .iter_mut()
                .flat_map(|slice| &mut slice.networks)
            {
                address += 1;
                let [_, a, b, c] = address.to_be_bytes();
                network.ipv4 = network.ipv4.map(|_| [10, a, b, c].into());
                network.ipv6_prefix = network
                    .ipv6_prefix
                    .map(|_| [0x20, 1, 0xd, 0xb8, 0, a, b, c]);
            }
            Record {
                supi: Supi::from_imsi(&imsi).unwrap(),
                credentials: credentials(k, opc, sqn),
                sqn: SqnState::new(Sqn::new(sqn), NOW_S),
                profile,
            }
        };
        all.into_iter().map(of).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_goes_out_comes_back_the_same(records in records(), first in any::<bool>()) {
        let (one, other) = match first {
            true => (Format::Csv, Format::Json),
            false => (Format::Json, Format::Csv),
        };
        let views: Vec<_> = records
            .iter()
            .map(|record| sluice_subscribers::json::view(record, true, NOW_S))
            .collect();
        let text = serde_json::to_string_pretty(&views).unwrap();
        let (_place, mut store) = Place::new();
        import(&mut store, &text, Format::Json).unwrap();
        prop_assert_eq!(&all(&store), &records);
        for format in [one, other] {
            let text = exported(&store, format, true);
            let (_other, mut copy) = Place::new();
            import(&mut copy, &text, format).unwrap();
            prop_assert_eq!(&all(&copy), &records);
            prop_assert_eq!(exported(&copy, format, true), text);
        }
    }
}
