//! UP Function Features (TS 29.244, 8.2.25), announced and not announced.
//!
//! | bit | advertised | why |
//! |-----|------------|-----|
//! | FTUP | yes | TEIDs come from us, CHOOSE and CHOOSE ID work |
//! | EMPU | yes | SNDEM puts an End Marker behind the last packet into the old tunnel |
//! | MNOP | yes | packets are counted and reported where a URR asks |
//! | BUNDL | yes | bundled messages are taken apart before they are handled |
//! | EPFAR | yes | the last usage of every session is reported ahead of an association release |
//! | BUCP, DDND, DLBD, UDBC, DDDS | no | nothing is buffered: BUFF drops, BARs are without effect |
//! | PDIU, MTE | no | PDIs state F-TEID and UE address themselves |
//! | UEIP, IP6PL | no | UE addresses come from the CP function, IPv6 prefixes have 64 bits |
//! | PFDM, PFDE, ADPDP | no | neither applications nor predefined rules are known |
//! | TRST, HEEU, TREU, FRRT, IPTV, GCOM, TSCU, ATSSS, ETHAR | no | not on this path |
//! | DPDRA | no | a PDR with an (in)activation time is refused |
//! | SSET, MPAS, RESPS | no | a session stays with the association that established it |
//! | QUOAC, VTIME, NORP, QUASF | no | URRs with quotas are refused |
//! | TRACE, QFQM, GPQM, RTTL, NSPOC, PSUPRM and later ones | no | not there |

use sluice_wire::pfcp::value::UpFunctionFeatures as Up;

/// The features.
pub const UP_FUNCTION_FEATURES: Up =
    Up(Up::FTUP.0 | Up::EMPU.0 | Up::MNOP.0 | Up::BUNDL.0 | Up::EPFAR.0);
