//! A phone attaches.

mod between_amfs;

use sluice_ids::Plmn;
use sluice_n1::{RegistrationKind, RejectedIn};
use sluice_security::{Ciphering, Integrity};
use sluice_testbed::apart::{self, Wiring};
use sluice_ue::UeState;

use crate::world::{TestNetwork, plmn, slice, supi, tai};

/// TS 23.502, 4.2.2.2.2, with the steps of its figure.
const LADDER: &str = "\
1     UE   -> AMF   Registration Request
9a    AMF  -> AUSF  Nausf_UEAuthentication_Authenticate Request
9a    AUSF -> UDM   Nudm_UEAuthentication_Get Request
9a    UDM  -> UDR   Nudr_DM_Query and Update Request (sequence number)
9a    UDR  -> UDM   Nudr_DM Response (authentication subscription)
9a    UDM  -> AUSF  Nudm_UEAuthentication_Get Response
9a    AUSF -> AMF   Nausf_UEAuthentication_Authenticate Response
9b    AMF  -> UE    Authentication Request
9b    UE   -> AMF   Authentication Response
9c    AMF  -> AUSF  Nausf_UEAuthentication_Authenticate Request (confirmation)
9d    AUSF -> UDM   Nudm_UEAuthentication_ResultConfirmation Request
9d    UDM  -> UDR   Nudr_DM_Update Request (authentication status)
9d    UDR  -> UDM   Response
9d    UDM  -> AUSF  Response
9c    AUSF -> AMF   Nausf_UEAuthentication_Authenticate Response (success)
9d    AMF  -> UE    Security Mode Command
9d    UE   -> AMF   Security Mode Complete
14a   AMF  -> UDM   Nudm_UECM_Registration Request
14a   UDM  -> UDR   Nudr_DM_Update Request (AMF registration)
14a   UDR  -> UDM   Nudr_DM_Update Response (AMF registration)
14a   UDM  -> AMF   Response
14b   AMF  -> UDM   Nudm_SDM_Get Request (access and mobility)
14b   UDM  -> UDR   Nudr_DM_Query Request (access and mobility)
14b   UDR  -> UDM   Nudm_SDM_Get Response
14b   UDM  -> AMF   Nudm_SDM_Get Response
14c   AMF  -> UDM   Nudm_SDM_Subscribe Request
14c   UDM  -> UDR   Nudr_DM_Create Request (SDM subscription)
14c   UDR  -> UDM   Response
14c   UDM  -> AMF   Nudm_SDM_Subscribe Response
14b   AMF  -> NSSF  Nnssf_NSSelection_Get Request
14b   NSSF -> AMF   Nnssf_NSSelection_Get Response
16    AMF  -> PCF   Npcf_AMPolicyControl_Create Request
16    PCF  -> AMF   Failure (context not found)
21    AMF  -> gNB   Initial Context Setup Request
21    AMF  -> UE    Registration Accept
22    gNB  -> AMF   Initial Context Setup Response
22    UE   -> AMF   Registration Complete
      AMF  -> gNB   UE Context Release Command
      gNB  -> AMF   UE Context Release Complete
";

#[test]
fn a_phone_registers_and_the_ladder_is_that_of_the_ts() {
    let mut world = TestNetwork::new(&[1]);
    let response = world.gnb.response().expect("NG Setup succeeded").clone();
    assert_eq!(response.plmns[0].plmn, plmn());
    world.call_flow.0.clear();
    world.register(0);
    world.assert_registered(0);
    // A function that nobody has is not reached by HTTP; a host knows that it does not have it.
    let of_pcf = ["context not found", "function not reached"];
    let expected = match apart::wanted() {
        Some(Wiring::Http2) => LADDER.replace(of_pcf[0], of_pcf[1]),
        _ => LADDER.to_owned(),
    };
    world.assert_said(&expected);
    // Nothing more to say: the UE is idle, and nothing is under way.
    assert_eq!((world.ues[0].at, world.amf().connected()), (None, 0));
    assert!(!world.wait());
    assert_eq!(world.amf().counters().registrations, 1);
    assert!(
        world
            .core
            .stored()
            .any(|key| key.starts_with(b"amf/ue/00101"))
    );
}

#[test]
fn the_accept_has_what_a_phone_needs() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).requested_nssai = Some(vec![slice(2), slice(9)]);
    world.register(0);
    let accept = world.ue(0).accept().expect("accepted");
    assert_eq!(accept.areas, [tai()]);
    assert_eq!(accept.allowed_nssai, [slice(2)]);
    assert_eq!(accept.rejected_nssai, [(slice(9), RejectedIn::Plmn)]);
    assert_eq!(accept.configured_nssai, [slice(1), slice(3), slice(2)]);
    // 54 minutes cannot be told.
    assert_eq!(
        (accept.t3512_s, accept.t3502_s),
        (Some(50 * 60), Some(12 * 60))
    );
    assert!(!accept.ims_voice);
    assert!(
        accept
            .guti
            .is_some_and(|guti| guti.guami == crate::world::config().guami)
    );
}

#[test]
fn the_accept_tells_what_is_configured_and_the_drx_that_the_phone_asks_for() {
    let mut config = crate::world::config();
    let equivalent = Plmn::new("001", "02").expect("digits");
    config.equivalent_plmns = vec![equivalent];
    config.ims_voice = true;
    let mut world = TestNetwork::of(crate::world::core(config, true), &[1]);
    world.set_up();
    // Requested DRX parameters: a cycle of 64 (TS 24.501, 9.11.3.2A).
    world.ue_mut(0).wishes = vec![0x51, 1, 2];
    world.register(0);
    world.assert_registered(0);
    let accept = world.ue(0).accept().expect("accepted");
    assert_eq!(accept.equivalent_plmns, [equivalent]);
    assert!(accept.ims_voice, "IMS voice over PS");
    assert_eq!(accept.drx, Some(2));
    // One that asks for none is told of none.
    world.ue_mut(0).wishes.clear();
    world.register(0);
    assert_eq!(world.ue(0).accept().expect("accepted").drx, None);
}

#[test]
fn a_phone_that_names_no_slice_gets_the_default_ones_that_are_there() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    // The third is a default one, too, and is not served here.
    assert_eq!(
        world.ue(0).accept().expect("accepted").allowed_nssai,
        [slice(1)]
    );
}

#[test]
fn the_gnb_gets_the_phones_context_and_its_key() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let at = world.ues[0]
        .at
        .expect("it has more to say, so it is connected");
    let context = world.gnb.context(at).expect("a context");
    assert_eq!(Some(&context.key), world.ue(0).kgnb().as_ref());
    assert_eq!(context.guami, crate::world::config().guami);
    assert_eq!(context.allowed_nssai, [slice(1)]);
    assert_eq!(context.ambr_bps, Some((1_000_000_000, 500_000_000)));
    // Besides the null algorithms, all three of each.
    assert_eq!(context.capability.octets(), [0x70, 0x70, 0, 0]);
    // Without the serial number.
    assert_eq!(
        context.masked_imeisv,
        Some([0x35, 0x34, 0x90, 0x06, 0x98, 0xff, 0xff, 0x90])
    );
}

#[test]
fn every_pair_of_algorithms_works() {
    for ciphering in [
        Ciphering::Nea0,
        Ciphering::Nea1,
        Ciphering::Nea2,
        Ciphering::Nea3,
    ] {
        for integrity in [Integrity::Nia1, Integrity::Nia2, Integrity::Nia3] {
            let mut config = crate::world::config();
            config.preference.ciphering = vec![ciphering];
            config.preference.integrity = vec![integrity];
            let mut world = TestNetwork::of(crate::world::core(config, true), &[1]);
            world.set_up();
            world.register(0);
            world.assert_registered(0);
        }
    }
}

#[test]
fn concealed_identities_are_read_by_the_key_that_they_name() {
    for (id, key) in [
        (1, crate::world::home_key_a()),
        (2, crate::world::home_key_b()),
    ] {
        let mut world = TestNetwork::new(&[1]);
        world.ue_mut(0).sim_mut().conceal_with(id, key.public());
        world.register(0);
        world.assert_registered(0);
    }
}

#[test]
fn a_phone_comes_back_by_its_name_without_authentication() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    let first = world.ue(0).guti().expect("a name");
    world.call_flow.0.clear();
    world.ue_mut(0).requested_nssai = Some(vec![slice(2)]);
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
    let call_flow = world.call_flow.to_string();
    assert!(
        !call_flow.contains("Authentication Request") && call_flow.contains("14b"),
        "{call_flow}"
    );
    // What it sent ciphered was read.
    assert_eq!(
        world.ue(0).accept().expect("accepted").allowed_nssai,
        [slice(2)]
    );
    let second = world.ue(0).guti().expect("a name");
    assert_ne!(first, second, "a new name");
    assert_eq!(world.amf().registered(), 1);
    // Once more, by the new name; and the keys of the gNB are those of this message.
    world.ue_mut(0).follow_on = true;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    let at = world.ues[0].at.expect("connected");
    let context = world.gnb.context(at).expect("a context");
    assert_eq!(Some(&context.key), world.ue(0).kgnb().as_ref());
}

#[test]
fn a_periodic_registration_keeps_the_name() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    let name = world.ue(0).guti();
    let nas = world.ue_mut(0).register(RegistrationKind::Periodic);
    world.connect(0, nas);
    world.assert_registered(0);
    assert_eq!(world.ue(0).guti(), name);
    assert_eq!(world.amf().counters().registrations, 2);
    assert!(!world.wait(), "nothing waits for a Registration Complete");
}

#[test]
fn a_phone_deregisters() {
    for switch_off in [false, true] {
        let mut world = TestNetwork::new(&[1]);
        world.ue_mut(0).follow_on = true;
        world.register(0);
        let nas = world.ue_mut(0).deregister(switch_off, true).expect("keys");
        world.say(0, nas);
        assert_eq!(world.ue(0).state(), UeState::Deregistered);
        let heard = world.ue(0).received().contains(&"Deregistration Accept");
        assert_eq!(heard, !switch_off);
        let amf = world.amf();
        assert_eq!((amf.registered(), amf.connected()), (0, 0));
        assert_eq!(world.core.udr().expect("its own").amf_of(&supi(1)), None);
        assert!(!world.core.stored().any(|key| key.starts_with(b"amf/")));
    }
}

#[test]
fn names_and_time_are_told_after_the_registration_is_complete() {
    let mut config = crate::world::config();
    config.network_name = Some(("Sluice in a box".to_owned(), "Sluice".to_owned()));
    config.time_zone_quarters = Some(8);
    let mut world = TestNetwork::of(crate::world::core(config, true), &[1]);
    world.set_up();
    world.register(0);
    world.assert_registered(0);
    let call_flow = world.call_flow.to_string();
    let complete = call_flow.find("Registration Complete").expect("complete");
    let told = call_flow
        .find("2a    AMF  -> UE    Configuration Update Command")
        .expect("told");
    assert!(complete < told, "{call_flow}");
    assert_eq!(
        world.ue(0).received().last(),
        Some(&"Configuration Update Command")
    );
    // Not again by a registration that is not an initial one.
    let nas = world.ue_mut(0).register(RegistrationKind::Periodic);
    world.connect(0, nas);
    assert_eq!(world.ue(0).received().last(), Some(&"Registration Accept"));
}

#[test]
fn a_phone_that_is_not_heard_of_is_implicitly_deregistered() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    let begin = world.now.instant;
    // It comes back in time.
    let nas = world.ue_mut(0).request_service().expect("a name");
    world.connect(0, nas);
    assert!(!world.wait_long(), "a connected phone is not watched");
    let ask = world
        .gnb
        .ask_release(world.ues[0].at.expect("connected"))
        .expect("known");
    world.tell_amf(&ask);
    world.run();
    assert!(world.wait_long());
    // T3512 as it was told, and four minutes twice.
    assert_eq!(world.now.instant.ms_since(begin), (50 + 4 + 4) * 60_000);
    assert_eq!(world.amf().registered(), 0);
    assert_eq!(world.core.udr().expect("its own").amf_of(&supi(1)), None);
    assert!(!world.core.stored().any(|key| key.starts_with(b"amf/")));
    assert!(!world.wait_long());
    // It is a stranger then.
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
    assert!(world.ue(0).received().contains(&"Identity Request"));
}

#[test]
fn the_same_inputs_give_the_same_octets() {
    let history = || {
        let mut world = TestNetwork::new(&[1, 2, 3]);
        for round in 0..3 {
            for phone in 0..3 {
                world.ue_mut(phone).follow_on = round == 1;
                let nas = world.ue_mut(phone).register(RegistrationKind::Mobility);
                world.connect(phone, nas);
            }
            let reset = world.gnb.reset();
            world.tell_amf(&reset);
            world.run();
            world.settle();
        }
        world.transcript
    };
    let (first, second) = (history(), history());
    assert!(first.len() > 60);
    assert_eq!(first, second);
}
