//! Measurement Method and reporting triggers of a URR (TS 29.244, 8.2.19, 8.2.40, 8.2.41).

use super::bits::bit_set;

bit_set! {
    /// Measurement Method (8.2.40).
    pub struct MeasurementMethod(u8), octets = 1 {
        /// Duration.
        DURAT = 0;
        /// Volume.
        VOLUM = 1;
        /// Events.
        EVENT = 2;
    }
}

bit_set! {
    /// Reporting Triggers (8.2.19): two octets up to Release 15, three since.
    pub struct ReportingTriggers(u32), octets = 3 {
        /// Periodic reporting.
        PERIO = 0;
        /// Volume threshold.
        VOLTH = 1;
        /// Time threshold.
        TIMTH = 2;
        /// Quota holding time.
        QUHTI = 3;
        /// Start of traffic.
        START = 4;
        /// Stop of traffic.
        STOPT = 5;
        /// Dropped DL traffic threshold.
        DROTH = 6;
        /// Linked usage reporting.
        LIUSA = 7;
        /// Volume quota.
        VOLQU = 8;
        /// Time quota.
        TIMQU = 9;
        /// Envelope closure.
        ENVCL = 10;
        /// MAC addresses.
        MACAR = 11;
        /// Event threshold.
        EVETH = 12;
        /// Event quota.
        EVEQU = 13;
        /// IP multicast join or leave.
        IPMJL = 14;
        /// Quota validity time.
        QUVTI = 15;
        /// Reached end of the MBMS reception.
        REEMR = 16;
        /// User plane inactivity timer.
        UPINT = 17;
    }
}

bit_set! {
    /// Usage Report Trigger (8.2.41): why a report was made; two octets up to Release 15.
    pub struct UsageReportTrigger(u32), octets = 3 {
        /// Periodic reporting.
        PERIO = 0;
        /// Volume threshold.
        VOLTH = 1;
        /// Time threshold.
        TIMTH = 2;
        /// Quota holding time.
        QUHTI = 3;
        /// Start of traffic.
        START = 4;
        /// Stop of traffic.
        STOPT = 5;
        /// Dropped DL traffic threshold.
        DROTH = 6;
        /// Immediate report: the CP function asked.
        IMMER = 7;
        /// Volume quota.
        VOLQU = 8;
        /// Time quota.
        TIMQU = 9;
        /// Linked usage reporting.
        LIUSA = 10;
        /// Termination: the URR or the session ended, or the last PDR left the URR.
        TERMR = 11;
        /// Monitoring time.
        MONIT = 12;
        /// Envelope closure.
        ENVCL = 13;
        /// MAC addresses.
        MACAR = 14;
        /// Event threshold.
        EVETH = 15;
        /// Event quota.
        EVEQU = 16;
        /// Termination by the UP function.
        TEBUR = 17;
        /// IP multicast join or leave.
        IPMJL = 18;
        /// Quota validity time.
        QUVTI = 19;
        /// End of the MBMS reception.
        EMRRE = 20;
        /// User plane inactivity timer.
        UPINT = 21;
    }
}
