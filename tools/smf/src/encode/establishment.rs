//! Session Establishment Request (TS 29.244, 7.5.2).

use sluice_wire::pfcp::group::CreateBar;
use sluice_wire::pfcp::value::{Name, Seconds, UserId};
use sluice_wire::pfcp::{Full, IeType, Writer};

use super::context::{Direction, EncodeContext, put, put_some};
use super::flow::{write_flow_fars, write_flow_pdrs};
use super::rules::write_urr;
use crate::TbcdDigits;
use crate::dialect::profile::{BeforeGnb, UserIdStyle};

pub(crate) fn write_establishment(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
) -> Result<(), Full> {
    put(w, IeType::NODE_ID, &scene.cp.node_id.as_wire())?;
    put(w, IeType::F_SEID, &scene.cp_f_seid())?;
    write_pdrs(w, scene)?;
    write_fars(w, scene)?;
    write_urrs(w, scene)?;
    let with_session = scene.flow_with_session();
    let both = scene.profile.far.before_gnb != BeforeGnb::Absent;
    for qer in scene.qers((!both).then_some(Direction::Uplink)) {
        put(w, IeType::CREATE_QER, &qer)?;
    }
    if let Some(flow) = with_session {
        put(w, IeType::CREATE_QER, &scene.flow_qer(flow))?;
    }
    if let Some(bar) = &scene.profile.bar {
        let bar = CreateBar {
            bar_id: bar.bar_id,
            downlink_data_notification_delay: bar.delay,
            ..CreateBar::default()
        };
        put(w, IeType::CREATE_BAR, &bar)?;
    }
    let timer = scene.plan.inactivity_s.map(Seconds);
    put_some(w, IeType::USER_PLANE_INACTIVITY_TIMER, &timer)?;
    write_session(w, scene)
}

pub(super) fn write_urrs(w: &mut Writer<'_>, scene: &EncodeContext<'_>) -> Result<(), Full> {
    scene
        .urr_styles()
        .try_for_each(|(id, style)| write_urr(w, id, style, Some(scene.plan)))
}

/// The directions that the first rules have, in order.
fn directions(scene: &EncodeContext<'_>) -> &'static [Direction] {
    match (scene.profile.far.before_gnb, scene.profile.downlink_first) {
        (BeforeGnb::Absent, _) => &[Direction::Uplink],
        (_, true) => &[Direction::Downlink, Direction::Uplink],
        (_, false) => &[Direction::Uplink, Direction::Downlink],
    }
}

fn write_pdrs(w: &mut Writer<'_>, scene: &EncodeContext<'_>) -> Result<(), Full> {
    for direction in directions(scene) {
        put(w, IeType::CREATE_PDR, &scene.pdr(*direction))?;
    }
    if scene.profile.cp_channels {
        for pdr in scene.channel_pdrs() {
            put(w, IeType::CREATE_PDR, &pdr)?;
        }
    }
    match scene.flow_with_session() {
        Some(flow) => write_flow_pdrs(w, scene, flow),
        None => Ok(()),
    }
}

fn write_fars(w: &mut Writer<'_>, scene: &EncodeContext<'_>) -> Result<(), Full> {
    for direction in directions(scene) {
        put(w, IeType::CREATE_FAR, &scene.far(*direction))?;
    }
    if scene.profile.cp_channels {
        put(w, IeType::CREATE_FAR, &scene.channel_far())?;
    }
    match scene.flow_with_session() {
        Some(flow) => write_flow_fars(w, scene, flow),
        None => Ok(()),
    }
}

/// Writes the IEs of the session as a whole.
fn write_session(w: &mut Writer<'_>, scene: &EncodeContext<'_>) -> Result<(), Full> {
    let (style, plan) = (&scene.profile.session, scene.plan);
    if style.pdn_type {
        put(w, IeType::PDN_TYPE, &plan.ue.pdn_type())?;
    }
    let user_id = plan.imsi.as_ref().and_then(|imsi| match style.user_id {
        UserIdStyle::Absent => None,
        UserIdStyle::Imsi => Some(UserId {
            imsi: Some(imsi.tbcd()),
            imei: plan.imeisv.as_ref().map(TbcdDigits::tbcd),
            msisdn: plan.msisdn.as_ref().map(TbcdDigits::tbcd),
            ..UserId::default()
        }),
        UserIdStyle::Supi => Some(UserId {
            supi: Some(imsi.supi()),
            ..UserId::default()
        }),
    });
    if let Some(user_id) = user_id {
        put(w, IeType::USER_ID, &user_id)?;
    }
    if style.apn_dnn {
        put(w, IeType::APN_DNN, &Name(plan.network.dnn.labels()))?;
    }
    if style.s_nssai {
        put(w, IeType::S_NSSAI, &plan.slice)?;
    }
    Ok(())
}
