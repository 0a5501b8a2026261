//! NGAP of others: what Open5GS, free5GC and PacketRusher sent, which the codec's crate comes with.

#![forbid(unsafe_code)]

#[path = "../../n1/tests/fixture/mod.rs"]
mod fixture;

use sluice_n2::{FromAmf, FromRan};

use fixture::{captured, octets};

#[test]
fn messages_of_others_are_read_or_refused_by_their_cause() {
    let Some(lines) = captured("oxirush-ngap-0.5.0") else {
        return;
    };
    let (mut from_ran, mut from_amf) = (0, 0);
    for line in &lines {
        let (name, octets, direction) = (&line[0], octets(&line[1]), &line[5]);
        let name = name.split('/').next().expect("a name");
        if direction == "RAN to core" {
            from_ran += 1;
            let read = FromRan::decode(&octets);
            assert_eq!(read.expect(name).name().replace(' ', ""), name);
        } else if SERVED.contains(&name) {
            from_amf += 1;
            let message = FromAmf::decode(&octets).expect(name);
            assert_eq!(message.name().replace(' ', ""), name);
            // Said again it is the same; diagnostics of errors are not kept, nor what does not change.
            if !name.starts_with("ErrorIndication") && name != "AMFConfigurationUpdate" {
                assert_eq!(FromAmf::decode(&message.encode()), Ok(message));
            }
        } else if name != "-" {
            // Nothing else is taken for something that it is not.
            assert!(FromAmf::decode(&octets).is_err(), "{name}");
        }
    }
    assert!(from_ran >= 13 && from_amf >= 100, "{from_ran} {from_amf}");
}

/// Procedures that an emulated gNB knows.
const SERVED: &[&str] = &[
    "NGSetupResponse",
    "DownlinkNASTransport",
    "InitialContextSetupRequest",
    "PDUSessionResourceSetupRequest",
    "PDUSessionResourceModifyRequest",
    "PDUSessionResourceReleaseCommand",
    "UEContextReleaseCommand",
    "Paging",
    "AMFConfigurationUpdate",
    "OverloadStart",
    "OverloadStop",
    "UEContextModificationRequest",
    "PathSwitchRequestAcknowledge",
    "PathSwitchRequestFailure",
    "HandoverRequest",
    "HandoverCommand",
    "HandoverPreparationFailure",
    "HandoverCancelAcknowledge",
    "DownlinkRANStatusTransfer",
    "ErrorIndication",
];
