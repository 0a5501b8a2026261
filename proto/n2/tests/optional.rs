//! Optional IEs of gNBs that an AMF uses or reads past (TS 38.413, 9.2.6.1, 9.3.1.16 and 9.2.2.5).

use oxirush_ngap::build_ngap_ie;
use oxirush_ngap::ngap::{self, encode_open_type};
use sluice_ids::{Plmn, Snssai, Tac, Tai};
use sluice_n2::{
    AmfUeId, FromAmf, FromRan, Gnb, Location, NgSetupRequest, PlmnSlices, RanConfigurationUpdate,
    RanUeId, SupportedArea, UeContextReleaseComplete, UplinkNasTransport,
};

fn plmn() -> Plmn {
    Plmn::new("001", "01").expect("digits")
}

fn setup() -> NgSetupRequest {
    NgSetupRequest {
        gnb: Gnb {
            plmn: plmn(),
            id: 1,
            bits: 24,
        },
        name: Some("gnb-1".to_owned()),
        areas: vec![SupportedArea {
            tac: Tac([0, 0, 1]),
            plmns: vec![PlmnSlices {
                plmn: plmn(),
                slices: vec![Snssai::new(1, None)],
            }],
        }],
        retains_ues: false,
    }
}

/// An extension of a value that an AMF need not know.
fn extension(id: u16, value: Vec<u8>) -> Option<ngap::ProtocolExtensionContainer<'static>> {
    let field = ngap::ProtocolExtensionField {
        id: ngap::ProtocolExtensionID(id),
        criticality: ngap::Criticality::ignore,
        extension_value: value.into(),
    };
    Some(ngap::ProtocolExtensionContainer(vec![field]))
}

/// A message with more IEs than our encoder gives it.
fn with(octets: &[u8], more: Vec<ngap::ProtocolIEField<'static>>) -> Vec<u8> {
    let mut pdu = ngap::NGAP_PDU::decode(octets).expect("ours");
    let mut ies = pdu.protocol_ies().expect("IEs").into_owned();
    ies.0.extend(more);
    pdu.set_protocol_ies(ies).expect("in order");
    pdu.encode().expect("in their ranges")
}

fn extended(visible: Option<&str>, utf8: Option<&str>) -> ngap::ExtendedRANNodeName<'static> {
    let visible = visible.map(|name| ngap::RANNodeNameVisibleString(name.to_owned().into()));
    let utf8 = utf8.map(|name| ngap::RANNodeNameUTF8String(name.to_owned().into()));
    ngap::ExtendedRANNodeName::new(visible, utf8, None)
}

#[test]
fn an_ng_setup_request_with_all_optional_ies_is_read() {
    let whole = FromRan::NgSetupRequest(setup()).encode();
    for (visible, utf8, expected) in [
        (Some("visible"), None, "visible"),
        (None, Some("Zürich"), "Zürich"),
        (Some("visible"), Some("Zürich"), "Zürich"),
        // What a terminal would carry out is no name: that of the other IE counts.
        (None, Some("\u{1b}[2J"), "gnb-1"),
        (None, None, "gnb-1"),
    ] {
        let ies = vec![
            build_ngap_ie!(
                NGSetupRequest,
                UERetentionInformation(ngap::UERetentionInformation::ues_retained)
            ),
            build_ngap_ie!(
                NGSetupRequest,
                NB_IoT_DefaultPagingDRX(ngap::NBIoTDefaultPagingDRX::rf256)
            ),
            build_ngap_ie!(
                NGSetupRequest,
                Extended_RANNodeName(extended(visible, utf8))
            ),
        ];
        let ies = ies
            .into_iter()
            .map(|ie| ie.expect("in its range"))
            .collect();
        let read = FromRan::decode_and_notify(&with(&whole, ies));
        let expected = NgSetupRequest {
            name: Some(expected.to_owned()),
            retains_ues: true,
            ..setup()
        };
        assert_eq!(read, Ok((FromRan::NgSetupRequest(expected), None)));
    }
}

#[test]
fn an_update_has_the_extended_name_as_well() {
    let update = FromRan::RanConfigurationUpdate(RanConfigurationUpdate {
        name: Some("gnb-1".to_owned()),
        areas: None,
    });
    let name = extended(None, Some("Genève"));
    let ie = build_ngap_ie!(RANConfigurationUpdate, Extended_RANNodeName(name));
    let octets = with(&update.encode(), vec![ie.expect("in its range")]);
    let expected = FromRan::RanConfigurationUpdate(RanConfigurationUpdate {
        name: Some("Genève".to_owned()),
        areas: None,
    });
    assert_eq!(FromRan::decode(&octets), Ok(expected));
}

/// An IE as octets, which our encoder does not write.
fn field(id: u16, criticality: ngap::Criticality, value: &[u8]) -> ngap::ProtocolIEField<'static> {
    ngap::ProtocolIEField {
        id: ngap::ProtocolIEID(id),
        criticality,
        value: value.to_vec().into(),
    }
}

/// Ambient IoT (Release 19): AIoT Support, whose criticality is *reject*, and Additional ULI, an NR CGI and a TAI. An AMF
/// does by them what it supports (8.7.1.2, 8.7.2.2), which is nothing: the gNB is set up all the same. One of a release
/// that nobody knows refuses the setup where its criticality says so (10.3.4.2).
#[test]
fn a_gnb_of_a_later_release_is_set_up_without_what_is_not_served() {
    use ngap::Criticality::{ignore, reject};
    let support = || field(475, reject, &[0x40]);
    let place = [0, 0, 0xf1, 0x10, 0, 0, 1, 0, 0x10, 0, 0xf1, 0x10, 0, 0, 1];
    let place = || field(483, ignore, &place);
    let whole = FromRan::NgSetupRequest(setup());
    let octets = with(&whole.encode(), vec![support(), place()]);
    let read = FromRan::decode_and_notify(&octets);
    assert_eq!(read, Ok((whole.clone(), None)));
    let update = FromRan::RanConfigurationUpdate(RanConfigurationUpdate {
        name: Some("gnb-1".to_owned()),
        areas: Some(setup().areas),
    });
    let octets = with(&update.encode(), vec![place(), support()]);
    let read = FromRan::decode_and_notify(&octets);
    assert_eq!(read, Ok((update, None)));
    // What an AMF may do without is read past, also where it makes no sense.
    let octets = with(&whole.encode(), vec![field(483, ignore, &[])]);
    assert_eq!(
        FromRan::decode_and_notify(&octets),
        Ok((whole.clone(), None))
    );
    let octets = with(&whole.encode(), vec![field(65_000, ignore, &[1, 2])]);
    assert_eq!(
        FromRan::decode_and_notify(&octets),
        Ok((whole.clone(), None))
    );
    let octets = with(&whole.encode(), vec![field(65_000, reject, &[1, 2])]);
    let faulty = FromRan::decode(&octets).expect_err("nobody knows it");
    let answer = FromAmf::decode(&faulty.answer.expect("it is told")).expect("a message");
    assert!(matches!(answer, FromAmf::NgSetupFailure(_)), "{answer:?}");
}

/// The cell of a second radio beside the first (PSCell Information, of dual connectivity).
#[test]
fn the_cell_of_a_secondary_rat_is_read_past() {
    let location = Location {
        plmn: plmn(),
        cell: sluice_ids::NrCellIdentity([0, 0, 1, 0, 0x10]),
        tai: Tai {
            plmn: plmn(),
            tac: Tac([0, 0, 1]),
        },
    };
    let uplink = FromRan::UplinkNasTransport(UplinkNasTransport {
        ids: (AmfUeId(5), RanUeId(7)),
        nas: vec![0x7e, 0, 0x43],
        location: Some(location),
    });
    let mut pdu = ngap::NGAP_PDU::decode(&uplink.encode()).expect("ours");
    let told = pdu.ie::<oxirush_ngap::ie::UserLocationInformation>();
    let told = told.expect("there").expect("a location").into_owned();
    let ngap::UserLocationInformation::userLocationInformationNR(mut nr) = told else {
        panic!("another radio");
    };
    let cell = encode_open_type(&ngap::NGRANCGI::nR_CGI(nr.nr_cgi.clone())).expect("a cell");
    nr.ie_extensions = extension(149, cell.to_vec());
    let value = ngap::UserLocationInformation::userLocationInformationNR(nr);
    let ie = build_ngap_ie!(UplinkNASTransport, UserLocationInformation(value));
    let mut ies = pdu.protocol_ies().expect("IEs").into_owned();
    ies.0.pop();
    ies.0.push(ie.expect("in its range"));
    pdu.set_protocol_ies(ies).expect("in order");
    let octets = pdu.encode().expect("in their ranges");
    assert_ne!(octets, uplink.encode());
    assert_eq!(FromRan::decode_and_notify(&octets), Ok((uplink, None)));
}

/// Sessions with what a second radio has carried, and cells for paging, in UE Context Release Complete.
#[test]
fn a_release_complete_with_sessions_and_their_usage_is_read() {
    let ids = (AmfUeId(5), RanUeId(7));
    let complete = FromRan::UeContextReleaseComplete(UeContextReleaseComplete { ids });
    let usage = ngap::SecondaryRATUsageInformation::new(None, None, None);
    let usage = encode_open_type(&usage).expect("in its range").to_vec();
    let usage = ngap::PDUSessionResourceReleaseResponseTransfer::new(extension(144, usage));
    let usage = encode_open_type(&usage).expect("in its range").to_vec();
    let session =
        ngap::PDUSessionResourceItemCxtRelCpl::new(ngap::PDUSessionID(5), extension(145, usage));
    let list = ngap::PDUSessionResourceListCxtRelCpl(vec![session]);
    let ie = build_ngap_ie!(
        UEContextReleaseComplete,
        PDUSessionResourceListCxtRelCpl(list)
    );
    let octets = with(&complete.encode(), vec![ie.expect("in its range")]);
    assert_eq!(FromRan::decode_and_notify(&octets), Ok((complete, None)));
}
