//! Requests to the NRF: functions register, find others, and get tokens.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Uri};
use sluice_core_runtime::system;
use sluice_nrf::Nrf;
use sluice_sbi::{
    DiscoverNfs, Message, NetworkFunction as _, Nf, NfInstance, NfProfile, NfQuery, RegisterNf,
    Requester, Served,
};
use sluice_services::{Consumer, Memory, Request, Response, begin};
use sluice_testbed::core as testbed;

use super::carried::{Calls, plain};
use super::keys::{self, Keys};
use crate::Failure;

/// Functions that are registered, AMFs and UDMs in turn.
pub const FUNCTIONS: u8 = 16;

/// Request that is made again and again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// PUT of a profile that is there.
    Register,
    /// GET of all UDMs.
    Discover,
    /// POST for a token that is signed by ES256.
    Token,
}

impl Kind {
    pub const ALL: [(&'static str, Self); 3] = [
        ("register", Self::Register),
        ("discover", Self::Discover),
        ("token", Self::Token),
    ];
}

/// Requests of a kind, and the NRF that answers them.
pub struct OfNrf {
    kind: Kind,
    nrf: Nrf,
    next: u8,
}

impl OfNrf {
    /// All functions are registered: nobody else is found, or gets tokens.
    pub fn new(kind: Kind, keys: &Keys, memory: &mut Memory) -> Result<Self, Failure> {
        let mut nrf = Nrf::default();
        nrf.identify(keys::instance(Nf::Nrf));
        nrf.sign_with(Some(keys.signer()?));
        let mut this = Self {
            kind: Kind::Register,
            nrf,
            next: 0,
        };
        for _ in 0..FUNCTIONS {
            if let Consumer::Send(put, _) = this.begin(memory)? {
                this.serve(&put.request, memory);
            }
        }
        this.kind = kind;
        Ok(this)
    }

    /// A token as requests have it.
    pub fn bearer(&mut self, memory: &mut Memory) -> Result<HeaderValue, Failure> {
        let response = self.serve(&token(0), memory);
        let body: serde_json::Value =
            serde_json::from_slice(response.body()).map_err(super::told)?;
        let token = body["access_token"].as_str().ok_or("no token is given")?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}")).map_err(super::told)?;
        bearer.set_sensitive(true);
        Ok(bearer)
    }
}

fn instance(number: u8) -> NfInstance {
    NfInstance::of([number + 0x10; 16])
}

fn register(number: u8) -> Message {
    let kind = [Nf::Amf, Nf::Udm][usize::from(number % 2)];
    let served = Served::new(&[testbed::slice(1)], &[], &[]);
    let profile = NfProfile::new(instance(number), kind, &[testbed::plmn()], served);
    RegisterNf { profile }.into()
}

fn discover() -> Message {
    let slice = Some(testbed::slice(1));
    let requester = Requester::new(Nf::Amf, slice, Some(testbed::plmn()));
    let query = NfQuery::new(requester, Nf::Udm, slice, None, None);
    DiscoverNfs { query }.into()
}

/// Request of an AMF for a token with which it may ask UDMs.
fn token(number: u8) -> Request {
    let amf = instance(number & !1);
    let form = format!(
        "grant_type=client_credentials&nfInstanceId={amf}&nfType=AMF&targetNfType=UDM&scope=nudm-sdm"
    );
    let mut request = Request::new(form.into());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("/oauth2/token");
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    request.headers_mut().insert(CONTENT_TYPE, form);
    request
}

impl Calls for OfNrf {
    fn begin(&mut self, consumer: &mut Memory) -> Result<Consumer, Failure> {
        let number = self.next;
        self.next = (number + 1) % FUNCTIONS;
        let message = match self.kind {
            Kind::Register => register(number),
            Kind::Discover => discover(),
            Kind::Token => return Ok(plain(token(number))),
        };
        begin(&message, consumer).ok_or_else(|| "the NRF has no such service".to_owned())
    }

    fn serve(&mut self, request: &Request, _: &mut Memory) -> Response {
        // Nobody has subscribed, and no operator hears of it.
        self.nrf.serve(system::now(), request, &mut Vec::new())
    }
}
