//! Configuration update: what a UE shows of its network (TS 23.502, 4.2.4.2; TS 24.501, 5.4.4).

use sluice_n1::{ConfigurationUpdate, Downlink, NetworkTime};

use crate::procedure::Procedure;

/// Tells the UE names and time, if the operator has any to be told. Nothing waits for an answer:
/// none is asked for.
pub(crate) fn tell(p: &Procedure) {
    let update = p.with(|state| {
        let names = state.config.network_name.clone();
        let (full_name, short_name) = names.unzip();
        let unix_s = state.now.unix_s;
        let at = |offset_quarters| NetworkTime {
            unix_s,
            offset_quarters,
        };
        let time = state.config.time_zone_quarters.map(at);
        ConfigurationUpdate {
            full_name,
            short_name,
            time,
        }
    });
    if update != ConfigurationUpdate::default() {
        // 1: the AMF decides; 2a: UE Configuration Update Command
        p.send("2a", &Downlink::ConfigurationUpdateCommand(update));
    }
}
