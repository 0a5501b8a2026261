//! The messages (TS 29.244, 7.4 and 7.5), each a table of its IEs, named as in the TS.
//!
//! `parse` is convenient; `parse_into` a default value spares the copy of a large message:
//!
//! ```
//! use sluice_wire::pfcp::message::SessionEstablishmentRequest;
//!
//! let mut request = SessionEstablishmentRequest::default();
//! let refused = request.parse_into(&[]).unwrap_err();
//! assert_eq!(refused.to_string(), "Mandatory IE missing (66): Node ID (60)");
//! ```

mod association;
mod management;
mod node_report;
mod session_deletion;
mod session_establishment;
mod session_modification;
mod session_report;

pub use association::{
    AssociationReleaseRequest, AssociationReleaseResponse, AssociationSetupRequest,
    AssociationSetupResponse, AssociationUpdateRequest, AssociationUpdateResponse,
    HeartbeatRequest, HeartbeatResponse, VersionNotSupportedResponse,
};
pub use management::{
    PfdManagementRequest, PfdManagementResponse, SessionSetDeletionRequest,
    SessionSetDeletionResponse,
};
pub use node_report::{NodeReportRequest, NodeReportResponse};
pub use session_deletion::{SessionDeletionRequest, SessionDeletionResponse};
pub use session_establishment::{
    SessionEstablishmentHead, SessionEstablishmentRequest, SessionEstablishmentResponse,
};
pub use session_modification::{
    SessionModificationHead, SessionModificationRequest, SessionModificationResponse,
};
pub use session_report::{SessionReportRequest, SessionReportResponse};
