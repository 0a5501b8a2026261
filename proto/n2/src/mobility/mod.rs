//! UE mobility management (TS 38.413, 8.4): handovers by N2 and by Xn.

pub(crate) mod container;
pub(crate) mod handover_preparation;
pub(crate) mod handover_resource_allocation;
pub(crate) mod path_switch;
pub(crate) mod ran_status_transfer;

pub use container::{read_source_container, source_container, target_container};
pub use handover_preparation::{
    handover_command, handover_required, not_prepared, read_handover_command,
    read_handover_required,
};
pub use handover_resource_allocation::{not_admitted, read_not_admitted};
pub use path_switch::{
    none_switched, path_switch_failed, path_switch_unsuccessful, read_path_switch_failed,
};

use crate::table::messages;
use handover_preparation::{
    HandoverCancel, HandoverCancelAcknowledge, HandoverCommand, HandoverPreparationFailure,
    HandoverRequired,
};
use handover_resource_allocation::{
    HandoverFailure, HandoverNotify, HandoverRequest, HandoverRequestAcknowledge,
};
use path_switch::{PathSwitchRequest, PathSwitchRequestAcknowledge, PathSwitchRequestFailure};
use ran_status_transfer::{DownlinkStatus, UplinkStatus};

messages! {
    /// Messages of handovers from gNBs.
    pub enum HandoverFromRan {
        /// The UE has come by Xn.
        PathSwitchRequest(Box<PathSwitchRequest>),
        /// The UE is to go to another gNB.
        Required(Box<HandoverRequired>),
        /// The target has room.
        RequestAcknowledge(Box<HandoverRequestAcknowledge>),
        /// The target has none.
        Failure(HandoverFailure),
        /// The UE has come.
        Notify(HandoverNotify),
        /// The UE is not to go after all.
        Cancel(HandoverCancel),
        /// Counts of the radio bearers.
        UplinkStatus(UplinkStatus),
    }
}

messages! {
    /// Messages of handovers from an AMF.
    pub enum HandoverFromAmf {
        /// 9.2.3.9
        PathSwitchRequestAcknowledge(Box<PathSwitchRequestAcknowledge>),
        /// 9.2.3.10
        PathSwitchRequestFailure(PathSwitchRequestFailure),
        /// 9.2.3.4
        Request(Box<HandoverRequest>),
        /// 9.2.3.2
        Command(Box<HandoverCommand>),
        /// 9.2.3.3
        PreparationFailure(HandoverPreparationFailure),
        /// 9.2.3.12
        CancelAcknowledge(HandoverCancelAcknowledge),
        /// 9.2.3.14
        DownlinkStatus(DownlinkStatus),
    }
}
