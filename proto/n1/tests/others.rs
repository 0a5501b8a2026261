//! NAS of others: what Open5GS, free5GC and PacketRusher sent, which the codec's crate comes with.

#![forbid(unsafe_code)]

mod fixture;

use sluice_n1::{Downlink, Envelope, Uplink};

use fixture::{captured, octets};

/// As the dissector of the captures named them, beside our names.
const UPLINK: &[(&str, &str)] = &[
    ("5GMMRegistrationRequest", "Registration Request"),
    ("5GMMRegistrationComplete", "Registration Complete"),
    ("5GMMMODeregistrationRequest", "Deregistration Request"),
    ("5GMMAuthenticationResponse", "Authentication Response"),
    ("5GMMSecurityModeComplete", "Security Mode Complete"),
    (
        "5GMMConfigurationUpdateComplete",
        "Configuration Update Complete",
    ),
    ("5GMMULNASTransport", "UL NAS Transport"),
];
const DOWNLINK: &[(&str, &str)] = &[
    ("5GMMAuthenticationReject", "Authentication Reject"),
    ("5GMMAuthenticationRequest", "Authentication Request"),
    (
        "5GMMConfigurationUpdateCommand",
        "Configuration Update Command",
    ),
    ("5GMMDLNASTransport", "DL NAS Transport"),
    ("5GMMMODeregistrationAccept", "Deregistration Accept"),
    ("5GMMRegistrationAccept", "Registration Accept"),
    ("5GMMSecurityModeCommand", "Security Mode Command"),
    ("5GMMServiceAccept", "Service Accept"),
    ("5GMMStatus", "5GMM Status"),
];

fn ours<'a>(names: &[(&str, &'a str)], name: &str) -> &'a str {
    names
        .iter()
        .find(|(theirs, _)| *theirs == name)
        .unwrap_or_else(|| panic!("{name}"))
        .1
}

#[test]
fn messages_of_others_are_read() {
    let Some(lines) = captured("oxirush-nas-0.5.0") else {
        return;
    };
    let (mut up, mut down) = (0, 0);
    for line in lines.iter().filter(|line| line[0] == "5gs") {
        let (direction, name, plain) = (&line[2], &line[3], octets(&line[9]));
        let wire = octets(&line[8]);
        let is_protected = matches!(Envelope::open(&wire), Some(Envelope::Protected(_)));
        assert_eq!(is_protected, line[4] != "0", "{name}");
        if direction == "uplink" {
            up += 1;
            let message = Uplink::decode(&plain).expect(name);
            assert_eq!(message.name(), ours(UPLINK, name));
        } else {
            down += 1;
            let message = Downlink::decode(&plain).expect(name);
            assert_eq!(message.name(), ours(DOWNLINK, name));
            if let Downlink::RegistrationAccept(accept) = message {
                assert!(
                    accept.guti.is_some() && !accept.areas.is_empty(),
                    "{accept:?}"
                );
                assert!(!accept.allowed_nssai.is_empty() && accept.t3512_s.is_some());
            }
        }
    }
    assert!(up >= 8 && down >= 100, "{up} {down}");
}
