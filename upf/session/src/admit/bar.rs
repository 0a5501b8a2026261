//! Create, Update and Remove BAR (TS 29.244, 7.5.2.6, 7.5.4.11, 7.5.4.12, 7.5.9.2).

use crate::admission::Admission;
use crate::network::Network;
use crate::refusal::{self, Refusal};
use crate::rules::Bar;
use sluice_wire::ids::BarId;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::{CreateBar, RemoveBar, UpdateBar};
use sluice_wire::pfcp::value::NotificationDelay;

impl<N: Network> Admission<'_, N> {
    /// A new BAR.
    pub fn create_bar(&mut self, ie: &CreateBar<'_>) -> Result<(), Refusal> {
        let rule = refusal::bar(ie.bar_id);
        if self.draft.bar(ie.bar_id).is_some() {
            return Err(Refusal::identity(rule));
        }
        let delay = ie.downlink_data_notification_delay;
        let bar = Bar {
            id: ie.bar_id,
            delay: delay.map_or(0, |delay| delay.0),
            packets: ie.suggested_buffering_packets_count,
        };
        let full = Refusal::full(Some(rule), Some(IeType::CREATE_BAR));
        self.draft.bars.try_push(bar).map_err(|_| full)
    }

    /// A changed BAR.
    pub fn update_bar(&mut self, ie: &UpdateBar<'_>) -> Result<(), Refusal> {
        let delay = ie.downlink_data_notification_delay;
        if self.set_bar(ie.bar_id, delay, ie.suggested_buffering_packets_count) {
            Ok(())
        } else {
            Err(Refusal::identity(refusal::bar(ie.bar_id)))
        }
    }

    /// A BAR gets what is told; false if there is none.
    pub fn set_bar(
        &mut self,
        id: BarId,
        delay: Option<NotificationDelay>,
        packets: Option<u8>,
    ) -> bool {
        let found = self.draft.bars.iter_mut().find(|bar| bar.id == id);
        let is_there = found.is_some();
        if let Some(bar) = found {
            bar.delay = delay.map_or(bar.delay, |delay| delay.0);
            bar.packets = packets.or(bar.packets);
        }
        is_there
    }

    /// A BAR that goes.
    pub fn remove_bar(&mut self, ie: &RemoveBar) -> Result<(), Refusal> {
        let at = self.draft.bars.iter().position(|bar| bar.id == ie.bar_id);
        let at = at.ok_or(Refusal::identity(refusal::bar(ie.bar_id)))?;
        self.draft.bars.swap_remove(at);
        Ok(())
    }
}
