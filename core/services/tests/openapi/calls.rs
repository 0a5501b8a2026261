//! Calls of our functions: what one asks, and what another one answers.

use std::collections::BTreeMap;

use sluice_ids::{AmfId, Guami, Plmn, Supi};
use sluice_sbi::{
    AuthMethod, Authenticate, Challenge, Confirm, Confirmed, Container, Message, Nf, NfInstance,
    Resynchronisation,
};
use sluice_services::{
    Came, Consumer, Memory, Outgoing, Own, Producer, Request, Response, accept, begin,
};

use crate::judge::Judge;

fn plmn() -> Plmn {
    Plmn::new("001", "01").expect("a PLMN")
}

fn guami() -> Guami {
    let amf = AmfId::new(1, 1, 0).expect("an AMF");
    Guami { plmn: plmn(), amf }
}

fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("an IMSI")
}

/// Of a program with all functions.
fn memory() -> Memory {
    let instance = |nf: Nf| (nf, NfInstance::random([nf as u8; 16]));
    let instances: BTreeMap<Nf, NfInstance> = Nf::ALL.into_iter().map(instance).collect();
    Memory::new(Own {
        root: "http://127.0.0.1:7777".to_owned(),
        guami: guami(),
        plmn: plmn(),
        instances,
    })
}

/// Calls with what the function answers, in its order.
pub fn all() -> Vec<(Message, Vec<Message>)> {
    let network = plmn().serving_network_name();
    let authenticate = Authenticate {
        identity: supi().into(),
        network,
        resynchronisation: Resynchronisation::default(),
    };
    let challenge = Challenge {
        context: 7.into(),
        instance: 0,
        method: AuthMethod::FiveGAka,
        rand: [1; 16],
        autn: [2; 16],
        hxres_star: [3; 16],
        eap: Container::NONE,
    };
    let confirm = Confirm {
        context: 7.into(),
        instance: 0,
        res_star: [4; 16],
        is_null: false,
    };
    let confirmed = Confirmed {
        supi: supi(),
        kseaf: [5; 32],
    };
    vec![
        (authenticate.into(), vec![challenge.into()]),
        (confirm.into(), vec![confirmed.into()]),
    ]
}

/// Whatever is wrong with the requests and answers of a call.
pub fn judge(judge: &Judge, message: &Message, answers: &[Message]) -> Vec<String> {
    let (mut consumer, mut producer) = (memory(), memory());
    let mut answers = answers.iter();
    let mut wrong = Vec::new();
    let Some(mut step) = begin(message, &mut consumer) else {
        return vec![format!("no service carries {}", message.name())];
    };
    while let Consumer::Send(outgoing, then) = step {
        let Outgoing { request, .. } = *outgoing;
        let response = serve(&request, &mut answers, &mut producer);
        wrong.extend(faults(judge, &request, &response));
        let came = Came { from: 0, response };
        step = then(came, &mut consumer);
    }
    wrong
}

/// Has the producer answer a request with the next answers of functions.
fn serve<'a>(
    request: &Request,
    answers: &mut impl Iterator<Item = &'a Message>,
    producer: &mut Memory,
) -> Response {
    let mut step = accept(request, producer);
    loop {
        match step {
            Producer::Done(response) => return response,
            Producer::Ask(_, asked, then) => {
                let answer = answers.next();
                let answer = answer.unwrap_or_else(|| panic!("no answer to {}", asked.name()));
                step = then(answer, producer);
            }
        }
    }
}

fn faults(judge: &Judge, request: &Request, response: &Response) -> Vec<String> {
    let name = format!("{} {}", request.method(), request.uri());
    let Some(operation) = judge.operation(request) else {
        return vec![format!("{name}: no description has it")];
    };
    let of_request = operation.check_request(request).err();
    let of_response = operation.check_response(response).err();
    let of_request = of_request.map(|why| format!("{name}, request: {why}"));
    let of_response = of_response.map(|why| format!("{name}, {}: {why}", response.status()));
    of_request.into_iter().chain(of_response).collect()
}
