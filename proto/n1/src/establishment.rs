//! PDU session establishment (TS 24.501, 8.3.1 and 8.3.2): what a UE wants of a session, and what it gets.

mod integrity_rate;

use core::net::Ipv4Addr;

use oxirush_nas::nas_5gs as nas;
use sluice_ids::Snssai;

use crate::lists;
use crate::qos::Ambr;
use crate::qos_flows::{self, FlowDescription};
use crate::qos_rules::{self, QosRule};
use crate::session::SessionType;
use crate::session_cause::SessionCause;

pub use integrity_rate::{IntegrityRate, IntegrityRates};

/// PDU Session Establishment Request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EstablishmentRequest {
    /// Most that the UE protects the integrity of.
    pub integrity: IntegrityRates,
    /// None leaves it to the network.
    pub session_type: Option<SessionType>,
    /// SSC mode, 1 to 3; none leaves it to the network.
    pub ssc_mode: Option<u8>,
    /// The UE wants its user plane always up.
    pub always_on: bool,
    /// Extended protocol configuration options.
    pub options: Option<Vec<u8>>,
}

/// The UE's address (TS 24.501, 9.11.4.10): what its session type has of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PduAddress {
    /// The IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Interface identifier of the IPv6 link-local address; the prefix comes by Router Advertisement.
    pub interface_identifier: Option<[u8; 8]>,
}

/// PDU Session Establishment Accept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EstablishmentAccept {
    /// Perhaps less than was asked for.
    pub session_type: SessionType,
    /// Why it is less.
    pub cause: Option<SessionCause>,
    /// SSC mode.
    pub ssc_mode: u8,
    /// The QoS flow that takes all packets.
    pub qfi: u8,
    /// 5QI of the flow.
    pub five_qi: u8,
    /// Rules besides the default one.
    pub rules: Vec<QosRule>,
    /// Flows besides that.
    pub flows: Vec<FlowDescription>,
    /// Session AMBR.
    pub ambr: Ambr,
    /// The UE's address.
    pub address: PduAddress,
    /// The slice.
    pub slice: Snssai,
    /// Whether the user plane is always up, where the UE has asked (TS 24.501, 6.4.1.3).
    pub always_on: Option<bool>,
    /// Extended protocol configuration options.
    pub options: Option<Vec<u8>>,
    /// The data network's name, as labels.
    pub dnn: Vec<u8>,
}

pub(crate) fn read_request(m: &nas::NasPduSessionEstablishmentRequest) -> EstablishmentRequest {
    let kind = m.pdu_session_type.as_ref();
    let options = m.extended_protocol_configuration_options.as_ref();
    let always_on = m.always_on_pdu_session_requested.as_ref();
    let rates = &m.integrity_protection_maximum_data_rate;
    EstablishmentRequest {
        integrity: IntegrityRates {
            up: IntegrityRate::from_octet(rates.ul_raw()),
            down: IntegrityRate::from_octet(rates.dl_raw()),
        },
        session_type: kind.map(|kind| SessionType::from_number(kind.value)),
        ssc_mode: m.ssc_mode.as_ref().map(|mode| mode.value & 7),
        always_on: always_on.is_some_and(|requested| requested.apsr()),
        options: options.map(|options| options.value.to_vec()),
    }
}

pub(crate) fn write_request(m: &EstablishmentRequest) -> nas::NasPduSessionEstablishmentRequest {
    let octets = [m.integrity.up as u8, m.integrity.down as u8];
    let rate = u16::from_be_bytes(octets);
    let rate = nas::NasIntegrityProtectionMaximumDataRate::new(rate);
    let mut message = nas::NasPduSessionEstablishmentRequest::new(rate);
    if let Some(kind) = m.session_type {
        message = message.with_pdu_session_type(nas::NasPduSessionType::new(kind as u8));
    }
    if let Some(mode) = m.ssc_mode {
        message = message.with_ssc_mode(nas::NasSscMode::new(mode));
    }
    if m.always_on {
        let requested = nas::NasAlwaysOnPduSessionRequested::from_apsr(true);
        message = message.with_always_on_pdu_session_requested(requested);
    }
    if let Some(options) = &m.options {
        let options = nas::NasExtendedProtocolConfigurationOptions::new(options.clone());
        message = message.with_extended_protocol_configuration_options(options);
    }
    message
}

/// None if the QoS rules have no flow, or an address is cut short.
pub(crate) fn read_accept(
    m: &nas::NasPduSessionEstablishmentAccept,
) -> Option<EstablishmentAccept> {
    let flows = m.authorized_qos_flow_descriptions.as_ref();
    let mut flows = qos_flows::read(flows.map_or(&[], |flows| &flows.value)).ok()?;
    let mut rules = qos_rules::read(&m.authorized_qos_rules.value).ok()?;
    let default = rules.iter().position(|rule| rule.is_default)?;
    let qfi = rules.remove(default).qfi;
    let own = flows.iter().position(|flow| flow.qfi == qfi);
    let five_qi = own.and_then(|own| flows.remove(own).five_qi);
    let address = match &m.pdu_address {
        Some(address) => read_address(&address.value)?,
        None => PduAddress::default(),
    };
    let slice = m.s_nssai.as_ref();
    let options = m.extended_protocol_configuration_options.as_ref();
    Some(EstablishmentAccept {
        session_type: SessionType::from_number(m.selected_pdu_session_type.value),
        cause: m.fgsm_cause.as_ref().map(|cause| SessionCause(cause.value)),
        ssc_mode: m.selected_ssc_mode.value & 7,
        qfi,
        five_qi: five_qi.unwrap_or_default(),
        rules,
        flows,
        ambr: Ambr::from_octets(&m.session_ambr.value)?,
        address,
        slice: slice.and_then(|slice| lists::read_slice(&slice.value))?,
        always_on: m
            .always_on_pdu_session_indication
            .as_ref()
            .map(|indication| indication.apsi()),
        options: options.map(|options| options.value.to_vec()),
        dnn: m
            .dnn
            .as_ref()
            .map(|dnn| dnn.value.to_vec())
            .unwrap_or_default(),
    })
}

pub(crate) fn write_accept(m: &EstablishmentAccept) -> nas::NasPduSessionEstablishmentAccept {
    let mut rules = vec![QosRule::default_of(m.qfi)];
    rules.extend_from_slice(&m.rules);
    let mut flows = vec![FlowDescription::new(m.qfi, m.five_qi)];
    flows.extend_from_slice(&m.flows);
    let mut message = nas::NasPduSessionEstablishmentAccept::new(
        nas::NasPduSessionType::new(m.session_type as u8),
        nas::NasSscMode::new(m.ssc_mode),
        nas::NasQosRules::new(qos_rules::write(&rules)),
        nas::NasSessionAmbr::new(m.ambr.octets().to_vec()),
    );
    if let Some(cause) = m.cause {
        message = message.with_fgsm_cause(nas::NasFGsmCause::new(cause.0));
    }
    message = message.with_pdu_address(nas::NasPduAddress::new(address(&m.address)));
    message = message.with_s_nssai(nas::NasSNssai::new(lists::slice(&m.slice)));
    if let Some(always_on) = m.always_on {
        let indication = nas::NasAlwaysOnPduSessionIndication::from_apsi(always_on);
        message = message.with_always_on_pdu_session_indication(indication);
    }
    let flows = nas::NasQosFlowDescriptions::new(qos_flows::write(&flows));
    message = message.with_authorized_qos_flow_descriptions(flows);
    if let Some(options) = &m.options {
        let options = nas::NasExtendedProtocolConfigurationOptions::new(options.clone());
        message = message.with_extended_protocol_configuration_options(options);
    }
    message.with_dnn(nas::NasDnn::new(m.dnn.clone()))
}

fn address(value: &PduAddress) -> Vec<u8> {
    let mut octets = vec![match value {
        PduAddress {
            interface_identifier: None,
            ..
        } => 1,
        PduAddress { ipv4: None, .. } => 2,
        _ => 3,
    }];
    octets.extend(value.interface_identifier.iter().flatten());
    octets.extend(value.ipv4.iter().flat_map(Ipv4Addr::octets));
    octets
}

fn read_address(octets: &[u8]) -> Option<PduAddress> {
    let (kind, rest) = octets.split_first()?;
    let (identifier, rest) = match kind & 7 {
        2 | 3 => rest
            .split_first_chunk::<8>()
            .map(|(id, rest)| (Some(*id), rest))?,
        _ => (None, rest),
    };
    let ipv4 = match kind & 7 {
        1 | 3 => Some(Ipv4Addr::from(*rest.first_chunk::<4>()?)),
        _ => None,
    };
    Some(PduAddress {
        ipv4,
        interface_identifier: identifier,
    })
}
