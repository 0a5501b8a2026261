//! The contents of plain IEs, by family (TS 29.244, 8.2).

mod access;
mod address;
mod apply_action;
mod bits;
mod edit;
mod f_seid;
mod f_teid;
mod failed_rule_id;
mod features;
mod flags;
mod flow_information;
mod forwarding;
mod fq_csid;
mod interface;
mod name;
mod node_id;
mod number;
mod ohc;
mod ohr;
mod pfd_contents;
mod qos;
mod redirect;
mod remote_peer;
mod sdf_filter;
mod time;
mod triggers;
mod ue_ip;
mod up_ip_resource;
mod user_id;
mod volume;

pub use access::{PdnType, SNssai, SmfSetId, UeIpAddressPoolIdentity};
pub use address::{AlternativeSmfIpAddress, CpPfcpEntityIpAddress};
pub use apply_action::ApplyAction;
pub use edit::Edit;
pub use f_seid::FSeid;
pub use f_teid::FTeid;
pub use failed_rule_id::FailedRuleId;
pub use features::{CpFunctionFeatures, UpFunctionFeatures};
pub use flags::*;
pub use flow_information::{FlowDirection, FlowInformation};
pub use forwarding::{ForwardingPolicy, HeaderEnrichment, TransportLevelMarking};
pub use fq_csid::{CSIDS_PER_IE, CsidNode, FqCsid};
pub use interface::{DestinationInterface, InterfaceType, SourceInterface};
pub use name::{Name, Text};
pub use node_id::NodeId;
pub use number::{DlBufferingSuggestedPacketCount, OffendingIe};
pub use ohc::{OuterHeaderCreation, OuterHeaderDescription};
pub use ohr::{OuterHeaderRemoval, OuterHeaderRemovalDescription};
pub use pfd_contents::PfdContents;
pub use qos::{BitRate, Gate, GateStatus, PagingPolicyIndicator};
pub use redirect::{RedirectAddressType, RedirectInformation};
pub use remote_peer::RemoteGtpuPeer;
pub use sdf_filter::SdfFilter;
pub use time::{Milliseconds, NotificationDelay, NtpTime, Seconds, Timer};
pub use triggers::{MeasurementMethod, ReportingTriggers, UsageReportTrigger};
pub use ue_ip::UeIpAddress;
pub use up_ip_resource::UserPlaneIpResourceInformation;
pub use user_id::UserId;
pub use volume::{
    AdditionalUsageReportsInformation, DownlinkDataServiceInformation, DroppedDlTrafficThreshold,
    Volume, VolumeMeasurement,
};

/// The value of an IE that nobody here interprets.
pub type Raw<'a> = &'a [u8];
