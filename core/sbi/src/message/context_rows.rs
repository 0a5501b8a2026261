//! Rows of messages about context data of UEs: registrations of SMFs, and subscriptions to changes of subscriber data.

/// All rows that are given, then these.
macro_rules! and_context_rows {
    ($($rows:tt)*) => {
        and_exposure_rows! {
            $($rows)*
            /// UDR to UDM: what is stored of a subscriber is otherwise (TS 23.502, 5.2.12.2.8).
            47 NotifyDataChange to Udm -> Done "Nudr_DM_Notify Request" {
                /// Subscriber.
                supi: Supi,
                /// Change of its data.
                change: DataChange,
            }
            /// SMF to UDM: it has a PDU session of the UE.
            66 RegisterSmf to Udm -> Done "Nudm_UECM_Registration Request (SMF)" {
                /// Session and SMF.
                registration: SmfRegistration,
            }
            /// SMF to UDM: the session is over.
            67 DeregisterSmf to Udm -> Done "Nudm_UECM_Deregistration Request (SMF)" {
                /// Subscriber of the session.
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
                /// Subscriber of the session.
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
                /// Whether its AMF has subscribed to access and mobility data.
                tells_amf: bool,
                /// Whether its SMF has subscribed to session management data.
                tells_smf: bool,
                /// The AMF that has it.
                guami: Guami,
                /// Subscriptions to changes of its data.
                subscriptions: u8,
            }
            /// A UDM of another program to UDR: an SMF registration as it is stored.
            36 QuerySmf to Udr -> StoredSmf "Nudr_DM_Query Request (SMF registration)" {
                /// Subscriber of the session.
                supi: Supi,
                /// PDU session identity.
                session: u8,
            }
            /// UDR to a UDM of another program.
            37 StoredSmf "Nudr_DM_Query Response (SMF registration)" {
                /// Session and SMF.
                registration: SmfRegistration,
            }
            /// A UDM of another program to UDR: one of the subscriptions to changes as it is stored.
            38 QuerySdm to Udr -> StoredSdm "Nudr_DM_Query Request (SDM subscription)" {
                /// Subscriber of the data.
                supi: Supi,
                /// Number among those of the subscriber, from 0.
                number: u8,
            }
            /// UDR to a UDM of another program.
            39 StoredSdm "Nudr_DM_Query Response (SDM subscription)" {
                /// Subscriber and data.
                subscription: SdmSubscription,
            }
            /// AMF or SMF to UDM: it is to be told of changes.
            72 SubscribeSdm to Udm -> SdmSubscribed "Nudm_SDM_Subscribe Request" {
                /// Subscriber and data.
                subscription: SdmSubscription,
            }
            /// UDM to AMF or SMF.
            73 SdmSubscribed "Nudm_SDM_Subscribe Response" {
                /// Identity of the subscription ([`SdmSubscription::id`]).
                id: U64,
            }
            /// AMF or SMF to UDM: it is to be told no more.
            74 UnsubscribeSdm to Udm -> Done "Nudm_SDM_Unsubscribe Request" {
                /// Subscriber of the data.
                supi: Supi,
                /// Identity of the subscription.
                id: U64,
            }
            /// UDM to UDR.
            75 StoreSdm to Udr -> Done "Nudr_DM_Create Request (SDM subscription)" {
                /// Subscriber and data.
                subscription: SdmSubscription,
            }
            /// UDM to UDR.
            76 DeleteSdm to Udr -> Done "Nudr_DM_Delete Request (SDM subscription)" {
                /// Subscriber of the data.
                supi: Supi,
                /// Identity of the subscription.
                id: U64,
            }
            /// UDM to AMF: what the subscriber may do is otherwise.
            77 NotifyAccess to Amf -> Done "Nudm_SDM_Notification Request (access and mobility)" {
                /// Subscriber.
                supi: Supi,
            }
        }
    };
}
