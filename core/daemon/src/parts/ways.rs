//! Ways to gNBs and UPFs by other programs: N2's front and N4's rings, and how it is with them.

use crate::config::{self, CoreConfig};
use sluice_core_runtime::N4;
use sluice_sctp::front::FrontNews;
use sluice_shared_ring::WayNews;

/// Logs how it is with N2's front.
pub(crate) fn log_front(news: Vec<FrontNews>) {
    for one in news {
        match one {
            FrontNews::Reached => tracing::info!("{one}"),
            FrontNews::Refused { .. } | FrontNews::Gone => tracing::warn!("{one}"),
        }
    }
}

/// N4 goes by the rings that UPFs of core.yaml give.
pub(crate) fn set_rings(n4: &mut N4, config: &CoreConfig) {
    let wanted = config.sessions.as_ref().map(config::Sessions::rings);
    if let Err(e) = n4.set_ways(&wanted.unwrap_or_default()) {
        tracing::error!("rings to UPFs: {e}");
    }
}

/// Logs how it is with rings to UPFs.
pub(crate) fn log_rings(n4: &mut N4) {
    for (upf, news) in n4.take_ring_news() {
        match news {
            WayNews::Up => tracing::info!("N4 with the UPF at {upf} goes by rings"),
            WayNews::Gone => {
                tracing::warn!("N4 with the UPF at {upf} goes by UDP: its rings are gone");
            }
            WayNews::OtherPeer(other) => tracing::warn!(
                "N4 with the UPF at {upf} goes by UDP: its rings are those of a UPF at {other}"
            ),
        }
    }
}
