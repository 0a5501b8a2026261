//! Messages between network functions: flat, so that one form serves a queue, shared memory and a
//! socket.
//!
//! Each is a few octets without padding or pointer, with integers in network order and enums of
//! one checked octet. [`Message`] is any of them; as octets it has its number before it.

use sluice_ids::{Dnn, Guami, ServingNetworkName, Snssai, Supi, Tai};
use zerocopy::big_endian::{U16, U32, U64};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::call::Request;
use crate::container::{AppSessionText, Container};
use crate::context_data::{SdmSubscription, SmfRegistration};
use crate::exposure::{AmfEventSubscription, SmfEvent, SmfEventSubscription, UeState};
use crate::field::{
    AppSessionNews, AuthMethod, AuthResult, DNNS, DataChange, Identity, N2Sm, Nf, OFFERED,
    PolicyTrigger, Problem, REQUESTED, Removal, Resynchronisation, SLICES, SimAlgorithm, SmChange,
    SubscribedUpSecurity, TransferCause,
};
use crate::nrf::{AREAS, NfInstance, NfProfile, NfQuery, NfsFound, Served};
use crate::pcc::{PccRule, PccRules, RULES};
use ue_context::{MovedSessions, SomeDevice, SomeKeys, TransferReason, UeName};

mod slices;
mod subscription;
pub(crate) mod ue_context;
#[macro_use]
mod table;
#[macro_use]
mod transfer_rows;
#[macro_use]
mod exposure_rows;
#[macro_use]
mod context_rows;

pub use slices::AvailableSlices;

/// Longest message in octets.
pub const LONGEST: usize = 2048;

and_context_rows! {
    /// AMF to AUSF: begin an authentication.
    1 Authenticate to Ausf -> Challenge "Nausf_UEAuthentication_Authenticate Request" {
        /// Of whom.
        identity: Identity,
        /// For which network.
        network: ServingNetworkName,
        /// After a SIM refused a sequence number.
        resynchronisation: Resynchronisation,
    }
    /// AUSF to AMF: what to ask the UE.
    2 Challenge "Nausf_UEAuthentication_Authenticate Response" {
        /// To be named in the confirmation.
        context: U64,
        /// Instance of the AUSF that has it, as the Location of the resource names it (TS 29.509, 5.2.2.2.2).
        instance: u8,
        /// By which method: of 5G-AKA is what follows, of EAP-AKA' the last field.
        method: AuthMethod,
        /// The challenge.
        rand: [u8; 16],
        /// The home network's proof.
        autn: [u8; 16],
        /// Hash of the answer that is expected.
        hxres_star: [u8; 16],
        /// A packet of EAP for the UE.
        eap: Container,
    }
    /// AMF to AUSF: what the UE answered.
    3 Confirm to Ausf -> Confirmed "Nausf_UEAuthentication_Authenticate Request (confirmation)" {
        /// Which authentication.
        context: U64,
        /// Instance of the AUSF that has it.
        instance: u8,
        /// The answer.
        res_star: [u8; 16],
        /// There is none that was right: null (TS 29.509, 5.2.2.2.2).
        is_null: bool,
    }
    /// AUSF to AMF: it is that UE.
    4 Confirmed "Nausf_UEAuthentication_Authenticate Response (success)" {
        /// Who it is.
        supi: Supi,
        /// The serving network's key.
        kseaf: [u8; 32],
    }
    /// AUSF to UDM: an authentication vector.
    5 GetAuthenticationData to Udm -> AuthenticationData "Nudm_UEAuthentication_Get Request" {
        /// Of whom.
        identity: Identity,
        /// For which network.
        network: ServingNetworkName,
        /// After a SIM refused a sequence number.
        resynchronisation: Resynchronisation,
    }
    /// UDM to AUSF.
    6 AuthenticationData "Nudm_UEAuthentication_Get Response" {
        /// Who it is.
        supi: Supi,
        /// The challenge.
        rand: [u8; 16],
        /// The home network's proof.
        autn: [u8; 16],
        /// By which method: of 5G-AKA are the next two, of EAP-AKA' the last two.
        method: AuthMethod,
        /// The answer that is expected.
        xres_star: [u8; 16],
        /// The home network's key.
        kausf: [u8; 32],
        /// The answer that is expected.
        xres: [u8; 8],
        /// CK' and IK'.
        prime_keys: [u8; 32],
    }
    /// AUSF to UDM: how an authentication ended.
    7 AuthenticationOutcome to Udm -> Done "Nudm_UEAuthentication_ResultConfirmation Request" {
        /// Of whom.
        supi: Supi,
        /// For which network.
        network: ServingNetworkName,
        /// By which method.
        method: AuthMethod,
        /// Whether it was that UE.
        success: bool,
        /// Seconds since 1970.
        unix_s: U64,
    }
    /// Anyone: it is done.
    8 Done "Response" {
        /// Nothing more to say.
        reserved: u8,
    }
    /// Anyone: it is not done.
    9 Failure "Failure" {
        /// Why.
        problem: Problem,
    }
    /// AMF to UDM: what the subscriber may do.
    12 GetAccessAndMobility to Udm -> AccessAndMobility "Nudm_SDM_Get Request (access and mobility)" {
        /// Who.
        supi: Supi,
    }
    /// UDM to AMF, UDR to UDM.
    13 AccessAndMobility "Nudm_SDM_Get Response" {
        /// Most bits per second to the UE.
        ambr_down_bps: U64,
        /// Most bits per second from the UE.
        ambr_up_bps: U64,
        /// How many slices follow.
        slices: u8,
        /// A bit for each slice that is a default one.
        defaults: U16,
        /// Slices.
        slice: [Snssai; SLICES],
    }
    /// UDM to UDR: keys, as they are.
    14 QuerySubscription to Udr -> AuthenticationSubscription "Nudr_DM_Query Request (authentication subscription)" {
        /// Whose.
        supi: Supi,
    }
    /// UDM to UDR: keys, and the next sequence number, which is stored before the answer. In the TS these are two operations
    /// (TS 29.505, 5.2.2): a Query of the authentication subscription, and an Update (PATCH of sequenceNumber) on condition
    /// that nobody has changed it meanwhile. Here they are one: the UDR reads, counts and stores on one thread, so the
    /// condition always holds there, and cores that share a database have it judged by the store ([`NotStored::Instead`]).
    /// A second message would cost each registration a round trip, and a lost race another one, and change no number.
    ///
    /// [`NotStored::Instead`]: crate::NotStored::Instead
    15 AdvanceSqn to Udr -> AuthenticationSubscription "Nudr_DM_Query and Update Request (sequence number)" {
        /// Whose.
        supi: Supi,
        /// What the SIM said that it has, after it refused one; the next one follows from that.
        above: U64,
        /// Whether a SIM has said so.
        resynchronised: bool,
        /// Its counting part is not below this.
        floor: U64,
    }
    /// UDR to UDM.
    16 AuthenticationSubscription "Nudr_DM Response (authentication subscription)" {
        /// How the subscriber is authenticated.
        method: AuthMethod,
        /// What its keys are for.
        algorithm: SimAlgorithm,
        /// The subscriber's key; one of 128 bits is in front.
        k: [u8; 32],
        /// The operator's variant; one of 128 bits is in front.
        opc: [u8; 32],
        /// Sequence number.
        sqn: U64,
    }
    /// UDM to UDR.
    18 QueryAccessAndMobility to Udr -> AccessAndMobility "Nudr_DM_Query Request (access and mobility)" {
        /// Who.
        supi: Supi,
    }
    /// AMF to UDM: data networks of a slice.
    19 GetSmfSelection to Udm -> SmfSelection "Nudm_SDM_Get Request (SMF selection)" {
        /// Who.
        supi: Supi,
        /// In which slice.
        slice: Snssai,
    }
    /// UDM to UDR.
    20 QuerySmfSelection to Udr -> SmfSelection "Nudr_DM_Query Request (SMF selection)" {
        /// Who.
        supi: Supi,
        /// In which slice.
        slice: Snssai,
    }
    /// UDM to AMF, UDR to UDM.
    21 SmfSelection "Nudm_SDM_Get Response (SMF selection)" {
        /// How many names follow.
        dnns: u8,
        /// Data networks; the first is the default one.
        dnn: [Dnn; DNNS],
    }
    /// SMF to UDM: what the subscriber may do in a data network.
    22 GetSessionManagement to Udm -> SessionManagement "Nudm_SDM_Get Request (session management)" {
        /// Who.
        supi: Supi,
        /// In which slice.
        slice: Snssai,
        /// Which.
        dnn: Dnn,
    }
    /// UDM to UDR.
    23 QuerySessionManagement to Udr -> SessionManagement "Nudr_DM_Query Request (session management)" {
        /// Who.
        supi: Supi,
        /// In which slice.
        slice: Snssai,
        /// Which.
        dnn: Dnn,
    }
    /// UDM to SMF, UDR to UDM.
    24 SessionManagement "Nudm_SDM_Get Response (session management)" {
        /// Whether sessions may be of the types IPv4, IPv6, IPv4v6.
        types: [bool; 3],
        /// Number of the default type (TS 24.501, 9.11.4.11).
        default_type: u8,
        /// Session AMBR, bits per second to the UE.
        ambr_down_bps: U64,
        /// Session AMBR, bits per second from the UE.
        ambr_up_bps: U64,
        /// 5QI of the default flow.
        five_qi: u8,
        /// Its allocation and retention priority.
        priority: u8,
        /// The UE's own IPv4 address; zeros if it has none.
        ipv4: [u8; 4],
        /// The UE's own IPv6 /64 prefix; zeros if it has none.
        ipv6_prefix: [u8; 8],
        /// How the user plane is to be protected.
        up_security: SubscribedUpSecurity,
    }
    /// AMF to SMF: a session is wanted.
    25 CreateSmContext to Smf -> SmContextCreated "Nsmf_PDUSession_CreateSMContext Request" {
        /// Whose.
        supi: Supi,
        /// PDU session identity.
        session: u8,
        /// In which slice.
        slice: Snssai,
        /// In which data network.
        dnn: Dnn,
        /// The tracking area in which the UE is.
        area: Tai,
        /// The UE's message.
        n1: Container,
    }
    /// SMF to AMF.
    26 SmContextCreated "Nsmf_PDUSession_CreateSMContext Response" {
        /// Whether there is a context.
        created: bool,
        /// What it is called.
        context: U64,
        /// Why there is none, for the UE.
        n1: Container,
    }
    /// AMF to SMF: something changed.
    27 UpdateSmContext to Smf -> SmContextUpdated "Nsmf_PDUSession_UpdateSMContext Request" {
        /// Of which session.
        context: U64,
        /// What.
        change: SmChange,
        /// The UE's message.
        n1: Container,
        /// The gNB's transfer.
        n2: Container,
    }
    /// SMF to AMF: what follows from it.
    28 SmContextUpdated "Nsmf_PDUSession_UpdateSMContext Response" {
        /// For the UE.
        n1: Container,
        /// What the gNB does.
        n2_kind: N2Sm,
        /// For the gNB.
        n2: Container,
    }
    /// AMF to SMF: the session is over.
    29 ReleaseSmContext to Smf -> Done "Nsmf_PDUSession_ReleaseSMContext Request" {
        /// Which.
        context: U64,
    }
    /// SMF to AMF: for the UE and its gNB.
    30 TransferN1N2 to Amf -> Transferred "Namf_Communication_N1N2MessageTransfer Request" {
        /// Whose.
        supi: Supi,
        /// PDU session identity.
        session: u8,
        /// An idle UE is not paged for it.
        skips_idle_ue: bool,
        /// For the UE.
        n1: Container,
        /// What the gNB does.
        n2_kind: N2Sm,
        /// For the gNB.
        n2: Container,
    }
    /// SMF to AMF: the session is over.
    31 NotifySmContext to Amf -> Done "Nsmf_PDUSession_SMContextStatusNotify Request" {
        /// Whose.
        supi: Supi,
        /// PDU session identity.
        session: u8,
        /// What it was called.
        context: U64,
    }
    /// AMF to SMF.
    33 Transferred "Namf_Communication_N1N2MessageTransfer Response" {
        /// What becomes of it.
        cause: TransferCause,
        /// Seconds before which there is no use in trying again; 0 says nothing of it.
        retry_after_s: U16,
    }
    /// AMF to SMF: the UE did not answer its paging.
    34 NotifyTransferFailure to Smf -> Done "Namf_Communication_N1N2TransferFailureNotification Request" {
        /// Whose.
        supi: Supi,
        /// PDU session identity.
        session: u8,
        /// Seconds before which there is no use in trying again.
        retry_after_s: U16,
    }
    /// A UDM of another program to UDR: the sequence number that it has counted on by itself, as in the TS (TS 29.505, 5.2.2:
    /// PATCH of sequenceNumber on a condition). The answer has the number that is stored: another one than `to` if somebody
    /// was faster.
    35 UpdateSqn to Udr -> AuthenticationSubscription "Nudr_DM_Update Request (sequence number)" {
        /// Subscriber.
        supi: Supi,
        /// The last number, from which it has counted.
        from: U64,
        /// The number that is the last one from now on.
        to: U64,
    }
    /// AMF to AUSF: a packet of EAP that the UE answered.
    44 EapResponse to Ausf -> EapOutcome "Nausf_UEAuthentication_Authenticate Request (EAP message)" {
        /// Which authentication.
        context: U64,
        /// Instance of the AUSF that has it.
        instance: u8,
        /// The packet.
        eap: Container,
    }
    /// AUSF to AMF: what follows from it.
    45 EapOutcome "Nausf_UEAuthentication_Authenticate Response (EAP message)" {
        /// To be named with what the UE answers, while it goes on.
        context: U64,
        /// How the authentication stands.
        result: AuthResult,
        /// Who it is, after success.
        supi: Supi,
        /// The serving network's key, after success.
        kseaf: [u8; 32],
        /// A packet of EAP for the UE.
        eap: Container,
    }
    /// UDM to UDR: how an authentication ended (AuthEvent: TS 29.503, 6.3.6.2.7).
    46 StoreAuthentication to Udr -> Done "Nudr_DM_Update Request (authentication status)" {
        /// Of whom.
        supi: Supi,
        /// For which network.
        network: ServingNetworkName,
        /// By which method.
        method: AuthMethod,
        /// Whether it was that UE.
        success: bool,
        /// Seconds since 1970.
        unix_s: U64,
    }
    /// SMF to PCF: which rules a new session has.
    50 CreateSmPolicy to Pcf -> SmPolicy "Npcf_SMPolicyControl_Create Request" {
        /// Whose.
        supi: Supi,
        /// PDU session identity.
        session: u8,
        /// In which slice.
        slice: Snssai,
        /// In which data network.
        dnn: Dnn,
        /// What the SMF calls the session, for what the PCF says later.
        context: U64,
        /// Number of the session's type (TS 24.501, 9.11.4.11).
        session_type: u8,
        /// Subscribed session AMBR, bits per second to the UE.
        ambr_down_bps: U64,
        /// Subscribed session AMBR, bits per second from the UE.
        ambr_up_bps: U64,
        /// Subscribed 5QI of the default flow.
        five_qi: u8,
        /// Allocation and retention priority of the default flow.
        priority: u8,
    }
    /// PCF to SMF.
    51 SmPolicy "Npcf_SMPolicyControl Response" {
        /// What the PCF calls the session.
        policy: U64,
        /// All its rules.
        rules: PccRules,
    }
    /// SMF to PCF: something happened that the PCF is to know of.
    52 UpdateSmPolicy to Pcf -> SmPolicy "Npcf_SMPolicyControl_Update Request" {
        /// Of which session.
        policy: U64,
        /// What.
        trigger: PolicyTrigger,
        /// The UE's address; zeros where it has none.
        ipv4: [u8; 4],
        /// The UE's /64 prefix; zeros where it has none.
        ipv6_prefix: [u8; 8],
        /// Rules that could not be carried out, or that the UE gives up or wants otherwise, a bit for each.
        rules: U16,
        /// The rule that the UE asks for.
        requested: PccRule,
    }
    /// PCF to SMF: the session has other rules from now on.
    53 NotifySmPolicy to Smf -> SmPolicyNotified "Npcf_SMPolicyControl_UpdateNotify Request" {
        /// Which, as the SMF calls it.
        context: U64,
        /// Which, as the PCF calls it.
        policy: U64,
        /// All its rules.
        rules: PccRules,
    }
    /// SMF to PCF.
    54 SmPolicyNotified "Npcf_SMPolicyControl_UpdateNotify Response" {
        /// Rules for which there is no room, a bit for each.
        refused: U16,
    }
    /// SMF to PCF: the session is over.
    55 DeleteSmPolicy to Pcf -> Done "Npcf_SMPolicyControl_Delete Request" {
        /// Which.
        policy: U64,
    }
    /// AMF to PCF: how the UE is to be treated.
    78 CreateAmPolicy to Pcf -> AmPolicy "Npcf_AMPolicyControl_Create Request" {
        /// Subscriber.
        supi: Supi,
        /// The AMF that serves the UE.
        guami: Guami,
        /// The tracking area in which the UE is.
        area: Tai,
    }
    /// PCF to AMF.
    79 AmPolicy "Npcf_AMPolicyControl_Create Response" {
        /// Name of the association at the PCF.
        policy: U64,
        /// RFSP index for the UE's gNB (TS 23.501, 5.3.4.3), from 1 to 256; 0 for none.
        rfsp: U16,
    }
    /// AMF to PCF: the UE is not registered any more.
    80 DeleteAmPolicy to Pcf -> Done "Npcf_AMPolicyControl_Delete Request" {
        /// Name of the association at the PCF.
        policy: U64,
    }
    /// UDM to SMF: what the subscriber may do in its sessions is otherwise.
    56 NotifySubscription to Smf -> Done "Nudm_SDM_Notification Request (session management)" {
        /// Who.
        supi: Supi,
    }
    /// AMF to NSSF: which slices a UE may use.
    57 SelectSlices to Nssf -> SlicesSelected "Nnssf_NSSelection_Get Request" {
        /// The AMF.
        amf: NfInstance,
        /// Where it is.
        tai: Tai,
        /// How many it asks for.
        requests: u8,
        /// What it asks for.
        requested: [Snssai; REQUESTED],
        /// How many slices of its subscription follow.
        slices: u8,
        /// A bit for each of those that is a default one.
        defaults: U16,
        /// Slices of its subscription.
        slice: [Snssai; SLICES],
        /// How many of all these its gNB offers there.
        offers: u8,
        /// Those.
        offered: [Snssai; OFFERED],
    }
    /// NSSF to AMF.
    58 SlicesSelected "Nnssf_NSSelection_Get Response" {
        /// How many it may use.
        allows: u8,
        /// Those.
        allowed: [Snssai; REQUESTED],
        /// How many it asked for and may not use.
        rejects: u8,
        /// A bit for each of those that it may not use in its registration area alone.
        in_area: U16,
        /// Those.
        rejected: [Snssai; REQUESTED],
    }
    /// An NF to the NRF: it is there, and it serves this alone.
    59 RegisterNf to Nrf -> NfRegistered "Nnrf_NFManagement_NFRegister Request" {
        /// The first part of its profile.
        profile: NfProfile,
    }
    /// NRF to an NF.
    60 NfRegistered "Nnrf_NFManagement_NFRegister Response" {
        /// Seconds between heart-beats; 0 for none.
        heart_beat_s: U16,
    }
    /// An NF to the NRF: it serves this, too.
    61 ServeMore to Nrf -> Done "Nnrf_NFManagement_NFUpdate Request (served)" {
        /// Who.
        instance: NfInstance,
        /// A further part of its profile.
        served: Served,
    }
    /// An NF to the NRF: it is still there.
    62 HeartBeat to Nrf -> Done "Nnrf_NFManagement_NFUpdate Request (heart-beat)" {
        /// Who.
        instance: NfInstance,
        /// Percent of what it can take.
        load: u8,
    }
    /// An NF to the NRF: it goes.
    63 DeregisterNf to Nrf -> Done "Nnrf_NFManagement_NFDeregister Request" {
        /// Who.
        instance: NfInstance,
    }
    /// AMF to NRF: who can do it.
    64 DiscoverNfs to Nrf -> NfsDiscovered "Nnrf_NFDiscovery_Request Request" {
        /// What is to be done.
        query: NfQuery,
    }
    /// NRF to AMF.
    65 NfsDiscovered "Nnrf_NFDiscovery_Request Response" {
        /// Those, best first.
        found: NfsFound,
    }
}

impl SmContextUpdated {
    /// Nothing follows.
    pub const NOTHING: Self = Self {
        n1: Container::NONE,
        n2_kind: N2Sm::None,
        n2: Container::NONE,
    };
}

impl Done {
    /// The only one.
    pub const ALL: Self = Self { reserved: 0 };
}

#[cfg(test)]
mod tests;
