//! CP and UP Function Features (TS 29.244, 8.2.25 and 8.2.58).

use super::bits::bit_set;

bit_set! {
    /// UP Function Features (8.2.25).
    pub struct UpFunctionFeatures(u64), octets = 2 {
        /// Downlink data buffering in the CP function.
        BUCP = 0;
        /// Buffering parameter "Downlink Data Notification Delay".
        DDND = 1;
        /// Buffering parameter "DL Buffering Duration".
        DLBD = 2;
        /// Traffic steering.
        TRST = 3;
        /// F-TEID allocation in the UP function.
        FTUP = 4;
        /// PFD management.
        PFDM = 5;
        /// Header enrichment of uplink traffic.
        HEEU = 6;
        /// Traffic redirection enforcement in the UP function.
        TREU = 7;
        /// Sending of End Marker packets.
        EMPU = 8;
        /// PDI optimised signalling (traffic endpoints).
        PDIU = 9;
        /// Uplink and downlink buffering control.
        UDBC = 10;
        /// Quota action provisioned by a FAR.
        QUOAC = 11;
        /// Trace.
        TRACE = 12;
        /// Framed routing.
        FRRT = 13;
        /// PFD contents with several flow descriptions, URLs or domains.
        PFDE = 14;
        /// Enhanced PFCP association release.
        EPFAR = 15;
        /// Deferred PDR activation or deactivation.
        DPDRA = 16;
        /// Activation and deactivation of pre-defined PDRs.
        ADPDP = 17;
        /// Allocation of UE IP addresses or prefixes.
        UEIP = 18;
        /// PFCP sessions successively controlled by SMFs of a set.
        SSET = 19;
        /// Measurement of the number of packets.
        MNOP = 20;
        /// Several instances of Traffic Endpoint ID in a PDI.
        MTE = 21;
        /// PFCP messages bundled in one datagram.
        BUNDL = 22;
        /// 5G VN group communication.
        GCOM = 23;
        /// Several PFCP associations to the SMFs of a set.
        MPAS = 24;
        /// Redundant transmission at the transport layer.
        RTTL = 25;
        /// Quota validity time.
        VTIME = 26;
        /// Number of reports.
        NORP = 27;
        /// IPTV.
        IPTV = 28;
        /// Allocation of an IPv6 prefix of a stated length.
        IP6PL = 29;
        /// Time sensitive communication.
        TSCU = 30;
        /// MPTCP proxy.
        MPTCP = 31;
        /// ATSSS-LL steering.
        ATSSS_LL = 32;
        /// QoS monitoring per QoS flow.
        QFQM = 33;
        /// QoS monitoring per GTP-U path.
        GPQM = 34;
        /// Reporting of the size of DL data for MT-EDT.
        MT_EDT = 35;
        /// CIoT: small data packet rate enforcement.
        CIOT = 36;
        /// Ethernet PDU session anchor relocation.
        ETHAR = 37;
        /// Reporting of the first buffered or discarded downlink packet.
        DDDS = 38;
        /// Reliable Data Service.
        RDS = 39;
        /// Round trip time measurement with the UE.
        RTTWP = 40;
        /// URR exemption from quota action.
        QUASF = 41;
        /// Notification of the start of the pause of charging.
        NSPOC = 42;
        /// L2TP.
        L2TP = 43;
        /// Uplink packets buffering in case of EAS relocation.
        UPBER = 44;
        /// Restoration of PFCP sessions.
        RESPS = 45;
        /// IP address and port replacement.
        IPREP = 46;
        /// DNS traffic steering.
        DNSTS = 47;
        /// Direct reporting of QoS monitoring events.
        DRQOS = 48;
        /// MBS multicast over N4.
        MBSN4 = 49;
        /// Per slice UP resource management.
        PSUPRM = 50;
        /// Enhanced provisioning of the Paging Policy Indicator.
        EPPPI = 51;
        /// Redirection address types with a port.
        RATP = 52;
        /// User plane identity provisioned by the UP function.
        UPIDP = 53;
    }
}

bit_set! {
    /// CP Function Features (8.2.58).
    pub struct CpFunctionFeatures(u16), octets = 1 {
        /// Load control.
        LOAD = 0;
        /// Overload control.
        OVRL = 1;
        /// Enhanced PFCP association release.
        EPFAR = 2;
        /// PFCP sessions successively controlled by SMFs of a set.
        SSET = 3;
        /// PFCP messages bundled in one datagram.
        BUNDL = 4;
        /// Several PFCP associations from the SMFs of a set.
        MPAS = 5;
        /// Additional usage reports in the session deletion response.
        ARDR = 6;
        /// Reporting of UE IP address usage.
        UIAUR = 7;
        /// PFCP session establishment or modification with partial success.
        PSUCC = 8;
        /// Notification of a restarted peer GTP-U entity.
        RPGUR = 9;
    }
}
