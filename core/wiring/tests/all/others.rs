//! A gNB and a UE of others: octets that PacketRusher sent.

use sluice_amf::{Amf, Config};
use sluice_ids::{AmfId, Guami, Plmn, Tac, Tai};
use sluice_n1::Downlink;
use sluice_n2::{DownlinkNasTransport, FromAmf, PlmnSlices};
use sluice_sbi::Now;

use crate::world::{GNB, sequence, slice};

const SETUP: &str = "0015003a000004001b00080002f839100000080052400e05805061636b6574527573686572\
    0066001000000000010002f839000010080102030015400140";

fn octets(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(pair).collect()
}

/// A core for 208-93, with the slice that others offer.
fn world() -> sluice_wiring::Core {
    let plmn = Plmn::new("208", "93").expect("digits");
    let guami = Guami {
        plmn,
        amf: AmfId::new(2, 1, 0).expect("small"),
    };
    let slices = vec![sluice_ids::Snssai::new(1, Some([1, 2, 3])), slice(1)];
    let plmns = vec![PlmnSlices { plmn, slices }];
    let config = Config::new(
        guami,
        plmns,
        vec![Tai {
            plmn,
            tac: Tac([0, 0, 1]),
        }],
    );
    let mut core = crate::world::core(config.clone(), true);
    let subscriber = sluice_udr::Subscriber {
        credentials: sluice_security::Credentials::milenage(crate::world::k(), crate::world::opc()),
        sqn: sluice_security::Sqn::default(),
        ambr_bps: (1, 1),
        slices: vec![(slice(1), true)],
        networks: Vec::new(),
    };
    for number in ["208930000000001", "208930000000120"] {
        let supi = sluice_ids::Supi::from_imsi(number).expect("digits");
        assert!(
            core.udr_mut()
                .expect("its own")
                .insert(supi, subscriber.clone())
        );
    }
    assert!(Amf::new(config, Box::new(sequence(1))).is_ok());
    core
}

#[test]
fn a_gnb_of_others_is_set_up_and_its_phone_is_challenged() {
    let (mut core, now) = (world(), Now::default());
    core.n2(now, GNB, 0, &octets(SETUP));
    let answers = core.take_to_ran();
    assert_eq!(answers.len(), 1);
    let Ok(FromAmf::NgSetupResponse(response)) = FromAmf::decode(&answers[0].octets) else {
        panic!("{}", core.take_call_flow());
    };
    assert_eq!(response.plmns[0].slices.len(), 2);
    let nas = octets("7e004179000d0102f8390000000000000010022e08a020000000000000");
    let plmn = Plmn::new("208", "93").expect("digits");
    let location = sluice_n2::Location {
        plmn,
        cell: sluice_ids::NrCellIdentity([0x10, 0, 0, 8, 0]),
        tai: Tai {
            plmn,
            tac: Tac([0, 0, 1]),
        },
    };
    let message = sluice_n2::InitialUeMessage {
        ran: sluice_n2::RanUeId(1),
        nas,
        location,
        establishment_cause: 3,
        s_tmsi: None,
        context_requested: true,
    };
    core.n2(
        now,
        GNB,
        1,
        &sluice_n2::FromRan::InitialUeMessage(message).encode(),
    );
    sluice_testbed::apart::exchange(&mut core, now);
    let answers = core.take_to_ran();
    let Ok(FromAmf::DownlinkNasTransport(DownlinkNasTransport { nas, .. })) =
        FromAmf::decode(&answers[0].octets)
    else {
        panic!("{}", core.take_call_flow());
    };
    assert!(matches!(
        Downlink::decode(&nas),
        Ok(Downlink::AuthenticationRequest(_))
    ));
    assert!(answers[0].stream > 0, "not the gNB's own stream");
}
