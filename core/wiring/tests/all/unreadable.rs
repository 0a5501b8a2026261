//! First messages of phones that cannot be read (TS 24.501, 5.5.1.2.8, 5.5.1.3.8 and 5.6.1.8, protocol error): each is
//! answered by the reject that the phone waits for, in the shapes of magma#12401 and free5gc/amf#55.

use sluice_n1::{Cause, Downlink, MobileIdentity, RegistrationRequest, Uplink};
use sluice_security::SecurityCapability;

use crate::world::{TestNetwork, config, core};

const MANDATORY: Cause = Cause::INVALID_MANDATORY_INFORMATION;

fn registration(cause: Cause) -> Downlink {
    Downlink::RegistrationReject(cause.into())
}

fn service(cause: Cause) -> Downlink {
    Downlink::ServiceReject(cause.into())
}

/// A registration request that is whole, and an IE that a network has to understand, which nobody knows.
fn not_comprehended() -> Vec<u8> {
    let capability = SecurityCapability::from_octets(&[0xf0, 0x70]).expect("two");
    let request = RegistrationRequest::initial(MobileIdentity::None, capability);
    let request = Uplink::RegistrationRequest(Box::new(request)).encode();
    [&request[..], &[0x0a, 1, 0]].concat()
}

#[test]
fn a_first_message_that_cannot_be_read_is_rejected_by_its_cause() {
    let long = [&[0x7e, 0, 0x41, 0x79][..], &[0; 9_000]].concat();
    for (nas, answer) in [
        // A 5GS mobile identity of length 0, a 5G-GUTI without 5G-TMSI, a SUCI that is cut off.
        (
            vec![0x7e, 0, 0x41, 0x79, 0, 0, 0x2e, 2, 0xf0, 0xf0],
            registration(MANDATORY),
        ),
        (
            vec![
                0x7e, 0, 0x41, 0x73, 0, 7, 0xf2, 0, 0xf1, 0x10, 1, 0, 0x40, 0x2e, 2, 0xf0, 0xf0,
            ],
            registration(MANDATORY),
        ),
        (
            vec![0x7e, 0, 0x41, 0x79, 0, 3, 1, 0, 0xf1, 0x2e, 2, 0xf0, 0xf0],
            registration(MANDATORY),
        ),
        // A 5G-S-TMSI without TMSI.
        (
            vec![0x7e, 0, 0x4c, 7, 0, 3, 0xf4, 0, 0x40],
            service(MANDATORY),
        ),
        // Nothing but the header, also behind a MAC.
        (vec![0x7e, 0, 0x41], registration(MANDATORY)),
        (vec![0x7e, 0, 0x4c], service(MANDATORY)),
        (
            vec![0x7e, 1, 1, 2, 3, 4, 0, 0x7e, 0, 0x4c, 7],
            service(MANDATORY),
        ),
        (not_comprehended(), registration(MANDATORY)),
        (long, registration(Cause::PROTOCOL_ERROR)),
    ] {
        let mut world = TestNetwork::new(&[1]);
        world.connect(0, nas.clone());
        assert_eq!(world.ue(0).refused(), Some(&answer), "{nas:02x?}");
        assert_eq!(world.ue(0).received(), [answer.name()]);
        let amf = world.amf();
        assert_eq!((amf.connected(), amf.counters().unreadable_nas), (0, 1));
        assert!(amf.procedures().is_empty());
        let refused = world.core.take_refused();
        assert_eq!(refused.len(), 1, "{nas:02x?}");
        assert!(refused[0].cause.contains("Reject #"), "{}", refused[0]);
    }
}

#[test]
fn other_messages_that_cannot_be_read_are_answered_by_status() {
    let mut world = TestNetwork::new(&[1]);
    // Deregistration Request without identity.
    world.connect(0, vec![0x7e, 0, 0x45, 1]);
    assert_eq!(world.ue(0).received(), ["5GMM Status"]);
    assert_eq!(world.amf().connected(), 0);
}

/// A stranger's broken request on the connection of a registered phone has it told nothing but a status; its own is
/// rejected.
#[test]
fn a_registered_phone_is_rejected_for_its_own_messages_alone() {
    let mut config = config();
    config.preference.ciphering = vec![sluice_security::Ciphering::Nea0];
    let mut world = TestNetwork::of(core(config, true), &[1]);
    world.set_up();
    world.ue_mut(0).follow_on = true;
    world.register(0);
    world.say(0, vec![0x7e, 0, 0x41, 0x79, 0]);
    assert_eq!(world.ue(0).received().last(), Some(&"5GMM Status"));
    world.assert_registered(0);
    world.ue_mut(0).wishes = vec![0x0a, 1, 0];
    let nas = world
        .ue_mut(0)
        .register(sluice_n1::RegistrationKind::Mobility);
    // The whole stands in the container, which counts (4.4.6); here it stands outside as well.
    let outer = [&nas[..], &[0x0a, 1, 0]].concat();
    world.say(0, outer);
    assert_eq!(world.ue(0).received().last(), Some(&"5GMM Status"));
    assert_eq!(world.amf().registered(), 1, "its MAC was wrong");
}
