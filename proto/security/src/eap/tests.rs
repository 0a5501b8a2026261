use proptest::prelude::*;
use sluice_ids::{Plmn, ServingNetworkName, Supi};

use super::keys::material;
use super::packet::{AT_KDF, AT_KDF_INPUT, AT_RAND, Subtype, Writer};
use super::*;
use crate::aka::prime_keys;
use crate::credentials::{Credentials, TuakKey};
use crate::key::tests::{array, octets};
use crate::key::{K, Opc, Topc};
use crate::{Sqn, Subscriber, Usim};

/// Cases 1 to 4 of RFC 9048, Appendix D (and RFC 5448, Appendix C), all of the identity
/// "0555444333222111": network, AUTN, CK, IK, CK' with IK', and K_encr to EMSK.
const CASES: [[&str; 6]; 4] = [
    [
        "WLAN",
        "bb52e91c747ac3ab2a5c23d15ee351d5",
        "5349fbe098649f948f5d2e973a81c00f",
        "9744871ad32bf9bbd1dd5ce54e3e2e5a",
        "0093962d0dd84aa5684b045c9edffa04ccfc230ca74fcc96c0a5d61164f5a76c",
        "766fa0a6c317174b812d52fbcd11a1790842ea722ff6835bfa2032499fc3ec23\
         c2f0e388b4f07543ffc677f1696d71eacf83aa8bc7e0aced892acc98e76a9b20\
         95b558c7795c7094715cb3393aa7d17a67c42d9aa56c1b79e295e3459fc3d187\
         d42be0bf818d3070e362c5e967a4d544e8ecfe19358ab3039aff03b7c930588c\
         055babee58a02650b067ec4e9347c75af861703cd775590e16c7679ea3874ada\
         866311de290764d760cf76df647ea01c313f69924bdd7650ca9bac141ea075c4\
         ef9e8029c0e290cdbad5638b63bc23fb",
    ],
    [
        "HRPD",
        "bb52e91c747ac3ab2a5c23d15ee351d5",
        "5349fbe098649f948f5d2e973a81c00f",
        "9744871ad32bf9bbd1dd5ce54e3e2e5a",
        "3820f0277fa5f77732b1fb1d90c1a0dadb94a0ab557ef6c9ab48619ca05b9a9f",
        "05ad73ac915fce89ac77e1520d82187b5b4acaef62c6ebb8882b2f3d534c4b35\
         277337a00184f20ff25d224c04be2afd3f90bf5c6e5ef325ff04eb5ef6539fa8\
         cca8398194fbd00be425b3f40dba10ac87b321570117cd6c95ab6c436fb5073f\
         f15cf85505d2bc5bb7355fc21ea8a75757e8f86a2b138002e05752913bb43b82\
         f868a96117e91a2d95f526677d572900c891d5f20f148a1007553e2dea555c9c\
         b672e9675f4a66b4bafa027379f93aee539a5979d0a0042b9d2ae28bed3b17a3\
         1dc8ab75072b80bd0c1da612466e402c",
    ],
    [
        "WLAN",
        "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0",
        "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0",
        "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0",
        "cd4c8e5c68f57dd1d7d7dfd0c538e5773ece6b705dbbf7dfc459a11280c65524",
        "897d302fa2847416488c28e20dcb7be4c40700e7722483ae3dc7139eb0b88bb5\
         58cb3081eccd057f9207d1286ee7dd530a591a22dd8b5b1cf29e3d508c91dbbd\
         b4aee23051892c42b6a2de66ea5044739f7dca9e37bb22029ed986e7cd09d4a7\
         0d1ac76d95535c5cac40a7504699bb8961a29ef6f3e90f183de5861ad1bedc81\
         ce9916391b401aa006c98785a5756df7724de00bdb9e568187be3fe746114557\
         d5018779537ee37f4d3c6c738cb97b9dc651bc19bfadc344ffe2b52ca78bd831\
         6b51dacc5f2b1440cb9515521cc7ba23",
    ],
    [
        "HRPD",
        "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0",
        "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0",
        "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0",
        "8310a71ce6f754889613da8f64d5fb465adf14360ae838192db23f6fcb7f8c76",
        "745e7439ba238f50fcac4d15d47cd1d93e1d2aa4e677025cfd862a4be18361a1\
         3a645765571463df833a9759e809987999da835e2ae82462576fe6516fad1f80\
         2f0fa1191655dd0a273da96d04e0fcd3c6d3a6e0ceea951eb20d74f32c3061d0\
         680a04b0b086ee8700ace3e0b95fa02683c287beee44432294ff98af26d2cc78\
         3bace75c4b0af7fdfeb5511ba8e4cbd07fb56813838adafa99d140c2f198f6da\
         cebfb6afee444961105402b508c7f363352cb2919644b50463e6a69354150147\
         ae09cbc54b8a651d8787a6893ed8536d",
    ],
];

#[test]
fn keys_are_those_of_rfc_9048() {
    for [network, autn, ck, ik, prime, expected] in CASES {
        let (ck, ik, autn) = (array(ck), array(ik), array(autn));
        let keys = prime_keys(&ck, &ik, network.as_bytes(), &autn);
        assert_eq!(*keys, array(prime));
        assert_eq!(
            material(&keys, b"0555444333222111").to_vec(),
            octets(expected)
        );
    }
}

fn network() -> ServingNetworkName {
    Plmn::new("001", "01")
        .expect("digits")
        .serving_network_name()
}

fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("digits")
}

fn milenage() -> Credentials {
    Credentials::milenage(K::new([0x46; 16]), Opc::new([0xcd; 16]))
}

fn tuak() -> Credentials {
    let k = TuakKey::new(&[7; 32]).expect("256 bits");
    let topc = Topc::from_top(&k, &[9; 32]);
    Credentials::tuak(k, topc)
}

/// Both ends, and the challenge of the first.
struct Ends {
    server: Server,
    peer: Peer,
    usim: Usim,
}

impl Ends {
    fn new(credentials: &Credentials) -> Self {
        let home = Subscriber::new(credentials);
        let challenge = home.prime_challenge([0x23; 16], Sqn::default().next(7), &network());
        Self {
            server: Server::new(255, &supi(), &network(), &challenge),
            peer: Peer::default(),
            usim: Usim::new(credentials),
        }
    }

    /// Response of the UE.
    fn respond(&mut self, request: &[u8]) -> Vec<u8> {
        match self
            .peer
            .receive(&mut self.usim, &supi(), &network(), request)
        {
            Reply::Respond(response) => response,
            other => panic!("{other:?}"),
        }
    }

    /// Response of the UE to the challenge.
    fn answer(&mut self) -> Vec<u8> {
        let request = self.server.request().to_vec();
        self.respond(&request)
    }

    fn end(&mut self, packet: &[u8]) -> Reply {
        self.peer
            .receive(&mut self.usim, &supi(), &network(), packet)
    }
}

/// The subtype of a packet.
fn subtype(packet: &[u8]) -> u8 {
    packet[5]
}

#[test]
fn both_ends_agree_on_a_key_with_either_algorithm() {
    for credentials in [milenage(), tuak()] {
        let mut ends = Ends::new(&credentials);
        let response = ends.answer();
        let Verdict::Success(eap, kausf) = ends.server.receive(&response) else {
            panic!("not that UE");
        };
        assert_eq!(eap, [3, 255, 0, 4]);
        assert_eq!(ends.peer.kausf(), Some(&kausf));
        assert_eq!(ends.end(&eap), Reply::Success(Some(kausf)));
    }
}

#[test]
fn a_request_that_comes_again_is_answered_alike() {
    let mut ends = Ends::new(&milenage());
    let first = ends.answer();
    // The SIM would refuse the sequence number now.
    assert_eq!(ends.answer(), first);
    assert!(matches!(ends.server.receive(&first), Verdict::Success(..)));
}

#[test]
fn a_wrong_answer_ends_in_failure_after_a_notification() {
    for changed in [20, 8, 30] {
        let mut ends = Ends::new(&milenage());
        let mut response = ends.answer();
        // MAC, AT_RES' kind, and the MAC again.
        response[changed] ^= 1;
        let Verdict::Ask(notification) = ends.server.receive(&response) else {
            panic!("octet {changed}");
        };
        assert_eq!((notification[1], subtype(&notification)), (0, 12));
        let response = ends.respond(&notification);
        assert_eq!((response[0], subtype(&response)), (2, 12));
        assert_eq!(
            ends.server.receive(&response),
            Verdict::Failure(vec![4, 0, 0, 4])
        );
        assert_eq!(ends.end(&[4, 0, 0, 4]), Reply::Failure);
        assert_eq!(ends.peer.kausf(), None);
    }
}

#[test]
fn a_response_to_another_request_is_asked_for_again() {
    let mut ends = Ends::new(&milenage());
    let request = ends.server.request().to_vec();
    let mut response = ends.answer();
    response[1] = 254;
    assert_eq!(ends.server.receive(&response), Verdict::Ask(request));
    response[1] = 255;
    assert!(matches!(
        ends.server.receive(&response),
        Verdict::Success(..)
    ));
}

#[test]
fn a_sim_that_is_ahead_says_so_with_the_functions_that_were_offered() {
    let credentials = tuak();
    let mut ends = Ends::new(&credentials);
    ends.usim.advance(Sqn::new(1_000 << 5));
    let response = ends.answer();
    assert_eq!(subtype(&response), 4);
    // AT_AUTS of four words, AT_KDF of one.
    assert_eq!(response[8..10], [4, 4]);
    assert_eq!(response[24..], [24, 1, 0, 1]);
    let Verdict::Synchronise(rand, auts) = ends.server.receive(&response) else {
        panic!("no synchronisation");
    };
    let home = Subscriber::new(&credentials);
    let told = home.resynchronise(rand, &auts).expect("genuine");
    assert_eq!(told.sequence(), 1_000);
    let again = home.prime_challenge([5; 16], told.next(0), &network());
    ends.server = Server::new(ends.server.next_identifier(), &supi(), &network(), &again);
    let response = ends.answer();
    assert!(matches!(
        ends.server.receive(&response),
        Verdict::Success(..)
    ));
}

#[test]
fn a_peer_refuses_a_network_that_it_is_not_in_and_one_that_is_not_its_home() {
    // Another serving network: its name in AT_KDF_INPUT.
    let credentials = milenage();
    let home = Subscriber::new(&credentials);
    let elsewhere = Plmn::new("001", "02")
        .expect("digits")
        .serving_network_name();
    let challenge = home.prime_challenge([1; 16], Sqn::default().next(7), &elsewhere);
    let mut ends = Ends::new(&credentials);
    ends.server = Server::new(1, &supi(), &elsewhere, &challenge);
    let response = ends.answer();
    assert_eq!(subtype(&response), 2);
    assert_eq!(
        ends.server.receive(&response),
        Verdict::Failure(vec![4, 1, 0, 4])
    );
    // Another home network: the MAC in AUTN.
    let mut ends = Ends::new(&tuak());
    ends.usim = Usim::new(&milenage());
    let response = ends.answer();
    assert_eq!(subtype(&response), 2);
    assert!(matches!(
        ends.server.receive(&response),
        Verdict::Failure(_)
    ));
    // A wrong AT_MAC: Client-Error.
    let mut ends = Ends::new(&milenage());
    let mut request = ends.server.request().to_vec();
    let last = request.len() - 1;
    request[last] ^= 1;
    let response = ends.respond(&request);
    assert_eq!(subtype(&response), 14);
    assert!(matches!(
        ends.server.receive(&response),
        Verdict::Failure(_)
    ));
}

#[test]
fn another_function_is_declined_and_another_method_as_well() {
    let mut ends = Ends::new(&milenage());
    let name = network();
    let length = (name.octets().len() as u16).to_be_bytes();
    let offer = |kdfs: &[u8]| {
        let request = Writer::request(9, Subtype::Challenge)
            .put(AT_RAND, [0; 2], &[1; 16])
            .put(super::packet::AT_AUTN, [0; 2], &[1; 16])
            .put(AT_KDF_INPUT, length, name.octets());
        let put = |request: Writer, kdf: &u8| request.put(AT_KDF, [0, *kdf], &[]);
        kdfs.iter()
            .fold(request, put)
            .finish_with_mac(&Default::default())
    };
    // The one that it has is asked for, where it stands behind another.
    assert_eq!(
        ends.respond(&offer(&[2, 1])),
        [2, 9, 0, 12, 50, 1, 0, 0, 24, 1, 0, 1]
    );
    assert_eq!(subtype(&ends.respond(&offer(&[2]))), 2);
    assert_eq!(subtype(&ends.respond(&offer(&[]))), 2);
    // An identity request (type 1), and AKA'-Identity.
    assert_eq!(ends.respond(&[1, 3, 0, 5, 1]), [2, 3, 0, 6, 3, 50]);
    assert_eq!(subtype(&ends.respond(&[1, 4, 0, 8, 50, 5, 0, 0])), 14);
    // A server whose only function is declined fails.
    let identifier = ends.server.request()[1];
    let declined = [2, identifier, 0, 12, 50, 1, 0, 0, 24, 1, 0, 2];
    assert!(matches!(ends.server.receive(&declined), Verdict::Ask(_)));
    assert_eq!(subtype(ends.server.request()), 12);
}

#[test]
fn what_may_be_skipped_is_and_what_may_not_is_an_error() {
    for (kind, expected) in [(136, 2), (40, 14)] {
        let mut ends = Ends::new(&milenage());
        let request = Writer::request(1, Subtype::Challenge)
            .put(AT_RAND, [0; 2], &[1; 16])
            .put(super::packet::AT_AUTN, [0; 2], &[1; 16])
            .put(AT_KDF_INPUT, [0, 4], b"WLAN")
            .put(AT_KDF, [0, 1], &[])
            .put(kind, [0; 2], &[])
            .finish_with_mac(&Default::default());
        assert_eq!(subtype(&ends.respond(&request)), expected, "{kind}");
    }
}

proptest! {
    #[test]
    fn any_octets_are_survived_by_both_ends(
        head in proptest::collection::vec(any::<u8>(), 0..8),
        rest in proptest::collection::vec(any::<u8>(), 0..200),
        is_framed in any::<bool>(),
        subtype in prop_oneof![Just(1u8), Just(4), Just(12), any::<u8>()],
    ) {
        let mut ends = Ends::new(&milenage());
        let octets = match is_framed {
            false => [head, rest].concat(),
            true => {
                let length = (rest.len() as u16 + 8).to_be_bytes();
                [&[2, 255, length[0], length[1], 50, subtype, 0, 0][..], &rest].concat()
            }
        };
        prop_assert!(!matches!(ends.server.receive(&octets), Verdict::Success(..)));
        let mut request = octets;
        if let Some(code) = request.first_mut() {
            *code = 1;
        }
        ends.end(&request);
        prop_assert_eq!(ends.peer.kausf(), None);
    }
}
