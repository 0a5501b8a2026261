//! gNBs that set up NG again elsewhere, and NGAP that breaks the rules: what gNB and operators hear.

use std::net::IpAddr;

use sluice_amf::Bounds;
use sluice_n2::{
    Cause, ErrorIndication, FromAmf, FromRan, HandoverFromAmf, RanConfigurationUpdate,
    UeContextReleaseCommand, UeContextReleaseRequest, UplinkNasTransport,
};
use sluice_sbi::{AssociationId, Refused};
use sluice_ue::Gnb;

use crate::world::{GNB, TestNetwork, config, core, setup, slice, tai};

const OTHER: AssociationId = AssociationId(GNB.0 + 1);

/// One UE, connected.
fn connected() -> TestNetwork {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    world.core.take_refused();
    world
}

/// What the gNB is told over the other association.
fn answers(world: &mut TestNetwork) -> Vec<FromAmf> {
    world.run();
    let sent = std::mem::take(&mut world.elsewhere);
    let there = sent.iter().filter(|one| one.association == OTHER);
    there
        .map(|one| FromAmf::decode(&one.octets).expect("a message"))
        .collect()
}

/// No text for operators shows how the program calls a thing: `Misc(4)`, `Tai { plmn`, `a::b`.
#[track_caller]
pub fn assert_in_words(refused: &Refused) {
    let text = refused.to_string();
    assert!(!text.contains(['{', '}', '[', ']']), "{text}");
    assert!(!text.contains("::") && !text.contains('_'), "{text}");
    for (at, _) in text.match_indices('(') {
        let before = text[..at].chars().next_back();
        assert!(before.is_none_or(|one| !one.is_alphanumeric()), "{text}");
    }
}

/// TS 38.413, 8.7.1.1; open5gs PR 3692: NG Setup erases what both have of the gNB's UEs, over whichever association.
#[test]
fn a_gnb_that_sets_up_ng_over_another_association_is_there_once() {
    let mut world = connected();
    let at = world.ues[0].at.expect("connected");
    let before = world.gnb.uplink(at, vec![0x7e, 0, 0x43]).expect("known");
    world.core.n2(world.now, OTHER, 0, &world.gnb.setup());
    assert!(matches!(
        answers(&mut world)[..],
        [FromAmf::NgSetupResponse(_)]
    ));
    let amf = world.amf();
    assert_eq!((amf.connected(), amf.registered()), (0, 1));
    let there: Vec<_> = amf.gnbs().iter().map(|gnb| gnb.association).collect();
    assert_eq!(there, [OTHER]);
    let call_flow = world.call_flow.to_string();
    assert!(
        call_flow.contains("gNB 001-01 000001/24 (gnb-1) has set up NG again"),
        "{call_flow}"
    );
    // What all gNBs hear goes the new way alone, and nothing is served by the old one.
    let now = world.now;
    assert_eq!(world.core.mobility().update_gnbs(now), 1);
    assert!(matches!(
        answers(&mut world)[..],
        [FromAmf::AmfConfigurationUpdate(_)]
    ));
    world.tell_amf(&before);
    world.run();
    assert_eq!(world.gnb.indications(), [Cause::NOT_COMPATIBLE_WITH_STATE]);
    // The end of the old association is nobody's.
    world.core.association_lost(now, GNB);
    assert_eq!(world.amf().gnbs().len(), 1);
}

#[test]
fn a_setup_that_is_refused_leaves_the_gnb_of_before() {
    let mut world = connected();
    let refused = Gnb::new(setup(tai(), &[slice(7)]), tai()).setup();
    world.core.n2(world.now, OTHER, 0, &refused);
    assert!(matches!(
        answers(&mut world)[..],
        [FromAmf::NgSetupFailure(_)]
    ));
    assert_eq!(world.amf().connected(), 1);
    let refusals = world.core.take_refused();
    refusals.iter().for_each(assert_in_words);
    assert_eq!(refusals[0].cause, "radio network: slice not supported");
}

/// An Uplink NAS Transport without NAS-PDU, of a UE that is there, and one of a UE that is not.
#[test]
fn ngap_that_breaks_the_rules_is_told_to_operators_with_gnb_procedure_and_ie() {
    let mut world = connected();
    let at = world.ues[0].at.expect("connected");
    let amf = world.gnb.amf_id(at).expect("known").0 as u8;
    let broken = [
        &[0, 46, 0x40, 15, 0, 0, 2, 0, 10, 0, 2, 0, amf][..],
        &[0, 85, 0, 2, 0, at.0 as u8],
    ]
    .concat();
    world.call_flow.0.clear();
    world.tell_amf(&broken);
    world.run();
    assert_eq!(world.gnb.indications(), [Cause::ABSTRACT_SYNTAX_REJECT]);
    let refusals = world.core.take_refused();
    let [told] = &refusals[..] else {
        panic!("{refusals:?}");
    };
    assert_eq!(told.who, "gNB 001-01 000001/24 (gnb-1)");
    assert_eq!(told.request, "Uplink NAS Transport");
    assert_eq!(told.supi, world.ue(0).supi());
    assert!(told.why.contains("NAS"), "{told}");
    assert!(told.why.contains("is missing"), "{told}");
    assert_in_words(told);
    let flow = world.call_flow.to_string();
    assert!(flow.contains("Uplink NAS Transport refused"), "{flow}");
    // Names of nobody.
    let stray = FromRan::UplinkNasTransport(UplinkNasTransport {
        ids: (sluice_n2::AmfUeId(0xff_0000), at),
        nas: vec![0x7e],
        location: None,
    });
    world.tell_amf(&stray.encode());
    world.run();
    let refusals = world.core.take_refused();
    assert_eq!(refusals.len(), 1);
    assert_eq!(refusals[0].cause, "radio network: unknown local UE NGAP ID");
    assert_in_words(&refusals[0]);
}

/// TP_NGAP_AMF_CMP_03: the release has the cause that the gNB asks for it with.
#[test]
fn a_release_has_the_cause_of_its_request() {
    let causes = [
        Cause::USER_INACTIVITY,
        Cause::RadioNetwork(0),
        Cause::RadioNetwork(3),
        Cause::RadioNetwork(11),
        Cause::RADIO_RESOURCES_NOT_AVAILABLE,
        Cause::RADIO_LOST,
    ];
    for cause in causes {
        let mut world = connected();
        let at = world.ues[0].at.expect("connected");
        let ids = (world.gnb.amf_id(at).expect("known"), at);
        let request = FromRan::UeContextReleaseRequest(UeContextReleaseRequest { ids, cause });
        world.transcript.clear();
        world.tell_amf(&request.encode());
        world.run();
        let commands =
            world
                .transcript
                .iter()
                .filter_map(|octets| match FromAmf::decode(octets).ok()? {
                    FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
                        ue: (amf, ran),
                        cause,
                    }) => Some((amf, ran, cause)),
                    _ => None,
                });
        let commands: Vec<_> = commands.collect();
        assert_eq!(commands, [(ids.0, Some(ids.1), cause)], "{cause}");
        let amf = world.amf();
        assert_eq!((amf.connected(), amf.registered()), (0, 1), "{cause}");
    }
}

/// Ella ngap/configuration_update: the name alone.
#[test]
fn an_update_of_a_gnbs_name_alone_is_acknowledged() {
    let mut world = connected();
    let update = FromRan::RanConfigurationUpdate(RanConfigurationUpdate {
        name: Some("renamed".to_owned()),
        areas: None,
    });
    world.transcript.clear();
    world.tell_amf(&update.encode());
    world.run();
    let last = world.transcript.last().expect("an answer");
    let acknowledge = FromAmf::RanConfigurationUpdateAcknowledge;
    assert_eq!(FromAmf::decode(last), Ok(acknowledge));
    let gnbs = world.amf().gnbs();
    assert_eq!(gnbs[0].name.as_deref(), Some("renamed"));
    assert_eq!(gnbs[0].areas, setup(tai(), &[slice(1), slice(2)]).areas);
    assert_eq!(world.amf().connected(), 1);
}

/// The bound of strangers of a gNB is that of its address: associations are cheap.
#[test]
fn associations_of_one_address_have_one_bound_of_strangers() {
    for is_one in [true, false] {
        let mut config = config();
        config.unauthenticated = Bounds {
            of_gnb: 2,
            in_all: 100,
        };
        let mut world = TestNetwork::of(core(config, true), &[]);
        for number in 0..4_u32 {
            let at = AssociationId(20 + number);
            let last = if is_one { 1 } else { number as u8 };
            let address = IpAddr::from([192, 0, 2, last]);
            world.core.mobility().association_up(at, address);
            let mut setup = setup(tai(), &[slice(1)]);
            setup.gnb.id = number;
            let mut gnb = Gnb::new(setup, tai());
            let mut stranger = crate::world::ue(1 + number % 3);
            let nas = stranger.register(sluice_n1::RegistrationKind::Initial);
            let (now, octets) = (world.now, gnb.setup());
            world.core.n2(now, at, 0, &octets);
            let (_, octets) = gnb.connect(nas, None);
            world.core.n2(now, at, 0, &octets);
        }
        let expected = if is_one { 2 } else { 4 };
        assert_eq!(world.amf().unauthenticated(), expected);
        let shed = world.amf().counters().shed_of_gnb;
        assert_eq!(shed, 4 - expected as u64);
    }
}

/// A Path Switch Request that cannot be read names all its sessions in the Failure; one that names an unknown UE is
/// answered by Error Indication, and no UE is touched.
#[test]
fn a_path_switch_that_is_wrong_touches_no_ue() {
    let mut world = connected();
    let request = sluice_n2::PathSwitchRequest {
        ran: sluice_n2::RanUeId(9),
        source: sluice_n2::AmfUeId(0xff_0000),
        location: None,
        capability: [0; 4],
        switched: vec![(1, vec![0])],
        failed: Vec::new(),
    };
    let message = sluice_n2::HandoverFromRan::PathSwitchRequest(Box::new(request));
    world.core.n2(world.now, OTHER, 0, &{
        let mut setup = setup(tai(), &[slice(1)]);
        setup.gnb.id = 2;
        Gnb::new(setup, tai()).setup()
    });
    answers(&mut world);
    let octets = FromRan::Handover(message).encode();
    world.core.n2(world.now, OTHER, 0, &octets);
    let told = answers(&mut world);
    assert!(
        matches!(
            told[..],
            [FromAmf::ErrorIndication(ErrorIndication {
                cause: Some(Cause::UNKNOWN_LOCAL_ID),
                ..
            })]
        ),
        "{told:?}"
    );
    // Each octet of its IEs' lengths is wrong in turn: it is answered in any case.
    for at in 4..octets.len() {
        let mut broken = octets.clone();
        broken[at] ^= 0xff;
        world.core.n2(world.now, OTHER, 0, &broken);
        for answer in answers(&mut world) {
            let is_fit = matches!(
                answer,
                FromAmf::ErrorIndication(_)
                    | FromAmf::Handover(HandoverFromAmf::PathSwitchRequestFailure(_))
            );
            assert!(is_fit, "{at}: {answer:?}");
        }
    }
    assert_eq!(world.amf().connected(), 1);
}
