//! Twins that are wrong on purpose, each in one small way.

use crate::run::Falsify;
use sluice_twin::{Drop, Notice, Outcome, Paged, Sender};
use sluice_wire::pfcp::group::{CreatePdr, UsageReport};
use sluice_wire::pfcp::message::{
    PfdManagementRequest, SessionEstablishmentRequest, SessionModificationRequest,
};
use sluice_wire::pfcp::value::{SdfFilter, Text};

/// What a twin does wrong, and how.
type Named<T> = (&'static str, fn(&mut T));

/// All of them, with what they do.
pub fn all() -> Vec<(&'static str, Box<dyn Falsify>)> {
    let of_outcomes: [Named<Outcome>; 10] = [
        ("drops what is to be held", drops_held),
        ("counts no hop", counts_no_hop),
        ("writes another QFI", writes_another_qfi),
        ("writes the TEID with one bit wrong", writes_a_wrong_teid),
        ("sends by the other port", sends_by_the_other_port),
        ("lets a closed gate pass for a rate", confuses_gate_and_rate),
        ("forgets Error Indications", forgets_error_indications),
        ("drops what has a TTL of 1 silently", forgets_icmp),
        (
            "tells senders in another network instance",
            confuses_instances,
        ),
        ("takes control packets for user data", drops_control),
    ];
    let of_reports: [Named<UsageReport<'static>>; 3] = [
        ("counts a byte too much", counts_a_byte_too_much),
        ("counts reports from 1", counts_reports_from_1),
        ("confuses uplink and downlink", confuses_directions),
    ];
    let outcomes = of_outcomes.map(|(name, f)| (name, Box::new(Outcomes(f)) as Box<dyn Falsify>));
    let reports = of_reports.map(|(name, f)| (name, Box::new(Reports(f)) as Box<dyn Falsify>));
    let mut all: Vec<_> = outcomes.into_iter().chain(reports).collect();
    all.push(("swaps two frames", Box::new(Swaps)));
    all.push(("knows no session sets", Box::new(NoSets)));
    all.push(("hears no new flows of applications", Box::new(NoFlows)));
    all.push(("forgets a frame", Box::new(Forgets)));
    all.push(("lets the last go first", Box::new(LastFirst)));
    let of_pages: [(&'static str, Tells); 3] = [
        ("tells of a flow once more", |all| {
            all.extend(all.first().copied())
        }),
        ("tells another DSCP", |all| {
            all.iter_mut().for_each(|told| told.dscp ^= 1)
        }),
        ("tells another PDR", |all| {
            all.iter_mut().for_each(|told| told.pdr += 1)
        }),
    ];
    all.extend(of_pages.map(|(name, f)| (name, Box::new(Pages(f)) as Box<dyn Falsify>)));
    all
}

struct NoFlows;

impl Falsify for NoFlows {
    fn pfds(&mut self, request: &mut PfdManagementRequest<'_>) {
        // Of an application of which nobody hears.
        for told in &mut request.application_ids_pfds {
            told.application_id = Text(b"gold");
        }
    }
}

struct NoSets;

impl Falsify for NoSets {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        request.fq_csid.clear();
    }
}

/// Twins that read PDRs of requests wrongly.
pub fn readers() -> Vec<(&'static str, Box<dyn Falsify>)> {
    let all: [(&'static str, Reads); 15] = [
        ("knows no filters", |p| p.pdi.sdf_filter.clear()),
        ("knows one filter of a PDR", |p| {
            p.pdi.sdf_filter.truncate(1)
        }),
        ("knows no classes", |p| {
            of_filters(p, |f| f.tos_traffic_class = None)
        }),
        ("knows no masks", |p| {
            of_filters(p, |f| {
                f.tos_traffic_class = f.tos_traffic_class.map(|c| [c[0], 0xff])
            });
        }),
        ("knows no indices", |p| {
            of_filters(p, |f| f.security_parameter_index = None)
        }),
        ("knows no labels", |p| {
            of_filters(p, |f| f.flow_label = None)
        }),
        ("knows no protocols", |p| {
            of_words(p, |words| words[2] = "ip".to_owned())
        }),
        ("knows no remote addresses", |p| {
            of_words(p, |words| words[4] = "any".to_owned())
        }),
        ("knows no local addresses", |p| {
            of_words(p, |words| any_local(words))
        }),
        ("knows no ports", |p| {
            of_words(p, |words| words.retain(|w| !is_ports(w)))
        }),
        ("confuses both ends", |p| of_words(p, confuse_ends)),
        ("knows no applications", |p| p.pdi.application_id = None),
        ("activates nothing", |p| p.activate_predefined_rules.clear()),
        ("activates one rule alone", |p| {
            p.activate_predefined_rules.truncate(1);
        }),
        ("knows no prefixes", |p| {
            p.pdi
                .ue_ip_address
                .iter_mut()
                .filter(|ue| ue.ipv4.is_some())
                .for_each(|ue| ue.ipv6 = None);
        }),
    ];
    let named = all.map(|(name, f)| (name, Box::new(Reader(f)) as Box<dyn Falsify>));
    named.into_iter().collect()
}

/// How a PDR is changed before the twin reads it.
type Reads = fn(&mut CreatePdr<'_>);

struct Reader(Reads);

impl Falsify for Reader {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        request.create_pdr.iter_mut().for_each(self.0);
    }

    fn modification(&mut self, request: &mut SessionModificationRequest<'_>) {
        request.create_pdr.iter_mut().for_each(self.0);
    }
}

fn of_filters(pdr: &mut CreatePdr<'_>, change: impl Fn(&mut SdfFilter<'_>)) {
    for filter in &mut pdr.pdi.sdf_filter {
        let before = *filter;
        change(filter);
        // An empty one would be refused.
        if *filter == SdfFilter::default() {
            *filter = before;
        }
    }
}

/// Changes the words of sound flow descriptions.
fn of_words(pdr: &mut CreatePdr<'_>, change: impl Fn(&mut Vec<String>)) {
    for filter in &mut pdr.pdi.sdf_filter {
        let text = filter.flow_description.unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        if words.len() < 7 {
            continue;
        }
        change(&mut words);
        filter.flow_description = Some(words.join(" ").leak().as_bytes());
    }
}

/// Ports stand where no keyword, address or protocol does.
fn is_ports(word: &str) -> bool {
    let is_list = word
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b',' || b == b'-');
    is_list && (word.len() > 3 || word == "80" || word == "443")
}

fn any_local(words: &mut [String]) {
    if let Some(to) = words.iter().position(|w| w == "to") {
        words[to + 1] = "any".to_owned();
    }
}

fn confuse_ends(words: &mut Vec<String>) {
    let from = words.iter().position(|w| w == "from");
    let to = words.iter().position(|w| w == "to");
    if let (Some(from), Some(to)) = (from, to) {
        words.swap(from, to);
        let remote: Vec<String> = words.splice(from.., []).collect();
        let (local, remote) = remote.split_at(to - from);
        words.extend([remote, local].concat());
    }
}

struct Outcomes(fn(&mut Outcome));

impl Falsify for Outcomes {
    fn outcomes(&mut self, outcomes: &mut Vec<Outcome>) {
        outcomes.iter_mut().for_each(self.0);
    }
}

struct Reports(fn(&mut UsageReport<'static>));

impl Falsify for Reports {
    fn reports(&mut self, reports: &mut Vec<UsageReport<'static>>) {
        reports.iter_mut().for_each(self.0);
    }
}

/// Only pieces of one packet can be swapped here: order is compared within a stream.
struct Swaps;

impl Falsify for Swaps {
    fn outcomes(&mut self, outcomes: &mut Vec<Outcome>) {
        outcomes.reverse();
    }
}

struct Forgets;

impl Falsify for Forgets {
    fn outcomes(&mut self, outcomes: &mut Vec<Outcome>) {
        outcomes.retain(|o| !matches!(o, Outcome::Sent(_)));
    }
}

fn counts_no_hop(outcome: &mut Outcome) {
    if let Outcome::Sent(sent) = outcome
        && sent.source_port_at.is_none()
        && let Some(ttl) = sent.frame.get_mut(22)
    {
        *ttl += 1;
    }
}

fn writes_another_qfi(outcome: &mut Outcome) {
    if let Outcome::Sent(sent) = outcome
        && let Some(at) = sent.source_port_at
        && sent.frame.get(at + 8) == Some(&0x34)
    {
        sent.frame[at + 8 + 14] ^= 1;
    }
}

fn writes_a_wrong_teid(outcome: &mut Outcome) {
    if let Outcome::Sent(sent) = outcome
        && let Some(at) = sent.source_port_at
    {
        sent.frame[at + 8 + 4] ^= 0x40;
    }
}

fn sends_by_the_other_port(outcome: &mut Outcome) {
    if let Outcome::Sent(sent) = outcome {
        sent.port ^= 1;
    }
}

fn confuses_gate_and_rate(outcome: &mut Outcome) {
    if let Outcome::Dropped(drop @ Drop::GateClosed, _) = outcome {
        *drop = Drop::MbrExceeded;
    }
}

fn forgets_error_indications(outcome: &mut Outcome) {
    if let Outcome::Dropped(_, notice @ Some(Notice::ErrorIndication { .. })) = outcome {
        *notice = None;
    }
}

fn forgets_icmp(outcome: &mut Outcome) {
    if let Outcome::Dropped(_, notice @ Some(Notice::Icmp(..))) = outcome {
        *notice = None;
    }
}

fn confuses_instances(outcome: &mut Outcome) {
    if let Outcome::Dropped(
        _,
        Some(Notice::Icmp(_, _, Sender::Ue(name) | Sender::DataNetwork(name))),
    ) = outcome
    {
        *name = "another".to_owned();
    }
}

fn drops_control(outcome: &mut Outcome) {
    if *outcome == Outcome::Control {
        *outcome = Outcome::Dropped(Drop::GtpuMessageType, None);
    }
}

fn drops_held(outcome: &mut Outcome) {
    if *outcome == Outcome::Buffered {
        *outcome = Outcome::Dropped(Drop::FarDrop, None);
    }
}

struct LastFirst;

impl Falsify for LastFirst {
    fn released(&mut self, outcomes: &mut Vec<Outcome>) {
        outcomes.reverse();
    }
}

/// How what is told of idle UEs is changed.
type Tells = fn(&mut Vec<Paged>);

struct Pages(Tells);

impl Falsify for Pages {
    fn paged(&mut self, paged: &mut Vec<Paged>) {
        self.0(paged);
    }
}

fn counts_a_byte_too_much(report: &mut UsageReport<'static>) {
    if let Some(volume) = &mut report.volume_measurement
        && let Some(total) = volume.total.as_mut().filter(|t| **t > 0)
    {
        *total += 1;
    }
}

fn counts_reports_from_1(report: &mut UsageReport<'static>) {
    report.ur_seqn += 1;
}

fn confuses_directions(report: &mut UsageReport<'static>) {
    if let Some(volume) = &mut report.volume_measurement {
        std::mem::swap(&mut volume.uplink, &mut volume.downlink);
    }
}
