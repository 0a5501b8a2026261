//! Grouped IEs (TS 29.244, 7.4 and 7.5): each a table of its members.
//!
//! Groups are nested as the types here are, at most three deep; bytes cannot nest them further.

mod application;
mod bar;
mod far;
mod node;
mod pdi;
mod pdr;
mod qer;
mod report;
mod traffic_endpoint;
mod urr;
mod usage_report;

pub use application::{ApplicationDetectionInformation, ApplicationIdsPfds, PfdContext};
pub use bar::{CreateBar, RemoveBar, UpdateBar, UpdateBarInSessionReportResponse};
pub use far::{
    CreateFar, DuplicatingParameters, ForwardingParameters, RemoveFar, UpdateDuplicatingParameters,
    UpdateFar, UpdateForwardingParameters,
};
pub use node::{SessionRetentionInformation, UeIpAddressPoolInformation};
pub use pdi::Pdi;
pub use pdr::{CreatePdr, CreatedPdr, RemovePdr, UpdatePdr, UpdatedPdr};
pub use qer::{CreateQer, RemoveQer, UpdateQer};
pub use report::{
    DownlinkDataReport, ErrorIndicationReport, PartialFailureInformation, PeerUpRestartReport,
    UserPlanePathFailureReport, UserPlanePathRecoveryReport,
};
pub use traffic_endpoint::{
    CreateTrafficEndpoint, CreatedTrafficEndpoint, RemoveTrafficEndpoint, UpdateTrafficEndpoint,
};
pub use urr::{CreateUrr, QueryUrr, RemoveUrr, UpdateUrr};
pub use usage_report::UsageReport;
