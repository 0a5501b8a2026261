//! Rows of messages about context data of UEs: registrations of AMFs and SMFs, and subscriptions to changes of subscriber data.

/// All rows that are given, then these.
macro_rules! and_context_rows {
    ($($rows:tt)*) => {
        and_exposure_rows! {
            $($rows)*
            /// AMF to UDM: the UE is here.
            10 RegisterAmf to Udm -> Done "Nudm_UECM_Registration Request" {
                /// Who.
                supi: Supi,
                /// Where.
                guami: Guami,
                /// In which network.
                network: ServingNetworkName,
                /// Whether the UE registers for the first time, and does not come from another AMF with its context.
                is_initial: bool,
            }
            /// AMF to UDM: the UE is not here any more.
            11 DeregisterAmf to Udm -> Done "Nudm_UECM_Deregistration Request" {
                /// Who.
                supi: Supi,
                /// Where it was.
                guami: Guami,
            }
            /// UDM to UDR: where a UE is. It leaves the AMF that is named, and whichever it is if that is all zeros.
            17 StoreAmf to Udr -> AmfStored "Nudr_DM_Update Request (AMF registration)" {
                /// Who.
                supi: Supi,
                /// Where.
                guami: Guami,
                /// Whether it is there.
                registered: bool,
                /// In which network it is there.
                network: ServingNetworkName,
            }
            /// UDR to UDM.
            40 AmfStored "Nudr_DM_Update Response (AMF registration)" {
                /// Whether an AMF had the UE before.
                had_amf: bool,
                /// That AMF.
                before: Guami,
            }
            /// UDM to AMF: the UE is not to be here any more.
            32 NotifyDeregistration to Amf -> Done "Nudm_UECM_DeregistrationNotification Request" {
                /// Who.
                supi: Supi,
                /// Why.
                removal: Removal,
                /// The AMF that had it.
                amf: Guami,
            }
            /// Anyone to UDM: which AMF and which SMFs have a UE.
            41 GetUeContext to Udm -> ContextData "Nudm_UECM_Get Request" {
                /// Which UE.
                supi: Supi,
            }
            /// Anyone to UDM: the SMF of a PDU session.
            42 GetSmfRegistration to Udm -> StoredSmf "Nudm_UECM_Get Request (SMF)" {
                /// Subscriber of the session.
                supi: Supi,
                /// PDU session identity.
                session: u8,
            }
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
            /// UDM to UDR: which AMF and which SMFs have a UE, and who is to be told of a change.
            70 QueryContextData to Udr -> ContextData "Nudr_DM_Query Request (context data)" {
                /// Of which UE.
                supi: Supi,
            }
            /// UDR to UDM, UDM to anyone.
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
