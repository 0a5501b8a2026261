//! Limit of a registration: the crypto that the TS asks of the network, and the codecs of its messages,
//! with nothing around them.

use std::hint::black_box;

use sluice_host::clock;
use sluice_n1::Downlink;
use sluice_n2::{DownlinkNasTransport, FromAmf, FromRan};
use sluice_security::suci;
use sluice_security::{
    Ciphering, Direction, Integrity, NasCount, NasKeys, Sqn, Subscriber, access_key, hxres_star,
    kamf, kseaf,
};
use sluice_testbed::core as testbed;

use super::virtual_core::Identity;

/// Protected messages of a registration that the network writes or reads.
const PROTECTED: usize = 5;
/// Octets of such a message.
const OCTETS: usize = 64;

/// CPU of one registration's crypto, in nanoseconds.
pub fn crypto_ns(identity: Identity, rounds: u32) -> Option<f64> {
    let (plmn, supi, home) = (testbed::plmn(), testbed::supi(1), testbed::home_key_a());
    let network = plmn.serving_network_name();
    let concealed = suci::conceal(plmn, &testbed::msin(1), 1, &home.public(), [5; 32])?;
    let before = clock::thread_cpu_ns();
    for round in 0..rounds {
        let round = black_box(round);
        let keys = if identity == Identity::Guti {
            // The keys are there; the first message is verified with them.
            black_box(kamf(&sluice_security::Kseaf::new([1; 32]), &supi, &[0, 0]))?
        } else {
            if identity == Identity::ProfileA {
                let found = suci::deconceal(&concealed, |id| (id == 1).then_some(&home));
                black_box(found.is_ok());
            }
            let subscriber = Subscriber::new(&testbed::credentials());
            let rand = [round as u8; 16];
            let challenge = subscriber.challenge(rand, Sqn::new(u64::from(round)), &network);
            black_box(hxres_star(rand, &challenge.xres_star));
            let kseaf = kseaf(&challenge.kausf, &network);
            kamf(&kseaf, &supi, &[0, 0])?
        };
        let nas = NasKeys::new(&keys, Ciphering::Nea2, Integrity::Nia2);
        let mut octets = [round as u8; OCTETS];
        for _ in 0..PROTECTED {
            nas.cipher(NasCount::default(), Direction::Downlink, &mut octets);
            black_box(nas.mac(NasCount::default(), Direction::Downlink, &octets));
        }
        black_box(access_key(&keys, NasCount::default()));
    }
    Some((clock::thread_cpu_ns() - before) as f64 / f64::from(rounds))
}

/// CPU of reading and writing these NGAP messages, in nanoseconds: those of gNBs are read, those of the
/// AMF written, with the plain NAS messages inside of the latter.
pub fn codec_ns(from_ran: &[Vec<u8>], from_amf: &[FromAmf], rounds: u32) -> f64 {
    let before = clock::thread_cpu_ns();
    for _ in 0..rounds {
        for octets in from_ran {
            black_box(FromRan::decode(black_box(octets)).is_ok());
        }
        for message in from_amf {
            black_box(black_box(message).encode());
            if let FromAmf::DownlinkNasTransport(DownlinkNasTransport { nas, .. }) = message {
                black_box(Downlink::decode(nas).is_ok());
            }
        }
    }
    (clock::thread_cpu_ns() - before) as f64 / f64::from(rounds.max(1))
}
