//! Rows of messages between AMFs about a UE that goes from one to the other (TS 23.502, 4.2.2.2.2).
//!
//! The AMF that is asked is of another core: a carrier of services finds it by the GUAMI in the UE's 5G-GUTI.

/// All rows that are given, then these.
macro_rules! and_transfer_rows {
    ($($rows:tt)*) => {
        messages! {
            $($rows)*
            /// An AMF to the AMF that the UE was at: its context.
            108 TransferUeContext to Amf -> UeContext "Namf_Communication_UEContextTransfer Request" {
                /// UE, as that AMF calls it.
                ue: UeName,
                /// Why.
                reason: TransferReason,
                /// Registration Request of the UE, as it came.
                nas: Container,
            }
            /// The AMF of before.
            109 UeContext "Namf_Communication_UEContextTransfer Response" {
                /// Subscriber.
                supi: Supi,
                /// Which device it is.
                device: SomeDevice,
                /// Keys of NAS.
                keys: SomeKeys,
                /// PDU sessions.
                sessions: MovedSessions,
            }
            /// An AMF to the AMF that the UE was at: what has become of the UE.
            110 UpdateRegistration to Amf -> RegistrationUpdated "Namf_Communication_RegistrationStatusUpdate Request" {
                /// UE, as that AMF calls it.
                ue: UeName,
                /// The UE is registered at the AMF that asks; else the context is of no use to that one.
                is_transferred: bool,
                /// PDU sessions that the AMF of before releases, a bit for each identity.
                released: U16,
            }
            /// The AMF of before.
            111 RegistrationUpdated "Namf_Communication_RegistrationStatusUpdate Response" {
                /// Whether that is so now.
                is_complete: bool,
            }
        }
    };
}
