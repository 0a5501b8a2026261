//! Flag IEs.

use super::bits::bit_set;

bit_set! {
    /// PFCP Association Release Request (8.2.77).
    pub struct AssociationReleaseRequestFlags(u8), octets = 1 {
        /// The UP function asks for the release of the association.
        SARR = 0;
        /// Usage reports of sessions follow the release request.
        URSS = 1;
    }
}

bit_set! {
    /// PFCPASRsp-Flags (8.2.134).
    pub struct AssociationSetupResponseFlags(u8), octets = 1 {
        /// The association existed before, and the requested sessions were retained.
        PSREI = 0;
        /// The UPF is configured to be used for Inter-PLMN User Plane Security (5.27).
        UUPSI = 1;
    }
}

bit_set! {
    /// PFCPASReq-Flags (8.2.178).
    pub struct AssociationSetupRequestFlags(u8), octets = 1 {
        /// The UPF is configured to be used for Inter-PLMN User Plane Security (5.27).
        UUPSI = 0;
    }
}

bit_set! {
    /// PFCPAUReq-Flags (8.2.120).
    pub struct AssociationUpdateRequestFlags(u8), octets = 1 {
        /// Both sides begin to prepare the release of the association.
        PARPS = 0;
    }
}

bit_set! {
    /// PFCPSEReq-Flags (8.2.136).
    pub struct SessionEstablishmentRequestFlags(u8), octets = 1 {
        /// A session that existed before is restored, with its identifiers.
        RESTI = 0;
        /// Usage measurement stops to pause charging.
        SUMPC = 1;
    }
}

bit_set! {
    /// PFCPSMReq-Flags (8.2.31).
    pub struct SessionModificationRequestFlags(u8), octets = 1 {
        /// Drop the packets now buffered for the session.
        DROBU = 0;
        /// Send End Marker packets to the old F-TEIDs.
        SNDEM = 1;
        /// Report the usage of all URRs.
        QAURR = 2;
        /// Usage measurement stops to pause charging.
        SUMPC = 3;
        /// Usage measurement resumes.
        RUMUC = 4;
        /// Delete all DL N3mb and N19mb F-TEIDs.
        DETEID = 5;
    }
}

bit_set! {
    /// PFCPSDRsp-Flags (IE type 318).
    pub struct SessionDeletionResponseFlags(u8), octets = 1 {
        /// Usage reports that were pending follow in Session Report Requests.
        PURU = 0;
    }
}

bit_set! {
    /// PFCPSRReq-Flags (8.2.119).
    pub struct SessionReportRequestFlags(u8), octets = 1 {
        /// The UP function has reported all usage and deleted the session.
        PSDBU = 0;
    }
}

bit_set! {
    /// PFCPSRRsp-Flags (8.2.32).
    pub struct SessionReportResponseFlags(u8), octets = 1 {
        /// Drop the packets now buffered for the session.
        DROBU = 0;
    }
}

bit_set! {
    /// OCI Flags (8.2.76).
    pub struct OciFlags(u8), octets = 1 {
        /// The UP function's overload is bound to the node's address.
        AOCI = 0;
    }
}

bit_set! {
    /// Report Type (8.2.21).
    pub struct ReportType(u8), octets = 1 {
        /// Downlink Data Report.
        DLDR = 0;
        /// Usage Report.
        USAR = 1;
        /// Error Indication Report.
        ERIR = 2;
        /// User Plane Inactivity Report.
        UPIR = 3;
        /// TSC Management Information Report.
        TMIR = 4;
        /// Session Report.
        SESR = 5;
        /// UP Initiated Session Request.
        UISR = 6;
    }
}

bit_set! {
    /// Node Report Type (8.2.69).
    pub struct NodeReportType(u8), octets = 1 {
        /// User Plane Path Failure Report.
        UPFR = 0;
        /// User Plane Path Recovery Report.
        UPRR = 1;
        /// Clock Drift Report.
        CKDR = 2;
        /// GTP-U Path QoS Report.
        GPQR = 3;
        /// Peer GTP-U entity Restart Report.
        PURR = 4;
        /// Vendor-Specific Report.
        VSR = 5;
    }
}

bit_set! {
    /// Measurement Information (8.2.68).
    pub struct MeasurementInformation(u16), octets = 1 {
        /// Measure before QoS enforcement.
        MBQE = 0;
        /// Measurement is inactive.
        INAM = 1;
        /// Reduced application detection information.
        RADI = 2;
        /// Time metering starts at once, not with the first packet.
        ISTM = 3;
        /// Measure the number of packets too.
        MNOP = 4;
        /// Report the start of the pause of charging.
        SSPOC = 5;
        /// The URR takes part in the pause of charging.
        ASPOC = 6;
        /// Measurement of control traffic for CIoT is off.
        CIAM = 7;
    }
}

bit_set! {
    /// Usage Information (8.2.59).
    pub struct UsageInformation(u8), octets = 1 {
        /// Usage before the Monitoring Time.
        BEF = 0;
        /// Usage after the Monitoring Time.
        AFT = 1;
        /// Usage after QoS enforcement.
        UAE = 2;
        /// Usage before QoS enforcement.
        UBE = 3;
    }
}

bit_set! {
    /// RQI (8.2.88).
    pub struct Rqi(u8), octets = 1 {
        /// Reflective QoS is to be indicated to the UE.
        RQI = 0;
    }
}

bit_set! {
    /// QER Control Indications (8.2.174).
    pub struct QerControlIndications(u8), octets = 1 {
        /// Report the rate status on release.
        RCSR = 0;
        /// MO exception data.
        MOED = 1;
        /// No rate enforcement.
        NORD = 2;
    }
}

bit_set! {
    /// QER Indications (IE type 319).
    pub struct QerIndications(u8), octets = 1 {
        /// Insert the DL MBS QFI sequence number.
        IQFIS = 0;
    }
}

bit_set! {
    /// Data Status (8.2.179).
    pub struct DataStatus(u8), octets = 1 {
        /// The first packet was discarded.
        DROP = 0;
        /// The first packet was buffered.
        BUFF = 1;
    }
}

bit_set! {
    /// IP Version (8.2.177).
    pub struct IpVersion(u8), octets = 1 {
        /// IPv4.
        V4 = 0;
        /// IPv6.
        V6 = 1;
    }
}
