//! UP Function Features (TS 29.244, 8.2.25), announced and not announced.

use crate::config::Config;
use sluice_wire::pfcp::value::UpFunctionFeatures as Up;

/// The features that are announced.
pub const UP_FUNCTION_FEATURES: Up = Up(Up::DDND.0
    | Up::PFDM.0
    | Up::PFDE.0
    | Up::UDBC.0
    | Up::EMPU.0
    | Up::MNOP.0
    | Up::BUNDL.0
    | Up::EPFAR.0
    | Up::FRRT.0
    | Up::VTIME.0);

/// The features that are announced where upf.yaml asks for them.
const CONFIGURED_FEATURES: Up = Up(Up::FTUP.0 | Up::UEIP.0 | Up::ADPDP.0);

/// The features of a UP function that is configured so.
pub fn up_function_features(config: &Config) -> Up {
    let configured = [
        (Up::FTUP, config.choose_fteid),
        (Up::UEIP, !config.allocation.is_empty()),
        (Up::ADPDP, !config.predefined.is_empty()),
    ];
    let asked = configured.iter().filter(|(_, is_asked)| *is_asked);
    asked.fold(UP_FUNCTION_FEATURES, |all, (bit, _)| all | *bit)
}

/// A feature, what is said of it, and the test that proves one that is announced.
#[derive(Clone, Copy, Debug)]
pub struct FeatureRow {
    /// The bit.
    pub bit: Up,
    /// Its name in the TS.
    pub name: &'static str,
    /// What is served, or why it is not announced.
    pub note: &'static str,
    /// The test of an announced one.
    pub test: &'static str,
}

impl FeatureRow {
    /// True if the bit is set in what we tell, if only where upf.yaml asks for it.
    pub const fn is_announced(&self) -> bool {
        Up(UP_FUNCTION_FEATURES.0 | CONFIGURED_FEATURES.0).contains(self.bit)
    }
}

macro_rules! features {
    ($($bit:ident $note:literal $($test:ident)?;)*) => {
        &[$(FeatureRow {
            bit: Up::$bit,
            name: stringify!($bit),
            note: $note,
            test: concat!("" $(, stringify!($test))?),
        }),*]
    };
}

/// A row for every bit, in the order of the TS.
pub const fn features() -> &'static [FeatureRow] {
    features! {
        BUCP "downlink data is not handed to the CP function for buffering";
        DDND "a BAR's Downlink Data Notification Delay postpones the report" a_bar_postpones_the_report_and_bounds_what_is_held;
        DLBD "packets are held for a time of the configuration";
        TRST "no traffic steering";
        FTUP "TEIDs come from us; CHOOSE and CHOOSE ID work; not set where `n4.choose_fteid` is false" one_choose_id_is_one_tunnel_with_a_chain_of_rules;
        PFDM "flow descriptions of applications are taken; no URLs or domain names" what_is_told_of_an_application_is_what_its_pdrs_match;
        HEEU "no header enrichment";
        TREU "no redirection";
        EMPU "SNDEM puts an End Marker behind the last packet into the old tunnel" the_end_marker_leaves_before_anything_takes_the_new_path;
        PDIU "PDIs state F-TEID and UE address themselves";
        UDBC "as many packets are held as a BAR suggests" a_bar_postpones_the_report_and_bounds_what_is_held;
        QUOAC "packets beyond a quota are dropped";
        TRACE "trace sessions are not made";
        FRRT "packets to and from framed routes are the UE's" packets_to_a_framed_route_find_the_entry_of_its_ue;
        PFDE "PFD Contents with several flow descriptions are taken" what_is_told_of_an_application_is_what_its_pdrs_match;
        EPFAR "the last usage of every session is reported ahead of an association release" an_announced_release_brings_the_last_usage_of_each_session;
        DPDRA "a PDR with an (in)activation time is refused";
        ADPDP "set where upf.yaml has `predefined`: PDRs activate these rules by name" predefined_rules_are_announced_where_there_are_any;
        UEIP "set where a pool of upf.yaml says `allocate`: CHV4 and CHV6 are answered from it" the_feature_is_told_where_there_are_pools;
        SSET "a session stays with the association that established it";
        MNOP "packets are counted and reported where a URR asks" deletion_reports_every_urr_once;
        MTE "PDIs state F-TEID and UE address themselves";
        BUNDL "bundled messages are taken apart before they are handled" follow_on_separates_the_messages;
        GCOM "no 5G VN groups";
        MPAS "one association for each CP function";
        RTTL "no redundant transmission";
        VTIME "a quota whose validity time is over lets nothing pass" quotas_that_are_not_valid_or_not_used_any_more_stop;
        NORP "reports are made as long as the URR is there";
        IPTV "no multicast";
        IP6PL "a session has one address of each family, none of more than 64 bits of IPv6";
        TSCU "no time sensitive communication";
        MPTCP "no access traffic steering";
        ATSSS_LL "no access traffic steering";
        QFQM "no QoS monitoring";
        GPQM "no QoS monitoring";
        MT_EDT "the size of held packets is not told";
        CIOT "no packet rates";
        ETHAR "no Ethernet sessions";
        DDDS "what becomes of held packets is not told";
        RDS "no reliable data service";
        RTTWP "no round trip times are measured";
        QUASF "packets beyond a quota are dropped";
        NSPOC "the pause of charging is not notified";
        L2TP "no L2TP";
        UPBER "no relocation of edge servers";
        RESPS "a session stays with the association that established it";
        IPREP "no replacement of addresses";
        DNSTS "no DNS traffic steering";
        DRQOS "no QoS monitoring";
        MBSN4 "no multicast";
        PSUPRM "resources are not managed by slice";
        EPPPI "the DSCP alone tells the paging policy";
        RATP "no redirection";
        UPIDP "no user plane identity";
    }
}
