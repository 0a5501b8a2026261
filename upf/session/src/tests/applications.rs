//! Applications: PDIs name them, PFD Management tells their flows, and sessions follow.

use super::bench::*;
use super::reports::{read, with};
use super::sdf_filters::{establish, modify, rules, sdf};
use crate::limits::FLOWS_WALK;
use crate::procedure::put;
use crate::{Application, ConfiguredApplications, SessionEvent};
use core::net::Ipv4Addr;
use sluice_datapath::bells::{Bell, BellCause};
use sluice_datapath::session::usage_record::UrrState;
use sluice_n4::Instant;
use sluice_wire::ids::{Seid, UrrId};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, IeType, MessageType, Writer};

const DNS: &str = "permit out 17 from any 53 to assigned";
const WEB: &str = "permit out 6 from any 80 to assigned";
const TLS: &str = "permit out 6 from any 443 to assigned";

/// Application "dns" of upf.yaml.
fn bench() -> Bench {
    bench_with(4096)
}

fn bench_with(flow_filters: usize) -> Bench {
    let dns = Application {
        name: "dns".to_owned(),
        flows: vec![DNS.to_owned()],
    };
    Bench::with(|c| {
        c.applications = ConfiguredApplications::new(&[dns]).unwrap();
        c.flow_filters = flow_filters;
    })
}

/// A session whose uplink PDR is of an application.
fn of(name: &'static str, host: u8) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, host), host.into());
    request.create_pdr[0].pdi.application_id = Some(Text(name.as_bytes()));
    request
}

/// An application with flows, each in a PFD of its own.
fn flows(name: &'static str, flows: &[&'static str]) -> ApplicationIdsPfds<'static> {
    let pfd = |flow: &&'static str| PfdContext {
        pfd_contents: [PfdContents::flow(flow.as_bytes())].into_iter().collect(),
    };
    ApplicationIdsPfds {
        application_id: Text(name.as_bytes()),
        pfd_context: flows.iter().map(pfd).collect(),
    }
}

/// Cause, and Offending IE; sessions are looked at later.
fn tell(bench: &mut Bench, told: &[ApplicationIdsPfds<'_>]) -> (Cause, Option<IeType>) {
    let request = PfdManagementRequest {
        application_ids_pfds: told.iter().cloned().collect(),
        node_id: Some(NodeId::V4(CP)),
    };
    tell_octets(bench, |w| request.emit(w))
}

fn tell_octets(
    bench: &mut Bench,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), sluice_wire::pfcp::Full>,
) -> (Cause, Option<IeType>) {
    let kind = MessageType::PFD_MANAGEMENT_REQUEST;
    let bytes = bench.ask(CP, kind, None, write).unwrap();
    let (header, body) = Header::parse(&bytes).unwrap();
    let kind = MessageType::PFD_MANAGEMENT_RESPONSE;
    assert_eq!((header.message_type, header.seid), (kind, None));
    let answer = PfdManagementResponse::parse(body).unwrap();
    assert_eq!(answer.node_id, Some(NodeId::V4(N4)));
    (answer.cause, answer.offending_ie.map(|ie| ie.0))
}

const ACCEPTED: (Cause, Option<IeType>) = (Cause::REQUEST_ACCEPTED, None);

/// What the application's PDR matches: its filters as text; none if it matches nothing.
fn matched(bench: &Bench, seid: Seid) -> Option<Vec<String>> {
    let view = bench.up.session(seid.0).unwrap();
    let pdr = view.pdr.iter().find(|pdr| pdr.id == 1).unwrap();
    pdr.live.then(|| pdr.filters.clone())
}

#[test]
fn a_pdi_with_an_application_matches_its_flows() {
    let mut bench = bench();
    let seid = establish(&mut bench, &of("dns", 7));
    let found = rules(&bench);
    assert_eq!(found.len(), 1);
    let met: Vec<_> = bench.up.flow_filters().run(found[0].filters).collect();
    assert_eq!(
        (met[0].protocol, met[0].remote_ports),
        (Some(17), Some((53, 53)))
    );
    let view = bench.up.session(seid.0).unwrap();
    let names = view.pdr.iter().map(|p| p.application.as_deref());
    assert!(names.eq([Some("dns"), None]));
    // A change of something else leaves them, and a PDI without application takes them away.
    modify(&mut bench, seid, &path_switch(77));
    assert_eq!(matched(&bench, seid), Some(vec![DNS.to_owned()]));
    let mut change = path_switch(78);
    change.update_pdr.push(UpdatePdr {
        pdr_id: sluice_wire::ids::PdrId(1),
        pdi: Some(Pdi {
            source_interface: SourceInterface::ACCESS,
            ..Pdi::default()
        }),
        ..UpdatePdr::default()
    });
    modify(&mut bench, seid, &change);
    assert_eq!(bench.up.in_use().flow_filters, 0);
    bench.delete(CP, seid);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn unknown_applications_and_filters_beside_them_are_refused() {
    let mut bench = bench();
    let unknown = (Cause::UNKNOWN_APPLICATION_ID, Some(IeType::APPLICATION_ID));
    let failed = Cause::RULE_CREATION_MODIFICATION_FAILURE;
    let mut narrowed = of("dns", 7);
    narrowed.create_pdr[0].pdi.sdf_filter.push(sdf(WEB));
    let before = bench.fingerprint();
    for (request, expected) in [
        (of("web", 7), unknown),
        (narrowed, (failed, Some(IeType::SDF_FILTER))),
    ] {
        let done = bench.establish(CP, &request);
        assert_eq!((done.cause, done.offending), expected);
        assert_eq!(bench.fingerprint(), before);
    }
    bench.assert_vacant();
}

#[test]
fn what_is_told_of_an_application_is_what_its_pdrs_match() {
    let mut bench = bench();
    assert_eq!(tell(&mut bench, &[flows("web", &[WEB, TLS])]), ACCEPTED);
    assert_ne!(bench.up.next_deadline(), Some(Instant(0)), "nobody has it");
    let dns = establish(&mut bench, &of("dns", 7));
    let web = establish(&mut bench, &of("web", 8));
    let both = vec![WEB.to_owned(), TLS.to_owned()];
    assert_eq!(matched(&bench, web), Some(both));
    // Several at a time; those of a PFD are all meant.
    let mut video = flows("web", &[]);
    let contents = PfdContents {
        additional_flow_descriptions: Some(b"\0\x24permit out 6 from any 80 to assigned"),
        ..PfdContents::flow(DNS.as_bytes())
    };
    video.pfd_context.push(PfdContext {
        pfd_contents: [contents].into_iter().collect(),
    });
    assert_eq!(tell(&mut bench, &[flows("dns", &[TLS]), video]), ACCEPTED);
    bench.tick();
    assert_eq!(matched(&bench, dns), Some(vec![TLS.to_owned()]));
    let both = vec![DNS.to_owned(), WEB.to_owned()];
    assert_eq!(matched(&bench, web), Some(both));
    // What is told no more is what upf.yaml has; where that has nothing, PDRs match nothing, and are there.
    assert_eq!(
        tell(&mut bench, &[flows("dns", &[]), flows("web", &[])]),
        ACCEPTED
    );
    bench.tick();
    assert_eq!(matched(&bench, dns), Some(vec![DNS.to_owned()]));
    assert_eq!(matched(&bench, web), None);
    assert_eq!(
        bench.establish(CP, &of("web", 9)).cause,
        Cause::UNKNOWN_APPLICATION_ID
    );
    modify(&mut bench, web, &path_switch(77));
    // Another CP function tells them anew, and a message without any takes back all of them.
    assert_eq!(
        tell(&mut bench, &[flows("dns", &[TLS]), flows("web", &[TLS])]),
        ACCEPTED
    );
    bench.tick();
    assert_eq!(matched(&bench, web), Some(vec![TLS.to_owned()]));
    assert_eq!(tell(&mut bench, &[]), ACCEPTED);
    bench.tick();
    assert_eq!(matched(&bench, dns), Some(vec![DNS.to_owned()]));
    assert_eq!(matched(&bench, web), None);
    bench.delete(CP, dns);
    bench.delete(CP, web);
    assert_eq!(bench.up.applications().len(), 1, "that of upf.yaml");
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn pfds_that_cannot_be_had_are_refused_whole() {
    let mut bench = bench();
    let pfd = |contents: PfdContents<'static>| {
        let mut all = flows("web", &[WEB]);
        all.pfd_context.push(PfdContext {
            pfd_contents: [contents].into_iter().collect(),
        });
        all
    };
    let url = PfdContents {
        url: Some(b"http://example.org/"),
        ..PfdContents::default()
    };
    let domain = PfdContents {
        domain_name: Some(b"example.org"),
        ..PfdContents::flow(WEB.as_bytes())
    };
    let cut = PfdContents {
        additional_flow_descriptions: Some(b"\0\xffpermit"),
        ..PfdContents::default()
    };
    let none = PfdContents {
        additional_flow_descriptions: Some(b""),
        ..PfdContents::default()
    };
    let many = b"permit out 6 from any 1,2,3,4,5,6,7,8 to assigned 1,2,3,4,5,6,7,8,9";
    let of_contents = |cause| (cause, Some(IeType::PFD_CONTENTS));
    for (told, expected) in [
        (pfd(url), of_contents(Cause::SERVICE_NOT_SUPPORTED)),
        (pfd(domain), of_contents(Cause::SERVICE_NOT_SUPPORTED)),
        (
            pfd(PfdContents::flow(b"permit in ip from any to any")),
            of_contents(Cause::MANDATORY_IE_INCORRECT),
        ),
        (pfd(cut), of_contents(Cause::INVALID_LENGTH)),
        (pfd(none), of_contents(Cause::MANDATORY_IE_INCORRECT)),
        (
            pfd(PfdContents::flow(many)),
            of_contents(Cause::NO_RESOURCES_AVAILABLE),
        ),
    ] {
        let told = [flows("dns", &[TLS]), told];
        assert_eq!(tell(&mut bench, &told), expected);
    }
    let long: &'static str = "x".repeat(256).leak();
    let full = (
        Cause::NO_RESOURCES_AVAILABLE,
        Some(IeType::APPLICATION_IDS_PFDS),
    );
    assert_eq!(tell(&mut bench, &[flows(long, &[WEB])]), full);
    let nameless = |w: &mut Writer<'_>| w.ie(IeType::APPLICATION_IDS_PFDS, |_| Ok(()));
    let missing = (Cause::MANDATORY_IE_MISSING, Some(IeType::APPLICATION_ID));
    assert_eq!(tell_octets(&mut bench, nameless), missing);
    let loose = tell_octets(&mut bench, |w| w.bytes(&[0, 58, 0]));
    assert_eq!(loose.0, Cause::INVALID_LENGTH);
    let seid = establish(&mut bench, &of("dns", 7));
    assert_eq!(matched(&bench, seid), Some(vec![DNS.to_owned()]));
    bench.assert_well_spoken();
}

#[test]
fn more_pfds_than_an_application_may_have_are_refused() {
    let mut bench = bench();
    let emit_more = |w: &mut Writer<'_>, contexts: usize, contents: usize| {
        w.ie(IeType::APPLICATION_IDS_PFDS, |w| {
            w.ie(IeType::APPLICATION_ID, |w| w.bytes(b"web"))?;
            for _ in 0..contexts {
                w.ie(IeType::PFD_CONTEXT, |w| {
                    let flow = PfdContents::flow(WEB.as_bytes());
                    (0..contents).try_for_each(|_| put(w, IeType::PFD_CONTENTS, &flow))
                })?;
            }
            Ok(())
        })
    };
    let of = |cause, ie| (cause, Some(ie));
    for (contexts, contents, expected) in [
        (
            33,
            1,
            of(Cause::NO_RESOURCES_AVAILABLE, IeType::PFD_CONTEXT),
        ),
        (
            1,
            5,
            of(Cause::NO_RESOURCES_AVAILABLE, IeType::PFD_CONTENTS),
        ),
    ] {
        let told = tell_octets(&mut bench, |w| emit_more(w, contexts, contents));
        assert_eq!(told, expected);
    }
    assert_eq!(bench.up.applications().len(), 1);
    bench.assert_well_spoken();
}

#[test]
fn sessions_have_new_flows_some_at_a_time() {
    let count = 2 * FLOWS_WALK as usize;
    let dns = Application {
        name: "dns".to_owned(),
        flows: vec![DNS.to_owned()],
    };
    let mut bench = Bench::with(|c| {
        c.applications = ConfiguredApplications::new(&[dns]).unwrap();
        c.sessions = count + 8;
        c.transactions = 4;
    });
    let mut seids = Vec::new();
    for i in 1..=count {
        let mut request = establishment(CP, i as u64);
        request.create_pdr.push(uplink_pdr(1, 1));
        request.create_far.push(to_core(1));
        request.create_pdr[0].pdi.ue_ip_address.clear();
        request.create_pdr[0].pdi.application_id = Some(Text(b"dns"));
        seids.push(establish(&mut bench, &request));
    }
    assert_eq!(bench.up.in_use().flow_filters, 1, "one run for all");
    assert_eq!(tell(&mut bench, &[flows("dns", &[TLS])]), ACCEPTED);
    let tls = |bench: &Bench| {
        let has = |seid: &&Seid| matched(bench, **seid) == Some(vec![TLS.to_owned()]);
        seids.iter().filter(has).count()
    };
    assert_eq!(tls(&bench), 0);
    assert_eq!(bench.up.next_deadline(), Some(Instant(0)));
    bench.tick();
    // No more transactions are under way than there is room for.
    assert!(tls(&bench) > 0 && tls(&bench) <= FLOWS_WALK as usize);
    while bench.up.next_deadline() == Some(Instant(0)) {
        bench.tick();
    }
    assert_eq!(tls(&bench), count);
    assert_eq!(bench.up.in_use().flow_filters, 1);
}

#[test]
fn requests_are_served_while_sessions_have_new_flows() {
    let dns = Application {
        name: "dns".to_owned(),
        flows: vec![DNS.to_owned()],
    };
    let mut bench = Bench::with(|c| {
        c.applications = ConfiguredApplications::new(&[dns]).unwrap();
        c.transactions = 4;
    });
    let seids: Vec<Seid> = (1..=8)
        .map(|host| establish(&mut bench, &of("dns", host)))
        .collect();
    assert_eq!(tell(&mut bench, &[flows("dns", &[TLS])]), ACCEPTED);
    // The path has not answered yet what it is told in a tick.
    let (now, wall) = (bench.now(), bench.wall());
    bench.up.tick(now, wall, &mut bench.net, &mut bench.out);
    assert_eq!(bench.out.txns.len(), 1, "one in eight of four");
    assert_ne!(bench.up.next_deadline(), Some(Instant(0)));
    let more = bench.establish(CP, &of("dns", 9));
    assert_eq!(more.cause, Cause::REQUEST_ACCEPTED);
    while bench.up.next_deadline() == Some(Instant(0)) {
        bench.tick();
    }
    for seid in seids.into_iter().chain([more.seid]) {
        assert_eq!(matched(&bench, seid), Some(vec![TLS.to_owned()]));
        bench.delete(CP, seid);
    }
    bench.assert_vacant();
}

#[test]
fn sessions_keep_their_flows_while_the_table_is_full() {
    let mut bench = bench_with(2);
    let seid = establish(&mut bench, &of("dns", 7));
    assert_eq!(tell(&mut bench, &[flows("dns", &[WEB, TLS])]), ACCEPTED);
    while bench.up.next_event().is_some() {}
    bench.tick();
    assert_eq!(matched(&bench, seid), Some(vec![DNS.to_owned()]));
    assert_eq!(bench.up.next_event(), Some(SessionEvent::FlowsKept(1)));
    assert_eq!(bench.up.flows_kept(), 1);
    assert_ne!(bench.up.next_deadline(), Some(Instant(0)));
    // The next change finds it as well.
    assert_eq!(tell(&mut bench, &[flows("dns", &[TLS])]), ACCEPTED);
    bench.tick();
    assert_eq!(matched(&bench, seid), Some(vec![TLS.to_owned()]));
    bench.delete(CP, seid);
    bench.assert_vacant();
}

/// A session of an application whose URR tells the start of traffic.
fn telling(name: &'static str) -> SessionEstablishmentRequest<'static> {
    let mut request = of(name, 7);
    request.create_urr.push(CreateUrr {
        reporting_triggers: ReportingTriggers::START,
        ..urr(1)
    });
    for pdr in &mut request.create_pdr {
        pdr.urr_id.push(UrrId(1));
        pdr.pdi.application_id = Some(Text(name.as_bytes()));
    }
    request
}

/// The report of the first packet of a session's traffic.
fn first_packet(bench: &mut Bench) -> Vec<u8> {
    let (now, wall) = (bench.now(), bench.wall());
    let bell = Bell {
        entry: bench.downlink_entry(),
        cause: BellCause::Usage,
    };
    bench.marks = UrrState::STARTED;
    let mut sent = bench.sent_by(|bench| {
        (bench.up).bell(now, wall, &bell, &mut bench.net, &mut bench.out);
        bench.settle();
    });
    bench.marks = UrrState::default();
    assert_eq!(sent.len(), 1);
    bench.answer(&sent[0], &with(Cause::REQUEST_ACCEPTED));
    sent.remove(0)
}

#[test]
fn the_start_of_an_applications_traffic_names_it() {
    let mut bench = bench();
    let seid = establish(&mut bench, &telling("dns"));
    let sent = first_packet(&mut bench);
    let report = &read(&sent).1.usage_report[0];
    assert_eq!(report.usage_report_trigger, UsageReportTrigger::START);
    let detected = report.application_detection_information.as_ref().unwrap();
    assert_eq!(detected.application_id, Text(b"dns"));
    // The last report is none of traffic.
    let last = bench.ask(
        CP,
        MessageType::SESSION_DELETION_REQUEST,
        Some(seid),
        |_| Ok(()),
    );
    let last = last.unwrap();
    let (_, body) = Header::parse(&last).unwrap();
    let last = &SessionDeletionResponse::parse(body).unwrap().usage_report[0];
    assert_eq!(last.application_detection_information, None);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

/// What the start of traffic says of an application with these flows.
fn told_of(flows: &[&'static str], information: MeasurementInformation) -> (bool, Option<Vec<u8>>) {
    let mut bench = bench();
    assert_eq!(tell(&mut bench, &[self::flows("dns", flows)]), ACCEPTED);
    let mut request = telling("dns");
    request.create_urr[0].measurement_information = Some(information);
    establish(&mut bench, &request);
    let sent = first_packet(&mut bench);
    let report = &read(&sent).1.usage_report[0];
    let detected = report.application_detection_information.clone().unwrap();
    assert_eq!(detected.application_id, Text(b"dns"));
    let flow = detected.flow_information.map(|flow| {
        assert_eq!(flow.direction, FlowDirection::BIDIRECTIONAL);
        flow.flow_description.to_vec()
    });
    bench.assert_well_spoken();
    (detected.application_instance_id.is_some(), flow)
}

#[test]
fn the_only_flow_of_an_application_is_told_with_its_start() {
    let all = MeasurementInformation::default();
    let one = (true, Some(TLS.as_bytes().to_vec()));
    assert_eq!(told_of(&[TLS], all), one);
    // Which of two it was is not known.
    assert_eq!(told_of(&[TLS, DNS], all), (false, None));
    let reduced = MeasurementInformation::RADI;
    assert_eq!(told_of(&[TLS], reduced), (false, None));
    // Without any that is told, the configured one.
    let of_file = (true, Some(DNS.as_bytes().to_vec()));
    assert_eq!(told_of(&[], all), of_file);
}

#[test]
fn a_urr_that_tells_of_traffic_is_of_one_application() {
    let mut bench = bench();
    let mut request = telling("dns");
    request.create_pdr[1].pdi.application_id = None;
    let refused = (
        Cause::RULE_CREATION_MODIFICATION_FAILURE,
        Some(IeType::REPORTING_TRIGGERS),
    );
    let done = bench.establish(CP, &request);
    assert_eq!((done.cause, done.offending), refused);
    request.create_pdr[1].pdi.application_id = Some(Text(b"dns"));
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}
