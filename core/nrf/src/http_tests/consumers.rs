//! Our own functions as consumers: what they send by HTTP, and what they read of the responses.

use std::collections::BTreeMap;

use sluice_ids::{AmfId, Dnn, Guami, Plmn, Snssai, Tac, Tai};
use sluice_sbi::{
    DeregisterNf, DiscoverNfs, HeartBeat, NfInstance, NfProfile, NfQuery, NfsFound, NoMatch,
    RegisterNf, Requester, ServeMore, Served, Slot,
};
use sluice_services::{Came, Consumer, Memory, Own, begin, directory};

use super::*;

fn plmn() -> Plmn {
    Plmn::new("001", "01").unwrap()
}

fn tai(tac: u8) -> Tai {
    let tac = Tac([0, 0, tac]);
    Tai { plmn: plmn(), tac }
}

/// Of a program that has this function.
fn memory(nf: Nf, instance: NfInstance) -> Memory {
    let amf = AmfId::new(2, 1, 0).unwrap();
    Memory::new(Own {
        root: "http://127.0.0.1:7777".to_owned(),
        guami: Guami { plmn: plmn(), amf },
        plmn: plmn(),
        slice: None,
        areas: Vec::new(),
        needs_tokens: false,
        instances: BTreeMap::from([(nf, instance)]),
    })
}

/// Asks an NRF by HTTP; statuses of its responses, and what the function hears.
fn call(
    memory: &mut Memory,
    message: impl Into<Message>,
    mut nrf: impl FnMut(&Request) -> Response,
) -> (Vec<u16>, Message) {
    let mut statuses = Vec::new();
    let mut consumer = begin(&message.into(), memory).unwrap();
    loop {
        let slot: Slot = match consumer {
            Consumer::Done(slot) => slot,
            Consumer::Tell(_) => panic!("nobody is told"),
            Consumer::Send(outgoing, then) => {
                let response = nrf(&outgoing.request);
                statuses.push(response.status().as_u16());
                consumer = then(Came { from: 0, response }, memory);
                continue;
            }
        };
        return (statuses, *slot);
    }
}

/// The same with our NRF.
fn ask_by_http(nrf: &mut Nrf, memory: &mut Memory, message: impl Into<Message>) -> Message {
    call(memory, message, |request| {
        nrf.serve(at(0), request, &mut vec![])
    })
    .1
}

fn discovered(message: Message) -> NfsFound {
    message.answer_to::<DiscoverNfs>().unwrap().found
}

#[test]
fn our_functions_register_and_are_found_by_http() {
    let mut nrf = nrf();
    for nf in Nf::ALL {
        let instance = NfInstance::random([nf as u8; 16]);
        let mut memory = memory(nf, instance);
        let (slice, dnn) = (Snssai::new(1, None), Dnn::new("internet").unwrap());
        let served = Served::new(&[slice], &[dnn], &[tai(1)]);
        let profile = NfProfile::new(instance, nf, &[plmn()], served);
        let answer = ask_by_http(&mut nrf, &mut memory, RegisterNf { profile });
        let registered = answer.answer_to::<RegisterNf>().unwrap();
        assert_eq!(registered.heart_beat_s.get(), 10, "{nf}");
        let (_, document) = get(&mut nrf, &instance_path(&instance.to_string()));
        // One of these is mandatory (6.1.6.2.2), and each service says where it is.
        assert_eq!(document["ipv4Addresses"], json!(["127.0.0.1"]));
        // Mandatory members of the information of a type (6.1.6.2.11 and 6.1.6.2.12).
        match nf {
            Nf::Amf => {
                let info = &document["amfInfo"];
                assert_eq!(
                    (&info["amfSetId"], &info["amfRegionId"]),
                    (&json!("001"), &json!("02"))
                );
                assert_eq!(info["guamiList"][0]["amfId"], "020040");
            }
            Nf::Smf => assert!(document["smfInfo"]["sNssaiSmfInfoList"].is_array()),
            _ => {}
        }
        let response = nrf.serve(
            at(0),
            &directory::query(nf, Requester::new(Nf::Amf, None, None)),
            &mut vec![],
        );
        let found = directory::read(&response).unwrap();
        assert_eq!(found.validity_s, 60);
        let one = &found.instances[0];
        assert_eq!((one.id.clone(), one.capacity), (instance.to_string(), 100));
        for (service, _) in sluice_services::nnrf::served(nf) {
            assert_eq!(one.roots[*service], "http://127.0.0.1:7777");
        }
    }
}

#[test]
fn why_nobody_is_found_is_told_by_http() {
    let mut nrf = nrf();
    let instance = NfInstance::random([9; 16]);
    let mut memory = memory(Nf::Smf, instance);
    let slice = Snssai::new(1, None);
    let served = Served::new(&[slice], &[], &[tai(1)]);
    let profile = NfProfile::new(instance, Nf::Smf, &[], served);
    ask_by_http(&mut nrf, &mut memory, RegisterNf { profile });
    for (sst, tac, reason) in [
        (1, 1, NoMatch::Matched),
        (1, 2, NoMatch::NotInArea),
        (2, 2, NoMatch::NotServed),
    ] {
        let amf = Requester::new(Nf::Amf, Some(slice), Some(plmn()));
        let slice = Some(Snssai::new(sst, None));
        let query = NfQuery::new(amf, Nf::Smf, slice, None, Some(tai(tac)));
        let found = discovered(ask_by_http(&mut nrf, &mut memory, DiscoverNfs { query }));
        assert_eq!(found.reason, reason, "{sst} {tac}");
    }
}

#[test]
fn parts_heart_beats_and_goodbyes_go_by_http() {
    let mut nrf = nrf();
    let instance = NfInstance::random([9; 16]);
    let mut memory = memory(Nf::Smf, instance);
    let [one, two] = [1, 2].map(|sst| Snssai::new(sst, None));
    let served = Served::new(&[one], &[Dnn::new("internet").unwrap()], &[tai(1)]);
    let profile = NfProfile::new(instance, Nf::Smf, &[], served);
    ask_by_http(&mut nrf, &mut memory, RegisterNf { profile });
    let served = Served::new(&[two], &[], &[tai(2)]);
    let more = ServeMore { instance, served };
    assert_eq!(ask_by_http(&mut nrf, &mut memory, more), Done::ALL.into());
    let query = |slice, dnn| {
        let amf = Requester::new(Nf::Amf, Some(slice), Some(plmn()));
        let query = NfQuery::new(amf, Nf::Smf, Some(slice), Dnn::new(dnn), Some(tai(2)));
        DiscoverNfs { query }
    };
    for (slice, dnn, number) in [(one, "internet", 1), (one, "ims", 0), (two, "ims", 1)] {
        let by_http = discovered(ask_by_http(&mut nrf, &mut memory, query(slice, dnn)));
        assert_eq!(by_http.all().len(), number, "{slice} {dnn}");
        // A message finds the same.
        assert_eq!(
            discovered(ask(&mut nrf, at(0), query(slice, dnn))).all(),
            by_http.all()
        );
    }
    let beat = HeartBeat { instance, load: 7 };
    assert_eq!(ask_by_http(&mut nrf, &mut memory, beat), Done::ALL.into());
    assert_eq!(nrf.profiles().next().unwrap().load(), 7);
    let gone = DeregisterNf { instance };
    assert_eq!(ask_by_http(&mut nrf, &mut memory, gone), Done::ALL.into());
    // It registers anew when the NRF does not know it.
    let unknown = Message::from(Problem::ContextNotFound);
    assert_eq!(ask_by_http(&mut nrf, &mut memory, beat), unknown);
    let none = discovered(ask_by_http(&mut nrf, &mut memory, query(one, "ims")));
    assert_eq!(none, NfsFound::none(NoMatch::NotRegistered));
}

#[test]
fn an_nrf_without_the_load_hears_of_the_status_alone() {
    let instance = NfInstance::random([9; 16]);
    let mut memory = memory(Nf::Smf, instance);
    // As free5GC's does, whose profiles lose members that are zero.
    let nrf = |request: &Request| {
        let has_load = String::from_utf8_lossy(request.body()).contains("/load");
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = if has_load {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::OK
        };
        response
    };
    let (statuses, answer) = call(&mut memory, HeartBeat { instance, load: 7 }, nrf);
    assert_eq!((statuses, answer), (vec![400, 200], Done::ALL.into()));
}

#[test]
fn results_of_other_cores_are_read() {
    let instance = NfInstance::random([9; 16]);
    let mut memory = memory(Nf::Smf, instance);
    let amf = Requester::new(Nf::Amf, None, None);
    let query = NfQuery::new(amf, Nf::Smf, None, None, None);
    let mut read = |status: u16, body: Value| {
        let nrf = |_: &Request| {
            let mut response = Response::new(Bytes::from(body.to_string()));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response
        };
        call(&mut memory, DiscoverNfs { query }, nrf).1
    };
    let none = NfsFound::none(NoMatch::NotRegistered);
    // free5GC has null for none.
    assert_eq!(
        discovered(read(
            200,
            json!({ "validityPeriod": 100, "nfInstances": null })
        )),
        none
    );
    assert_eq!(discovered(read(404, json!({}))), none);
    assert_eq!(read(403, json!({})), Problem::DiscoveryForbidden.into());
    assert_eq!(read(200, Value::Null), Problem::Protocol.into());
    let found = discovered(read(
        200,
        json!({ "validityPeriod": 30, "nfInstances": [free5gc_smf()] }),
    ));
    assert_eq!(
        (found.all()[0].instance.to_string(), found.validity_s.get()),
        (SMF.to_owned(), 30)
    );
}
