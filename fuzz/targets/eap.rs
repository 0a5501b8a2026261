//! EAP-AKA': packets one after the other, as both of its ends take them.

use sluice_ids::{Plmn, ServingNetworkName, Supi};
use sluice_security::eap::{LONGEST, Peer, Reply, Server, Verdict};
use sluice_security::{Credentials, K, Opc, Sqn, Subscriber, Usim};

/// Both ends, the home network that the server is of, and who they agree on.
pub(crate) struct Ends {
    pub server: Server,
    peer: Peer,
    usim: Usim,
    home: Subscriber,
    network: ServingNetworkName,
    supi: Supi,
}

impl Ends {
    /// The same each time; none if a constant of these makes no sense.
    pub fn new() -> Option<Self> {
        let network = Plmn::new("001", "01")?.serving_network_name();
        let supi = Supi::from_imsi("001010000000001")?;
        let credentials = Credentials::milenage(K::new([0x46; 16]), Opc::new([0xcd; 16]));
        let home = Subscriber::new(&credentials);
        let challenge = home.prime_challenge([0x23; 16], Sqn::new(7 << 5), &network);
        Some(Self {
            server: Server::new(1, &supi, &network, &challenge),
            peer: Peer::default(),
            usim: Usim::new(&credentials),
            home,
            network,
            supi,
        })
    }

    /// What the UE answers.
    pub fn respond(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        let reply = self
            .peer
            .receive(&mut self.usim, &self.supi, &self.network, packet);
        match reply {
            Reply::Respond(response) => Some(response),
            Reply::Success(_) | Reply::Failure | Reply::Nothing => None,
        }
    }
}

/// Takes packets, each with its length before it in one octet. Neither end believes the other but for the
/// one challenge, and the one answer to that, which are genuine.
pub fn eap_parse(data: &[u8]) {
    let (Some(mut ends), Some(mut genuine)) = (Ends::new(), Ends::new()) else {
        panic!("constants make sense");
    };
    let challenge = genuine.server.request().to_vec();
    let answer = genuine.respond(&challenge);
    let mut is_challenged = false;
    let mut rest = data;
    while let Some((length, after)) = rest.split_first() {
        let (packet, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        match ends.server.receive(packet) {
            Verdict::Ask(request) => assert!(request.len() <= LONGEST),
            Verdict::Success(..) => assert_eq!(Some(packet), answer.as_deref()),
            Verdict::Synchronise(rand, auts) => {
                assert_eq!(ends.home.resynchronise(rand, &auts), None);
            }
            Verdict::Failure(eap) => assert_eq!(eap.len(), 4),
        }
        is_challenged |= packet == challenge;
        if let Some(response) = ends.respond(packet) {
            assert!(response.len() <= LONGEST);
        }
        assert!(is_challenged || ends.peer.kausf().is_none());
    }
}
