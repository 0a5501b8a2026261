//! Calls of tests: through a consumer and a producer, or one of both with what another core sends.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::{AmfId, Dnn, Guami, Plmn, ServingNetworkName, Snssai, Supi};
use sluice_sbi::{Message, Nf, NfInstance, Slot};

use crate::exchange::{Came, Consumer, Outgoing, Producer, Request, Response, To};
use crate::judge::faults;
use crate::names::Memory;
use crate::{accept, begin};

/// Request that went to a producer, and its response.
pub(crate) struct Exchange {
    pub to: To,
    pub request: Request,
    pub response: Response,
}

impl Exchange {
    /// Method and path, with its query.
    pub fn line(&self) -> String {
        format!("{} {}", self.request.method(), self.request.uri())
    }

    /// Body of the request.
    pub fn sent(&self) -> Value {
        json_of(self.request.body())
    }

    /// Body of the response.
    pub fn told(&self) -> Value {
        json_of(self.response.body())
    }
}

fn json_of(body: &Bytes) -> Value {
    match body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(body).expect("JSON"),
    }
}

/// A program with a consumer, and another one with a producer.
pub(crate) struct Two {
    pub consumer: Memory,
    pub producer: Memory,
    pub exchanges: Vec<Exchange>,
}

impl Two {
    pub fn new() -> Self {
        Self {
            consumer: memory(7777),
            producer: memory(8888),
            exchanges: Vec::new(),
        }
    }

    /// Answer to a call; the function of the producer is asked by its requests.
    pub fn call(
        &mut self,
        message: impl Into<Message>,
        mut function: impl FnMut(Nf, Message) -> Message,
    ) -> Message {
        let mut step = begin(&message.into(), &mut self.consumer).expect("a service");
        loop {
            let (outgoing, then) = match step {
                Consumer::Send(outgoing, then) => (*outgoing, then),
                Consumer::Done(answer) => return *answer,
                Consumer::Tell(all) => {
                    for Outgoing { to, request } in all {
                        let response = asked(&request, &mut self.producer, &mut function);
                        self.exchanges.push(Exchange {
                            to,
                            request,
                            response,
                        });
                    }
                    return sluice_sbi::Done::ALL.into();
                }
            };
            let response = asked(&outgoing.request, &mut self.producer, &mut function);
            let Outgoing { to, request } = outgoing;
            let came = came(response.clone());
            self.exchanges.push(Exchange {
                to,
                request,
                response,
            });
            step = then(came, &mut self.consumer);
        }
    }

    /// The same where the function is asked this once, and answers so.
    pub fn carry(
        &mut self,
        message: impl Into<Message>,
        expected: impl Into<Message>,
        answer: impl Into<Message>,
    ) -> Message {
        let (expected, answer, mut asked) = (expected.into(), answer.into(), 0);
        let answered = self.call(message, |_, came| {
            asked += 1;
            assert!(came == expected, "{came}: {:?}", came.to_octets());
            answer
        });
        assert_eq!(asked, 1);
        answered
    }

    /// The last exchange.
    pub fn last(&self) -> &Exchange {
        self.exchanges.last().expect("a request")
    }
}

/// Response of a producer.
pub(crate) fn asked(
    request: &Request,
    memory: &mut Memory,
    mut function: impl FnMut(Nf, Message) -> Message,
) -> Response {
    let mut step = accept(request, memory);
    loop {
        let (nf, message, then) = match step {
            Producer::Ask(nf, message, then) => (nf, message, then),
            Producer::Done(response) => return response,
        };
        let answer: Slot = function(nf, *message).into();
        step = then(&answer, memory);
    }
}

/// A function that is not to be asked.
pub(crate) fn nobody(nf: Nf, message: Message) -> Message {
    panic!("{nf} is asked: {message}")
}

/// Answer to a call whose requests another core answers so, and those requests.
pub(crate) fn answered(
    message: impl Into<Message>,
    memory: &mut Memory,
    responses: &[Response],
) -> (Message, Vec<Outgoing>) {
    let mut responses = responses.iter();
    let mut requests = Vec::new();
    let mut step = begin(&message.into(), memory).expect("a service");
    loop {
        let then = match step {
            Consumer::Send(outgoing, then) => {
                requests.push(*outgoing);
                then
            }
            Consumer::Tell(all) => {
                requests.extend(all);
                return (sluice_sbi::Done::ALL.into(), requests);
            }
            Consumer::Done(answer) => {
                assert_eq!(responses.count(), 0);
                return (*answer, requests);
            }
        };
        let response = responses.next().expect("one more response");
        step = then(came(response.clone()), memory);
    }
}

fn came(response: Response) -> Came {
    Came { from: 3, response }
}

/// Request of another core.
pub(crate) fn request(method: &str, path: &str, body: &Value) -> Request {
    let mut request = Request::new(match body {
        Value::Null => Bytes::new(),
        body => Bytes::from(body.to_string()),
    });
    *request.method_mut() = Method::from_bytes(method.as_bytes()).expect("a method");
    *request.uri_mut() = path.parse().expect("a URI");
    request
}

/// Request with a body of a type, if it has one.
pub(crate) fn typed((method, path): (&str, &str), kind: &'static str, body: &Value) -> Request {
    let mut request = request(method, path, body);
    if !body.is_null() {
        let kind = HeaderValue::from_static(kind);
        request.headers_mut().insert(CONTENT_TYPE, kind);
    }
    request
}

/// Response of an operation that the descriptions have, and find right; patches have this type.
pub(crate) fn judged(
    line: (&str, &str),
    patch: &'static str,
    body: &Value,
    memory: &mut Memory,
    function: impl FnMut(Nf, Message) -> Message,
) -> Response {
    let kind = match line.0 {
        "PATCH" => patch,
        _ => "application/json",
    };
    let request = typed(line, kind, body);
    let response = asked(&request, memory, function);
    assert_eq!(faults(&request, &response), [""; 0]);
    response
}

/// Response of another core.
pub(crate) fn response(status: u16, body: &Value) -> Response {
    let mut response = Response::new(match body {
        Value::Null => Bytes::new(),
        body => Bytes::from(body.to_string()),
    });
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

/// The same with a Location.
pub(crate) fn created(location: &str, body: &Value) -> Response {
    crate::body::with_location(response(201, body), location)
}

/// A body has all these members, which its schema requires.
pub(crate) fn assert_members(body: &Value, pointers: &[&str]) {
    for pointer in pointers {
        assert!(body.pointer(pointer).is_some(), "{pointer} of {body}");
    }
}

/// Cause of a refusal, and its status.
pub(crate) fn refusal(response: &Response) -> (u16, String) {
    let body = json_of(response.body());
    let cause = body["cause"].as_str().unwrap_or_default();
    (response.status().as_u16(), cause.to_owned())
}

/// Of a program with an AMF, an AUSF and an SMF.
pub(crate) fn memory(port: u16) -> Memory {
    let mut memory = crate::names::tests::memory();
    memory.own.root = format!("http://127.0.0.1:{port}");
    for (nf, octet) in [(Nf::Amf, 1), (Nf::Ausf, 2), (Nf::Smf, 5)] {
        memory.own.instances.insert(nf, instance(octet));
    }
    memory
}

pub(crate) fn instance(octet: u8) -> NfInstance {
    NfInstance::of([octet; 16])
}

pub(crate) fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("digits")
}

pub(crate) fn plmn() -> Plmn {
    Plmn::new("001", "01").expect("digits")
}

pub(crate) fn network() -> ServingNetworkName {
    plmn().serving_network_name()
}

pub(crate) fn guami() -> Guami {
    let amf = AmfId::from_octets([2, 0, 0x40]);
    Guami { plmn: plmn(), amf }
}

pub(crate) fn slice() -> Snssai {
    Snssai::new(1, Some([1, 2, 3]))
}

pub(crate) fn internet() -> Dnn {
    Dnn::new("internet").expect("a name")
}

/// Body of a problem without a cause, as Open5GS has it.
pub(crate) fn bare(status: u16) -> Response {
    response(
        status,
        &json!({ "title": "HTTP response error", "status": status }),
    )
}
