//! From descriptions of rules to PFCP messages.

mod management;

pub use management::{pfd_management, set_deletion};

use crate::spec::*;
use crate::world::given_slot;
use crate::world::{N3, N3_6};
use management::sets;
use sluice_twin::Side;
use sluice_wire::ids::{BarId, FarId, PdrId, Precedence, QerId, Qfi, Seid, Teid, UrrId};
use sluice_wire::limits::QERS_PER_PDR;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Full, IeType, Writer};
use std::net::{IpAddr, Ipv4Addr};

/// The F-TEIDs that a session's PDRs have by now.
pub type Known<'k> = &'k dyn Fn(u16) -> Option<(IpAddr, u32)>;

/// Where the CP function is.
pub const CP: Ipv4Addr = Ipv4Addr::new(192, 0, 4, 2);

/// The IEs of a Session Establishment Request that is made now.
pub fn establishment(
    out: &mut Writer<'_>,
    cp_seid: u64,
    rules: &Rules,
    now: NtpTime,
) -> Result<(), Full> {
    out.ie(IeType::NODE_ID, |w| NodeId::V4(CP).encode(w))?;
    let cp = FSeid::v4(Seid(cp_seid), CP);
    out.ie(IeType::F_SEID, |w| cp.encode(w))?;
    if let Some(pdn_type) = rules.pdn_type {
        out.ie(IeType::PDN_TYPE, |w| PdnType(pdn_type).encode(w))?;
    }
    if let Some(time_s) = rules.inactivity {
        let ie = IeType::USER_PLANE_INACTIVITY_TIMER;
        out.ie(ie, |w| Seconds(time_s).encode(w))?;
    }
    create(out, rules, &|_| None, now)
}

/// The IEs of a Session Modification Request.
pub fn modification(
    out: &mut Writer<'_>,
    change: &Change,
    known: Known<'_>,
    now: NtpTime,
) -> Result<(), Full> {
    remove(out, change)?;
    create(out, &change.create, known, now)?;
    for edit in &change.pdrs {
        update_pdr(out, edit)?;
    }
    for edit in &change.fars {
        update_far(out, edit)?;
    }
    for urr in &change.urrs {
        update_urr(out, urr, now)?;
    }
    for edit in &change.qers {
        update_qer(out, edit)?;
    }
    if let Some(timer) = change.inactivity {
        let ie = IeType::USER_PLANE_INACTIVITY_TIMER;
        out.ie(ie, |w| match timer {
            Some(time_s) => Seconds(time_s).encode(w),
            None => Ok(()),
        })?;
    }
    for bar in &change.bars {
        let ie = UpdateBar {
            bar_id: BarId(bar.id),
            suggested_buffering_packets_count: bar.packets,
            ..UpdateBar::default()
        };
        let ie_type = IeType::UPDATE_BAR_IN_SESSION_MODIFICATION_REQUEST;
        out.ie(ie_type, |w| ie.emit(w))?;
    }
    let mut flags = SessionModificationRequestFlags::NONE;
    if change.query_all {
        flags |= SessionModificationRequestFlags::QAURR;
    }
    if change.discards_held {
        flags |= SessionModificationRequestFlags::DROBU;
    }
    if flags != SessionModificationRequestFlags::NONE {
        out.ie(IeType::PFCPSMREQ_FLAGS, |w| flags.encode(w))?;
    }
    for id in &change.query {
        let ie = QueryUrr { urr_id: UrrId(*id) };
        out.ie(IeType::QUERY_URR, |w| ie.emit(w))?;
    }
    Ok(())
}

fn remove(out: &mut Writer<'_>, change: &Change) -> Result<(), Full> {
    for id in &change.remove_pdrs {
        let ie = RemovePdr { pdr_id: PdrId(*id) };
        out.ie(IeType::REMOVE_PDR, |w| ie.emit(w))?;
    }
    for id in &change.remove_fars {
        let ie = RemoveFar { far_id: FarId(*id) };
        out.ie(IeType::REMOVE_FAR, |w| ie.emit(w))?;
    }
    for id in &change.remove_urrs {
        let ie = RemoveUrr { urr_id: UrrId(*id) };
        out.ie(IeType::REMOVE_URR, |w| ie.emit(w))?;
    }
    for id in &change.remove_qers {
        let ie = RemoveQer { qer_id: QerId(*id) };
        out.ie(IeType::REMOVE_QER, |w| ie.emit(w))?;
    }
    for id in &change.remove_bars {
        let ie = RemoveBar { bar_id: BarId(*id) };
        out.ie(IeType::REMOVE_BAR, |w| ie.emit(w))?;
    }
    Ok(())
}

fn update_urr(out: &mut Writer<'_>, urr: &UrrSpec, now: NtpTime) -> Result<(), Full> {
    let limits = urr.limits.as_ref();
    let later = limits.and_then(|l| l.later.as_ref());
    let ie = UpdateUrr {
        urr_id: UrrId(urr.id),
        measurement_information: Some(Edit::Set(information(urr))),
        reporting_triggers: limits.map(triggers),
        volume_threshold: limits.map(|l| edit(l.threshold.map(volume))),
        volume_quota: limits.map(|l| edit(l.quota.map(volume))),
        measurement_period: limits.map(|l| edit(l.period_s.map(Seconds))),
        measurement_method: Some(method(urr)),
        dropped_dl_traffic_threshold: limits.map(|l| edit(l.lost.map(lost))),
        time_threshold: limits.map(|l| edit(l.times.threshold.map(Seconds))),
        time_quota: limits.map(|l| edit(l.times.quota.map(Seconds))),
        quota_validity_time: limits.map(|l| edit(l.times.validity.map(Seconds))),
        quota_holding_time: limits.map(|l| edit(l.times.holding.map(Seconds))),
        inactivity_detection_time: limits.map(|l| edit(l.times.inactivity.map(Seconds))),
        monitoring_time: limits.map(|_| edit(later.map(|l| monitoring_time(l, now)))),
        subsequent_volume_threshold: later.map(|l| edit(l.threshold.map(volume))),
        subsequent_volume_quota: later.map(|l| edit(l.quota.map(volume))),
        subsequent_time_threshold: later.map(|l| edit(l.time_threshold.map(Seconds))),
        subsequent_time_quota: later.map(|l| edit(l.time_quota.map(Seconds))),
        ..UpdateUrr::default()
    };
    out.ie(IeType::UPDATE_URR, |w| ie.emit(w))
}

fn create(out: &mut Writer<'_>, rules: &Rules, known: Known<'_>, now: NtpTime) -> Result<(), Full> {
    sets(out, &rules.sets)?;
    for pdr in &rules.pdrs {
        create_pdr(out, pdr, known)?;
    }
    for far in &rules.fars {
        let ie = CreateFar {
            far_id: FarId(far.id),
            apply_action: action(far.action),
            forwarding_parameters: far.to.as_ref().map(forwarding),
            bar_id: far.bar.map(BarId),
            ..CreateFar::default()
        };
        out.ie(IeType::CREATE_FAR, |w| ie.emit(w))?;
    }
    for bar in &rules.bars {
        let ie = CreateBar {
            bar_id: BarId(bar.id),
            suggested_buffering_packets_count: bar.packets,
            ..CreateBar::default()
        };
        out.ie(IeType::CREATE_BAR, |w| ie.emit(w))?;
    }
    for urr in &rules.urrs {
        let ie = created_urr(urr, now);
        out.ie(IeType::CREATE_URR, |w| ie.emit(w))?;
    }
    for qer in &rules.qers {
        let ie = CreateQer {
            qer_id: QerId(qer.id),
            gate_status: gates(qer.open),
            maximum_bitrate: qer.mbr.map(rate),
            guaranteed_bitrate: qer.gbr.map(rate),
            qos_flow_identifier: qer.qfi.and_then(Qfi::new),
            ..CreateQer::default()
        };
        out.ie(IeType::CREATE_QER, |w| ie.emit(w))?;
    }
    Ok(())
}

/// How a URR is created now.
fn created_urr(urr: &UrrSpec, now: NtpTime) -> CreateUrr<'static> {
    let limits = urr.limits.as_ref();
    let later = limits.and_then(|l| l.later.as_ref());
    CreateUrr {
        urr_id: UrrId(urr.id),
        measurement_method: method(urr),
        reporting_triggers: limits.map_or(ReportingTriggers::NONE, triggers),
        volume_threshold: limits.and_then(|l| l.threshold).map(volume),
        volume_quota: limits.and_then(|l| l.quota).map(volume),
        measurement_period: limits.and_then(|l| l.period_s).map(Seconds),
        dropped_dl_traffic_threshold: limits.and_then(|l| l.lost).map(lost),
        time_threshold: limits.and_then(|l| l.times.threshold).map(Seconds),
        time_quota: limits.and_then(|l| l.times.quota).map(Seconds),
        quota_validity_time: limits.and_then(|l| l.times.validity).map(Seconds),
        quota_holding_time: limits.and_then(|l| l.times.holding).map(Seconds),
        inactivity_detection_time: limits.and_then(|l| l.times.inactivity).map(Seconds),
        measurement_information: Some(information(urr)),
        monitoring_time: later.map(|l| monitoring_time(l, now)),
        subsequent_volume_threshold: later.and_then(|l| l.threshold).map(volume),
        subsequent_volume_quota: later.and_then(|l| l.quota).map(volume),
        subsequent_time_threshold: later.and_then(|l| l.time_threshold).map(Seconds),
        subsequent_time_quota: later.and_then(|l| l.time_quota).map(Seconds),
        ..CreateUrr::default()
    }
}

fn monitoring_time(later: &LaterLimits, now: NtpTime) -> NtpTime {
    NtpTime(now.0.wrapping_add(later.in_s))
}

fn create_pdr(out: &mut Writer<'_>, pdr: &PdrSpec, known: Known<'_>) -> Result<(), Full> {
    let (framed, framed6) = framed_routes(&pdr.ue);
    let mut ie = CreatePdr {
        pdr_id: PdrId(pdr.id),
        precedence: Precedence(pdr.precedence),
        pdi: Pdi {
            source_interface: SourceInterface(side(pdr.source)),
            local_f_teid: f_teid(pdr, known),
            network_instance: pdr.instance.map(|name| Name(name.as_bytes())),
            ..Pdi::default()
        },
        far_id: Some(FarId(pdr.far)),
        ..CreatePdr::default()
    };
    if pdr.removes_outer {
        ie.outer_header_removal = Some(OuterHeaderRemoval {
            description: OuterHeaderRemovalDescription(removal(pdr)),
            gtpu_extension_header_deletion: None,
        });
    }
    ie.pdi.ue_ip_address.extend(ue_ip_address(pdr));
    ie.pdi
        .framed_route
        .extend(framed.iter().map(|t| Text(t.as_bytes())));
    ie.pdi
        .framed_ipv6_route
        .extend(framed6.iter().map(|t| Text(t.as_bytes())));
    ie.pdi.framed_routing = (pdr.ue.fault == UeFault::FramedRouting).then_some(1);
    let qfis = pdr.qfis.iter().filter_map(|q| Qfi::new(*q));
    ie.pdi.qfi.extend(qfis);
    ie.pdi.sdf_filter.extend(pdr.filters.iter().map(sdf_filter));
    ie.pdi.application_id = pdr.application.map(|name| Text(name.as_bytes()));
    ie.activate_predefined_rules.extend(names(&pdr.active));
    // A message has room for so many; a PDR with too many rates may have drawn others beside.
    let qers = pdr.qers.iter().take(QERS_PER_PDR);
    ie.qer_id.extend(qers.map(|q| QerId(*q)));
    ie.urr_id.extend(pdr.urrs.iter().map(|u| UrrId(*u)));
    out.ie(IeType::CREATE_PDR, |w| ie.emit(w))
}

fn names<'a>(rules: &'a [&'static str]) -> impl Iterator<Item = Text<'a>> {
    rules.iter().map(|name| Text(name.as_bytes()))
}

fn ue_ip_address(pdr: &PdrSpec) -> Option<UeIpAddress> {
    let UeSpec {
        ipv4,
        ipv6,
        behind,
        fault,
    } = pdr.ue;
    let mut ie = UeIpAddress {
        destination: pdr.ue_is_destination,
        ipv4,
        ipv6,
        ..UeIpAddress::default()
    };
    if ipv6.is_some() && behind.delegated != 0 {
        ie.ipv6_prefix_delegation_bits = Some(behind.delegated);
    }
    if ipv4.is_some_and(|a| given_slot(a.into()).is_some()) {
        (ie.ipv4, ie.choose_ipv4) = (None, true);
    }
    if ipv6.is_some_and(|a| given_slot(a.into()).is_some()) {
        (ie.ipv6, ie.choose_ipv6) = (None, true);
    }
    match fault {
        UeFault::None if ipv4.is_none() && ipv6.is_none() => return None,
        UeFault::None => {}
        UeFault::PrefixLength(len) => ie.ipv6_prefix_length = Some(len),
        UeFault::Delegation(bits) => ie.ipv6_prefix_delegation_bits = Some(bits),
        UeFault::ChooseIpv4 => (ie.ipv4, ie.choose_ipv4) = (None, true),
        UeFault::ChooseIpv6 => (ie.ipv6, ie.choose_ipv6) = (None, true),
        UeFault::FramedRoute | UeFault::FramedIpv6Route | UeFault::FramedRouting => {}
    }
    Some(ie)
}

/// With a gateway and a metric where the length is even.
fn framed_routes(ue: &UeSpec) -> (Option<String>, Option<String>) {
    let ipv4 = ue.behind.ipv4.map(|(base, len)| match len % 2 {
        0 => format!("{base}/{len} 0.0.0.0 1"),
        _ => format!("{base}/{len}"),
    });
    let ipv6 = ue.behind.ipv6.map(|(base, len)| match len % 2 {
        0 => format!("{base}/{len} :: 1"),
        _ => format!("{base}/{len}"),
    });
    match ue.fault {
        UeFault::FramedRoute => (Some("172.16.0.0/33".to_owned()), ipv6),
        UeFault::FramedIpv6Route => (ipv4, Some("2001:db8:70::/65".to_owned())),
        _ => (ipv4, ipv6),
    }
}

fn sdf_filter(spec: &FilterSpec) -> SdfFilter<'_> {
    SdfFilter {
        flow_description: spec.flow.as_deref().map(str::as_bytes),
        tos_traffic_class: spec.class,
        security_parameter_index: spec.index,
        flow_label: spec.label,
        sdf_filter_id: spec.id,
    }
}

fn removal(pdr: &PdrSpec) -> u8 {
    let of_f_teid = match pdr.families {
        (true, true) => 6,
        (false, true) => 1,
        _ => 0,
    };
    pdr.removes_other.unwrap_or(of_f_teid)
}

fn f_teid(pdr: &PdrSpec, known: Known<'_>) -> Option<FTeid> {
    let (ipv4, ipv6) = pdr.families;
    let choose = |choose_id| FTeid::Choose {
        ipv4,
        ipv6,
        choose_id,
    };
    let given = |(address, teid): (IpAddr, u32)| {
        let teid = Teid::new(teid)?;
        // N3 alone has two addresses.
        let has_both = address == IpAddr::V4(N3);
        let four = (ipv4 || !has_both).then_some(address);
        let four = four.and_then(|address| match address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        });
        let six = (ipv6 && has_both).then_some(N3_6);
        Some(FTeid::Assigned {
            teid,
            ipv4: four,
            ipv6: six,
        })
    };
    match pdr.f_teid {
        TeidSpec::None => None,
        TeidSpec::Choose => Some(choose(None)),
        TeidSpec::ChooseId(id) => Some(choose(Some(id))),
        TeidSpec::Given(teid, address) => given((address.into(), teid)),
        TeidSpec::OfPdr(pdr) => known(pdr).map_or(Some(choose(None)), given),
    }
}

fn update_pdr(out: &mut Writer<'_>, edit: &PdrEdit) -> Result<(), Full> {
    let mut ie = UpdatePdr {
        pdr_id: PdrId(edit.id),
        precedence: edit.precedence.map(Precedence),
        far_id: edit.far.map(|id| Edit::Set(FarId(id))),
        ..UpdatePdr::default()
    };
    if let Some((source, qfis, filters)) = &edit.flow {
        let mut pdi = Pdi {
            source_interface: SourceInterface(side(*source)),
            ..Pdi::default()
        };
        pdi.qfi.extend(qfis.iter().filter_map(|q| Qfi::new(*q)));
        pdi.sdf_filter.extend(filters.iter().map(sdf_filter));
        pdi.application_id = edit.application.map(|name| Text(name.as_bytes()));
        ie.pdi = Some(pdi);
    }
    if let Some(qers) = &edit.qers {
        match qers.is_empty() {
            true => ie.qer_id.push(Edit::Remove),
            false => {
                let qers = qers.iter().take(QERS_PER_PDR);
                ie.qer_id.extend(qers.map(|q| Edit::Set(QerId(*q))));
            }
        }
    }
    if let Some(urrs) = &edit.urrs {
        match urrs.is_empty() {
            true => ie.urr_id.push(Edit::Remove),
            false => ie.urr_id.extend(urrs.iter().map(|u| Edit::Set(UrrId(*u)))),
        }
    }
    ie.activate_predefined_rules.extend(names(&edit.on));
    ie.deactivate_predefined_rules.extend(names(&edit.off));
    out.ie(IeType::UPDATE_PDR, |w| ie.emit(w))
}

fn update_far(out: &mut Writer<'_>, edit: &FarEdit) -> Result<(), Full> {
    let flags = |e: &DestinationEdit| {
        let sndem = SessionModificationRequestFlags::SNDEM;
        e.end_marker.then_some(sndem)
    };
    let parameters = edit.to.as_ref().map(|e| UpdateForwardingParameters {
        destination_interface: e.side.map(|s| DestinationInterface(side(s))),
        network_instance: e.instance.map(|name| match name {
            None => Edit::Remove,
            Some(name) => Edit::Set(Name(name.as_bytes())),
        }),
        outer_header_creation: e.tunnel.map(|tunnel| match tunnel {
            None => Edit::Remove,
            Some(tunnel) => Edit::Set(outer_header(tunnel)),
        }),
        transport_level_marking: e
            .marking
            .map(|to| to.map_or(Edit::Remove, |to| Edit::Set(marking(to)))),
        pfcpsmreq_flags: flags(e),
        ..UpdateForwardingParameters::default()
    });
    let mut ie = UpdateFar {
        far_id: FarId(edit.id),
        apply_action: edit.action.map(action),
        bar_id: edit
            .bar
            .map(|bar| bar.map_or(Edit::Remove, |bar| Edit::Set(BarId(bar)))),
        ..UpdateFar::default()
    };
    match edit.as_created {
        true => ie.forwarding_parameters = parameters,
        false => ie.update_forwarding_parameters = parameters,
    }
    out.ie(IeType::UPDATE_FAR, |w| ie.emit(w))
}

fn update_qer(out: &mut Writer<'_>, edit: &QerEdit) -> Result<(), Full> {
    let ie = UpdateQer {
        qer_id: QerId(edit.id),
        gate_status: edit.open.map(gates),
        maximum_bitrate: edit.mbr.map(edited_rate),
        guaranteed_bitrate: edit.gbr.map(edited_rate),
        qos_flow_identifier: edit.qfi.map(|qfi| match qfi.and_then(Qfi::new) {
            None => Edit::Remove,
            Some(qfi) => Edit::Set(qfi),
        }),
        ..UpdateQer::default()
    };
    out.ie(IeType::UPDATE_QER, |w| ie.emit(w))
}

fn forwarding(to: &Destination) -> ForwardingParameters<'static> {
    ForwardingParameters {
        destination_interface: DestinationInterface(side(to.side)),
        network_instance: to.instance.map(|name| Name(name.as_bytes())),
        outer_header_creation: to.tunnel.map(outer_header),
        transport_level_marking: to.marking.map(marking),
        ..ForwardingParameters::default()
    }
}

fn marking((tos_traffic_class, mask): (u8, u8)) -> TransportLevelMarking {
    TransportLevelMarking {
        tos_traffic_class,
        mask,
    }
}

fn outer_header((teid, address): (u32, IpAddr)) -> OuterHeaderCreation {
    let teid = Teid::new(teid).expect("cases have no peers with TEID 0");
    match address {
        IpAddr::V4(address) => OuterHeaderCreation::gtpu_v4(teid, address),
        IpAddr::V6(address) => OuterHeaderCreation::gtpu_v6(teid, address),
    }
}

fn action(action: Action) -> ApplyAction {
    match action {
        Action::Drop => ApplyAction::DROP,
        Action::Forward => ApplyAction::FORW,
        Action::Buffer => ApplyAction::BUFF.in_one_octet(),
        Action::BufferAndNotify => ApplyAction::BUFF | ApplyAction::NOCP,
    }
}

fn gates((uplink, downlink): (bool, bool)) -> GateStatus {
    let gate = |open| if open { Gate::Open } else { Gate::Closed };
    GateStatus {
        uplink: gate(uplink),
        downlink: gate(downlink),
    }
}

fn edited_rate(to: Option<(u64, u64)>) -> Edit<BitRate> {
    to.map_or(Edit::Remove, |to| Edit::Set(rate(to)))
}

fn rate((uplink_kbps, downlink_kbps): (u64, u64)) -> BitRate {
    BitRate {
        uplink_kbps,
        downlink_kbps,
    }
}

fn edit<T>(value: Option<T>) -> Edit<T> {
    value.map_or(Edit::Remove, Edit::Set)
}

fn volume([uplink, downlink, total]: [Option<u64>; 3]) -> Volume {
    Volume {
        total,
        uplink,
        downlink,
    }
}

fn lost((packets, octets): (Option<u64>, Option<u64>)) -> DroppedDlTrafficThreshold {
    DroppedDlTrafficThreshold {
        downlink_packets: packets,
        downlink_octets: octets,
    }
}

fn triggers(limits: &UrrLimits) -> ReportingTriggers {
    let all = [
        (limits.tells_threshold, ReportingTriggers::VOLTH),
        (limits.tells_quota, ReportingTriggers::VOLQU),
        (limits.tells_start, ReportingTriggers::START),
        (limits.tells_period, ReportingTriggers::PERIO),
        (limits.tells_lost, ReportingTriggers::DROTH),
        (limits.times.tells[0], ReportingTriggers::TIMTH),
        (limits.times.tells[1], ReportingTriggers::TIMQU),
        (limits.times.tells[2], ReportingTriggers::QUVTI),
        (limits.times.tells[3], ReportingTriggers::QUHTI),
        (limits.times.tells[4], ReportingTriggers::STOPT),
    ];
    let asked = all.into_iter().filter(|(is_asked, _)| *is_asked);
    asked.fold(ReportingTriggers::NONE, |all, (_, trigger)| all | trigger)
}

fn method(urr: &UrrSpec) -> MeasurementMethod {
    let (volume, duration) = urr.measures;
    let mut method = MeasurementMethod::NONE;
    if volume {
        method |= MeasurementMethod::VOLUM;
    }
    if duration {
        method |= MeasurementMethod::DURAT;
    }
    method
}

fn information(urr: &UrrSpec) -> MeasurementInformation {
    let mut information = MeasurementInformation::NONE;
    if urr.counts_packets {
        information |= MeasurementInformation::MNOP;
    }
    if urr.inactive {
        information |= MeasurementInformation::INAM;
    }
    if urr.before_qos {
        information |= MeasurementInformation::MBQE;
    }
    if urr.at_once {
        information |= MeasurementInformation::ISTM;
    }
    information
}

fn side(side: Side) -> u8 {
    match side {
        Side::Access => 0,
        Side::Core => 1,
        Side::SgiLan => 2,
        Side::Control => 3,
    }
}

/// Reads a request as the twin gets it, in place: the structs are large.
pub fn read_establishment<'a>(place: &mut SessionEstablishmentRequest<'a>, body: &'a [u8]) {
    place.parse_into(body).expect("we wrote it");
}

/// As [`read_establishment`].
pub fn read_modification<'a>(place: &mut SessionModificationRequest<'a>, body: &'a [u8]) {
    place.parse_into(body).expect("we wrote it");
}
