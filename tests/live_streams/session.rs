//! What a recorded session has asked for, as far as packets tell, and what was told of it.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use sluice_smf_emulator::Tunnel;
use sluice_wire::ids::{FarId, PdrId, Seid, Teid, UrrId};
use sluice_wire::pfcp::group::{CreatePdr, CreateUrr, CreatedPdr, UsageReport};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::{
    ApplyAction, Edit, FTeid, OuterHeaderCreation, ReportingTriggers, SourceInterface,
    UsageReportTrigger,
};

/// Where a FAR of the downlink sends packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Nowhere yet.
    Unknown,
    /// The UE is idle.
    Held,
    To(Tunnel),
}

/// A PDR.
#[derive(Clone, Debug)]
pub struct Rule {
    pub id: PdrId,
    precedence: u32,
    pub source: SourceInterface,
    pub teid: Option<Teid>,
    pub qfi: Option<u8>,
    filters: Vec<String>,
    pub far: FarId,
    urrs: Vec<UrrId>,
}

impl Rule {
    fn read(pdr: &CreatePdr<'_>) -> Self {
        let texts = pdr.pdi.sdf_filter.iter().filter_map(|f| f.flow_description);
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        Self {
            id: pdr.pdr_id,
            precedence: pdr.precedence.0,
            source: pdr.pdi.source_interface,
            teid: pdr.pdi.local_f_teid.and_then(|f_teid| f_teid.teid()),
            qfi: pdr.pdi.qfi.first().map(|qfi| qfi.get()),
            filters: texts.map(text).collect(),
            far: pdr.far_id.unwrap(),
            urrs: pdr.urr_id.to_vec(),
        }
    }

    /// Whether packets of a server's meet its filters; those of the streams name one address, or none of ours.
    pub fn is_met_by(&self, server: &str) -> bool {
        let named = format!("from {server}/");
        self.filters.is_empty() || self.filters.iter().any(|text| text.contains(&named))
    }
}

/// A session.
#[derive(Debug)]
pub struct Session {
    pub up_seid: Seid,
    pub cp_seid: Seid,
    pub ipv4: Option<Ipv4Addr>,
    pub ipv6: Option<Ipv6Addr>,
    /// In order of precedence.
    pub rules: Vec<Rule>,
    pub ways: BTreeMap<FarId, Way>,
    urrs: BTreeMap<UrrId, Asked>,
    /// Octets that left, uplink and downlink, and what was told of them.
    passed: BTreeMap<UrrId, [u64; 2]>,
    told: BTreeMap<UrrId, [u64; 2]>,
    triggers: BTreeMap<UrrId, Vec<UsageReportTrigger>>,
    /// PDRs of Downlink Data Reports that nobody has looked at.
    pub pages: Vec<PdrId>,
    pub was_paged: bool,
    pub has_talked: bool,
}

/// What a URR asks for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    triggers: ReportingTriggers,
    threshold: u64,
    period_s: Option<u32>,
}

/// Octets in each direction that a test sends at the least: thresholds below are reached.
pub const AT_LEAST: u64 = 1_000;

impl Session {
    /// As it was established.
    pub fn new(request: &SessionEstablishmentRequest<'_>, up_seid: Seid) -> Self {
        let mut session = Self {
            up_seid,
            cp_seid: request.cp_f_seid.seid,
            ipv4: None,
            ipv6: None,
            rules: Vec::new(),
            ways: BTreeMap::new(),
            urrs: BTreeMap::new(),
            passed: BTreeMap::new(),
            told: BTreeMap::new(),
            triggers: BTreeMap::new(),
            pages: Vec::new(),
            was_paged: false,
            has_talked: false,
        };
        session.add(&request.create_pdr, &request.create_urr);
        for far in &request.create_far {
            let parameters = far.forwarding_parameters.as_ref();
            let header = parameters.and_then(|to| to.outer_header_creation);
            session.set_way(far.far_id, far.apply_action, header);
        }
        session
    }

    fn add(&mut self, pdrs: &[CreatePdr<'_>], urrs: &[CreateUrr<'_>]) {
        for pdr in pdrs {
            for address in &pdr.pdi.ue_ip_address {
                self.ipv4 = self.ipv4.or(address.ipv4);
                self.ipv6 = self.ipv6.or(address.ipv6);
            }
            self.rules.push(Rule::read(pdr));
        }
        self.rules.sort_by_key(|rule| (rule.precedence, rule.id.0));
        for urr in urrs {
            let threshold = urr.volume_threshold.map_or(u64::MAX, |volume| {
                let all = [volume.total, volume.uplink, volume.downlink];
                all.into_iter().flatten().min().unwrap_or(u64::MAX)
            });
            let asked = Asked {
                triggers: urr.reporting_triggers,
                threshold,
                period_s: urr.measurement_period.map(|period| period.0),
            };
            self.urrs.insert(urr.urr_id, asked);
        }
    }

    fn set_way(&mut self, far: FarId, action: ApplyAction, header: Option<OuterHeaderCreation>) {
        let tunnel = header.and_then(|header| {
            let (teid, ipv4) = (header.teid?, header.ipv4?);
            Some(Tunnel::v4(teid, ipv4))
        });
        let way = match (action.contains(ApplyAction::BUFF), tunnel) {
            (true, _) => Way::Held,
            (false, Some(tunnel)) => Way::To(tunnel),
            (false, None) => Way::Unknown,
        };
        self.ways.insert(far, way);
    }

    /// As it was changed.
    pub fn change(&mut self, request: &SessionModificationRequest<'_>) {
        self.add(&request.create_pdr, &request.create_urr);
        for far in &request.create_far {
            let parameters = far.forwarding_parameters.as_ref();
            let header = parameters.and_then(|to| to.outer_header_creation);
            self.set_way(far.far_id, far.apply_action, header);
        }
        for far in &request.update_far {
            let parameters = far.update_forwarding_parameters.as_ref();
            let header = parameters.and_then(|to| to.outer_header_creation);
            let header = header.and_then(|header| match header {
                Edit::Set(header) => Some(header),
                Edit::Remove => None,
            });
            if let Some(action) = far.apply_action {
                self.set_way(far.far_id, action, header);
            }
        }
    }

    /// TEIDs that the UPF chose.
    pub fn created(&mut self, pdrs: &[CreatedPdr]) {
        for pdr in pdrs {
            let rule = self.rules.iter_mut().find(|rule| rule.id == pdr.pdr_id);
            let teid = pdr.local_f_teid.first().and_then(FTeid::teid);
            rule.unwrap().teid = teid;
        }
    }

    /// The first rule that a packet of this server's meets, on the downlink.
    pub fn downlink(&self, server: &str) -> Rule {
        let core = self
            .rules
            .iter()
            .filter(|r| r.source == SourceInterface::CORE);
        core.clone().find(|r| r.is_met_by(server)).unwrap().clone()
    }

    /// Rules of the uplink that packets to this server can meet, one for each QFI.
    pub fn uplinks(&self, server: &str) -> Vec<Rule> {
        let access = SourceInterface::ACCESS;
        let met = self
            .rules
            .iter()
            .filter(|r| r.source == access && r.is_met_by(server));
        let mut first: Vec<Rule> = Vec::new();
        for rule in met {
            if first
                .iter()
                .all(|of| of.qfi.is_some() && of.qfi != rule.qfi)
            {
                first.push(rule.clone());
            }
        }
        first
    }

    /// FARs of the downlink.
    pub fn downlink_fars(&self) -> Vec<FarId> {
        let core = self
            .rules
            .iter()
            .filter(|r| r.source == SourceInterface::CORE);
        let mut fars: Vec<FarId> = core.map(|rule| rule.far).collect();
        fars.dedup();
        fars
    }

    /// So many octets left by this rule: uplink 0, downlink 1.
    pub fn pass(&mut self, rule: &Rule, direction: usize, octets: usize) {
        for urr in &rule.urrs {
            self.passed.entry(*urr).or_default()[direction] += octets as u64;
        }
    }

    /// The UPF tells of usage.
    pub fn usage(&mut self, reports: &[UsageReport<'_>]) {
        for report in reports {
            let volume = report.volume_measurement.unwrap_or_default();
            let told = self.told.entry(report.urr_id).or_default();
            let [up, down] = [volume.uplink, volume.downlink].map(|octets| octets.unwrap_or(0));
            (told[0], told[1]) = (told[0] + up, told[1] + down);
            assert!(volume.total.is_none_or(|total| total == up + down));
            let triggers = self.triggers.entry(report.urr_id).or_default();
            triggers.push(report.usage_report_trigger);
        }
    }

    /// The longest period of its URRs.
    pub fn period_s(&self) -> u32 {
        let periods = self.urrs.values().filter_map(|asked| asked.period_s);
        periods.max().unwrap_or(0)
    }

    /// All that passed was told, and for the reasons that were asked for.
    pub fn is_settled(&self, what: &str) {
        for (urr, asked) in &self.urrs {
            let of = |map: &BTreeMap<UrrId, [u64; 2]>| map.get(urr).copied().unwrap_or_default();
            assert_eq!(of(&self.told), of(&self.passed), "{what}: {urr:?}");
            let told = self.triggers.get(urr).cloned().unwrap_or_default();
            let has = |trigger| told.iter().any(|one| one.contains(trigger));
            let wants = |trigger| asked.triggers.contains(trigger);
            if wants(ReportingTriggers::VOLTH) && asked.threshold <= AT_LEAST {
                assert!(has(UsageReportTrigger::VOLTH), "{what}: {urr:?} {told:?}");
            }
            if wants(ReportingTriggers::PERIO) {
                assert!(has(UsageReportTrigger::PERIO), "{what}: {urr:?} {told:?}");
            }
            assert!(has(UsageReportTrigger::TERMR), "{what}: {urr:?} {told:?}");
        }
    }
}
