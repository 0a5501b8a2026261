//! What the CP function says of held packets in its answer to a report (TS 29.244, 7.5.9.2): Update BAR and
//! DROBU.

use crate::draft::{self, Base, Scope};
use crate::network::Network;
use crate::node::Moment;
use crate::node::Part;
use crate::node::Shared;
use crate::pending::Launch;
use crate::store::SessionRef;
use sluice_wire::pfcp::message::SessionReportResponse;
use sluice_wire::pfcp::value::SessionReportResponseFlags;

/// The change of rules, if there is one. What cannot be carried out, for a BAR has gone or there is no room, is
/// not: nobody waits for an answer.
pub fn carry_out<N: Network>(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    name: SessionRef,
    response: &SessionReportResponse,
    net: &mut N,
) -> Option<Launch> {
    let flags = response.pfcpsrrsp_flags.unwrap_or_default();
    let drops = flags.contains(SessionReportResponseFlags::DROBU);
    if response.update_bar.is_empty() && !drops {
        return None;
    }
    let session = part.store.get(name)?;
    let base = Base {
        session: Some(name),
        shard: u32::from(session.shard),
        ue: Default::default(),
        restores: false,
    };
    let drafted = draft::draft(shared, part, at, &base, net, |work| {
        for ie in &response.update_bar {
            let (delay, packets) = (
                ie.downlink_data_notification_delay,
                ie.suggested_buffering_packets_count,
            );
            work.set_bar(ie.bar_id, delay, packets);
        }
        Ok(Scope::Rules)
    });
    let mut drafted = drafted.ok()?;
    if drops && draft::discard_held(&mut drafted).is_err() {
        draft::undo(shared, part, drafted, net);
        return None;
    }
    Some(draft::commit(shared, part, name, drafted, at.seconds()))
}
