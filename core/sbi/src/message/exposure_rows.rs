//! Rows of messages with functions that are no part of the core: subscriptions to events, and sessions of applications.
//!
//! A notification has no receiver in the core: it goes to whoever subscribed ([`Place::outside`](crate::Place::outside)).

/// All rows that are given, then these.
macro_rules! and_exposure_rows {
    ($($rows:tt)*) => {
        and_transfer_rows! {
            $($rows)*
            /// To an AMF: events of UEs are to be told.
            81 SubscribeAmfEvents to Amf -> AmfEventsSubscribed "Namf_EventExposure_Subscribe Request" {
                /// Identity of the subscription that changes; 0 for a new one.
                id: U64,
                /// UEs, events and bounds.
                subscription: AmfEventSubscription,
            }
            /// AMF to a subscriber.
            82 AmfEventsSubscribed "Namf_EventExposure_Subscribe Response" {
                /// Identity of the subscription.
                id: U64,
                /// End, in seconds since 1970.
                until_unix_s: U64,
                /// Kinds of events of which the state at the beginning follows.
                immediate: u8,
                /// That state.
                state: UeState,
                /// Time of it, in seconds since 1970.
                unix_s: U64,
                /// Whether more is told.
                is_active: bool,
            }
            /// To an AMF: events are to be told no more.
            83 UnsubscribeAmfEvents to Amf -> Done "Namf_EventExposure_Unsubscribe Request" {
                /// Identity of the subscription.
                id: U64,
            }
            /// AMF to a subscriber.
            84 NotifyAmfEvents "Namf_EventExposure_Notify Request" {
                /// Identity of the subscription.
                id: U64,
                /// Kinds of events.
                events: u8,
                /// UE.
                supi: Supi,
                /// State of it from now on.
                state: UeState,
                /// Seconds since 1970.
                unix_s: U64,
                /// Whether more is told.
                is_active: bool,
                /// Reports that are left; 0 without a bound.
                left: U32,
            }
            /// To an AMF: how voice reaches a UE.
            85 QueryUe to Amf -> UeInfo "Namf_MT_ProvideDomainSelectionInfo Request" {
                /// UE.
                supi: Supi,
            }
            /// AMF to whoever asked.
            86 UeInfo "Namf_MT_ProvideDomainSelectionInfo Response" {
                /// IMS voice over PS sessions is supported where the UE is.
                has_ims_voice: bool,
            }
            /// To an AMF: a UE is to be connected. The answer comes when it is, or when it does not answer its paging.
            87 ReachUe to Amf -> Done "Namf_MT_EnableUEReachability Request" {
                /// UE.
                supi: Supi,
            }
            /// To an AMF: that it goes or comes is to be told.
            88 SubscribeAmfStatus to Amf -> AmfStatusSubscribed "Namf_Communication_AMFStatusChangeSubscribe Request" {
                /// Identity of the subscription that changes; 0 for a new one.
                id: U64,
            }
            /// AMF to a subscriber.
            89 AmfStatusSubscribed "Namf_Communication_AMFStatusChangeSubscribe Response" {
                /// Identity of the subscription.
                id: U64,
            }
            /// To an AMF.
            90 UnsubscribeAmfStatus to Amf -> Done "Namf_Communication_AMFStatusChangeUnsubscribe Request" {
                /// Identity of the subscription.
                id: U64,
            }
            /// AMF to a subscriber.
            91 NotifyAmfStatus "Namf_Communication_AMFStatusChangeNotify Request" {
                /// Identity of the subscription.
                id: U64,
                /// The AMF.
                guami: Guami,
                /// Whether it serves UEs from now on.
                is_available: bool,
            }
            /// An AMF to NSSF: slices that it supports in a tracking area.
            92 StoreAvailability to Nssf -> AvailabilityStored "Nnssf_NSSAIAvailability_Update Request" {
                /// The AMF.
                amf: NfInstance,
                /// First area of an update.
                is_first: bool,
                /// Last area of an update: areas of before that the update does not have are forgotten.
                is_last: bool,
                /// Tracking area.
                tai: Tai,
                /// Slices there.
                slices: AvailableSlices,
            }
            /// NSSF to an AMF.
            93 AvailabilityStored "Nnssf_NSSAIAvailability_Update Response" {
                /// Slices that are authorized there.
                authorized: AvailableSlices,
            }
            /// An AMF to NSSF: nothing is known of its slices any more.
            94 ForgetAvailability to Nssf -> Done "Nnssf_NSSAIAvailability_Delete Request" {
                /// The AMF.
                amf: NfInstance,
            }
            /// To the NSSF: changes of slices in tracking areas are to be told.
            95 SubscribeAvailability to Nssf -> AvailabilitySubscribed "Nnssf_NSSAIAvailability_Subscribe Request" {
                /// Identity of the subscription that changes; 0 for a new one.
                id: U64,
                /// How many tracking areas follow.
                areas: u8,
                /// Tracking areas.
                area: [Tai; AREAS],
                /// End, in seconds since 1970; 0 leaves it to the NSSF.
                until_unix_s: U64,
            }
            /// NSSF to a subscriber.
            96 AvailabilitySubscribed "Nnssf_NSSAIAvailability_Subscribe Response" {
                /// Identity of the subscription.
                id: U64,
                /// End, in seconds since 1970.
                until_unix_s: U64,
            }
            /// To the NSSF.
            97 UnsubscribeAvailability to Nssf -> Done "Nnssf_NSSAIAvailability_Unsubscribe Request" {
                /// Identity of the subscription.
                id: U64,
            }
            /// NSSF to a subscriber.
            98 NotifyAvailability "Nnssf_NSSAIAvailability_Notify Request" {
                /// Identity of the subscription.
                id: U64,
                /// Tracking area.
                tai: Tai,
                /// Slices that are authorized there from now on.
                authorized: AvailableSlices,
            }
            /// To an SMF: events of sessions are to be told.
            99 SubscribeSmfEvents to Smf -> SmfEventsSubscribed "Nsmf_EventExposure_Subscribe Request" {
                /// Identity of the subscription that changes; 0 for a new one.
                id: U64,
                /// Sessions, events and bounds.
                subscription: SmfEventSubscription,
            }
            /// SMF to a subscriber.
            100 SmfEventsSubscribed "Nsmf_EventExposure_Subscribe Response" {
                /// Identity of the subscription.
                id: U64,
                /// End, in seconds since 1970.
                until_unix_s: U64,
            }
            /// To an SMF: events are to be told no more.
            101 UnsubscribeSmfEvents to Smf -> Done "Nsmf_EventExposure_Unsubscribe Request" {
                /// Identity of the subscription.
                id: U64,
            }
            /// SMF to a subscriber.
            102 NotifySmfEvent "Nsmf_EventExposure_Notify Request" {
                /// Identity of the subscription.
                id: U64,
                /// Kind of event.
                event: SmfEvent,
                /// Seconds since 1970.
                unix_s: U64,
                /// Subscriber of the session.
                supi: Supi,
                /// PDU session identity.
                session: u8,
                /// In which slice.
                slice: Snssai,
                /// In which data network.
                dnn: Dnn,
                /// The UE's address; zeros where it has none.
                ipv4: [u8; 4],
                /// The UE's /64 prefix; zeros where it has none.
                ipv6_prefix: [u8; 8],
                /// Whether more is told.
                is_active: bool,
            }
            /// An application to PCF: it wants flows of its own in a session.
            103 CreateAppSession to Pcf -> AppSessionStored "Npcf_PolicyAuthorization_Create Request" {
                /// Request of the application.
                request: AppSessionText,
            }
            /// PCF to an application.
            104 AppSessionStored "Npcf_PolicyAuthorization Response" {
                /// Name of the session of the application.
                app: U64,
            }
            /// An application to PCF: it wants these flows from now on.
            105 UpdateAppSession to Pcf -> AppSessionStored "Npcf_PolicyAuthorization_Update Request" {
                /// Name of the session of the application.
                app: U64,
                /// Request of the application, whole.
                request: AppSessionText,
            }
            /// An application to PCF: it needs its flows no more.
            106 DeleteAppSession to Pcf -> Done "Npcf_PolicyAuthorization_Delete Request" {
                /// Name of the session of the application.
                app: U64,
            }
            /// PCF to an application.
            107 NotifyAppSession "Npcf_PolicyAuthorization_Notify Request" {
                /// Name of the session of the application.
                app: U64,
                /// News of it.
                news: AppSessionNews,
                /// How many media are concerned.
                media: u8,
                /// Numbers of their components.
                medium: [U32; RULES],
            }
        }
    };
}
