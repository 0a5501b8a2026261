//! Rows of messages about context data of UEs: registrations of SMFs.

/// All rows that are given, then these.
macro_rules! and_context_rows {
    ($($rows:tt)*) => {
        messages! {
            $($rows)*
            /// SMF to UDM: it has a PDU session of the UE.
            66 RegisterSmf to Udm -> Done "Nudm_UECM_Registration Request (SMF)" {
                /// Session and SMF.
                registration: SmfRegistration,
            }
            /// SMF to UDM: the session is over.
            67 DeregisterSmf to Udm -> Done "Nudm_UECM_Deregistration Request (SMF)" {
                /// Whose session.
                supi: Supi,
                /// PDU session identity.
                session: u8,
            }
            /// UDM to UDR.
            68 StoreSmf to Udr -> Done "Nudr_DM_Create Request (SMF registration)" {
                /// Session and SMF.
                registration: SmfRegistration,
            }
            /// UDM to UDR.
            69 DeleteSmf to Udr -> Done "Nudr_DM_Delete Request (SMF registration)" {
                /// Whose session.
                supi: Supi,
                /// PDU session identity.
                session: u8,
            }
            /// UDM to UDR: who is to be told of a change.
            70 QueryContextData to Udr -> ContextData "Nudr_DM_Query Request (context data)" {
                /// Of which UE.
                supi: Supi,
            }
            /// UDR to UDM.
            71 ContextData "Nudr_DM_Query Response (context data)" {
                /// Whether an AMF has the UE.
                has_amf: bool,
                /// PDU sessions that an SMF has, a bit for each identity.
                sessions: U16,
            }
        }
    };
}
