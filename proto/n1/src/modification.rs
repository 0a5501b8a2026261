//! PDU session modification (TS 24.501, 8.3.7 and 8.3.9): flows of a session that come and go, and what else a UE asks for.

use oxirush_nas::nas_5gs as nas;

use crate::qos::Ambr;
use crate::qos_flows::{self, FlowDescription};
use crate::qos_rules::{self, QosRule};
use crate::session_cause::SessionCause;

/// PDU Session Modification Request, of what is served: rules and flows that the UE wants.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModificationRequest {
    /// Rules.
    pub rules: Vec<QosRule>,
    /// Their flows.
    pub flows: Vec<FlowDescription>,
    /// Cause for a rule or flow that the UE cannot accept (TS 24.501, 6.4.2.2).
    pub cause: Option<SessionCause>,
    /// The UE wants its user plane always up.
    pub always_on: bool,
    /// Extended protocol configuration options.
    pub options: Option<Vec<u8>>,
    /// Whether the UE requests unsupported services: a multicast session, service-level authorization, ports of
    /// bridges, or header compression.
    pub has_others: bool,
}

/// PDU Session Modification Command.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModificationCommand {
    /// Another session AMBR.
    pub ambr: Option<Ambr>,
    /// Rules that come, change and go.
    pub rules: Vec<QosRule>,
    /// Flows that come, change and go.
    pub flows: Vec<FlowDescription>,
    /// Whether the user plane is always up, where the UE has asked (TS 24.501, 6.3.2.2).
    pub always_on: Option<bool>,
    /// Extended protocol configuration options.
    pub options: Option<Vec<u8>>,
}

pub(crate) fn read_request(
    m: &nas::NasPduSessionModificationRequest,
) -> Result<ModificationRequest, SessionCause> {
    let rules = m.requested_qos_rules.as_ref();
    let flows = m.requested_qos_flow_descriptions.as_ref();
    Ok(ModificationRequest {
        rules: qos_rules::read(rules.map_or(&[], |rules| &rules.value))?,
        flows: qos_flows::read(flows.map_or(&[], |flows| &flows.value))?,
        cause: m.fgsm_cause.as_ref().map(|cause| SessionCause(cause.value)),
        always_on: m
            .always_on_pdu_session_requested
            .as_ref()
            .is_some_and(|requested| requested.apsr()),
        options: m
            .extended_protocol_configuration_options
            .as_ref()
            .map(|options| options.value.to_vec()),
        has_others: m.requested_mbs_container.is_some()
            || m.service_level_aa_container.is_some()
            || m.port_management_information_container.is_some()
            || m.ip_header_compression_configuration.is_some()
            || m.ethernet_header_compression_configuration.is_some(),
    })
}

pub(crate) fn write_request(m: &ModificationRequest) -> nas::NasPduSessionModificationRequest {
    let mut message = nas::NasPduSessionModificationRequest::new();
    if let Some(cause) = m.cause {
        message = message.with_fgsm_cause(nas::NasFGsmCause::new(cause.0));
    }
    if m.always_on {
        let requested = nas::NasAlwaysOnPduSessionRequested::from_apsr(true);
        message = message.with_always_on_pdu_session_requested(requested);
    }
    if !m.rules.is_empty() {
        let rules = nas::NasQosRules::new(qos_rules::write(&m.rules));
        message = message.with_requested_qos_rules(rules);
    }
    if !m.flows.is_empty() {
        let flows = nas::NasQosFlowDescriptions::new(qos_flows::write(&m.flows));
        message = message.with_requested_qos_flow_descriptions(flows);
    }
    if let Some(options) = &m.options {
        let options = nas::NasExtendedProtocolConfigurationOptions::new(options.clone());
        message = message.with_extended_protocol_configuration_options(options);
    }
    message
}

pub(crate) fn read_command(
    m: &nas::NasPduSessionModificationCommand,
) -> Result<ModificationCommand, SessionCause> {
    let ambr = match &m.session_ambr {
        Some(ambr) => {
            let ambr = Ambr::from_octets(&ambr.value);
            Some(ambr.ok_or(SessionCause::INVALID_MANDATORY_INFORMATION)?)
        }
        None => None,
    };
    let rules = m.authorized_qos_rules.as_ref();
    let flows = m.authorized_qos_flow_descriptions.as_ref();
    Ok(ModificationCommand {
        ambr,
        rules: qos_rules::read(rules.map_or(&[], |rules| &rules.value))?,
        flows: qos_flows::read(flows.map_or(&[], |flows| &flows.value))?,
        always_on: m
            .always_on_pdu_session_indication
            .as_ref()
            .map(|indication| indication.apsi()),
        options: m
            .extended_protocol_configuration_options
            .as_ref()
            .map(|options| options.value.to_vec()),
    })
}

pub(crate) fn write_command(m: &ModificationCommand) -> nas::NasPduSessionModificationCommand {
    let mut message = nas::NasPduSessionModificationCommand::new();
    if let Some(ambr) = m.ambr {
        let ambr = nas::NasSessionAmbr::new(ambr.octets().to_vec());
        message = message.with_session_ambr(ambr);
    }
    if let Some(always_on) = m.always_on {
        let indication = nas::NasAlwaysOnPduSessionIndication::from_apsi(always_on);
        message = message.with_always_on_pdu_session_indication(indication);
    }
    if !m.rules.is_empty() {
        let rules = nas::NasQosRules::new(qos_rules::write(&m.rules));
        message = message.with_authorized_qos_rules(rules);
    }
    if !m.flows.is_empty() {
        let flows = nas::NasQosFlowDescriptions::new(qos_flows::write(&m.flows));
        message = message.with_authorized_qos_flow_descriptions(flows);
    }
    if let Some(options) = &m.options {
        let options = nas::NasExtendedProtocolConfigurationOptions::new(options.clone());
        message = message.with_extended_protocol_configuration_options(options);
    }
    message
}
