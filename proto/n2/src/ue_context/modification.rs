//! UE Context Modification (TS 38.413, 8.3.4): a key of the access stratum that replaces the one before.

use sluice_security::{Kgnb, SecurityCapability};

use crate::cause::Cause;
use crate::table::message;

message! {
    /// UE Context Modification Request (9.2.2.7).
    pub struct ContextModification =
        UEContextModificationRequest, "UE Context Modification Request", of ids
    {
        /// KgNB; none leaves it.
        ignorable key: Kgnb = SecurityKey,
        /// Algorithms that the UE has; none leaves them.
        ignorable capability: SecurityCapability = UESecurityCapabilities,
    }
}

message! {
    /// UE Context Modification Response (9.2.2.8).
    pub struct UeContextModificationResponse =
        UEContextModificationResponse, "UE Context Modification Response", of ids {}
}

message! {
    /// UE Context Modification Failure (9.2.2.9).
    pub struct UeContextModificationFailure =
        UEContextModificationFailure, "UE Context Modification Failure", of ids
    {
        /// Why.
        expected cause: Cause = Cause,
    }
}
