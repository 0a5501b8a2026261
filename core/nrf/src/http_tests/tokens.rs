//! Nnrf_AccessToken (TS 29.510, 6.3).

use http::header::CONTENT_TYPE;
use sluice_sbi::NfInstance;

use super::*;

fn ask_token(nrf: &mut Nrf, form: &str) -> (u16, Value) {
    let mut request = request("POST", "/oauth2/token", form);
    let form = http::HeaderValue::from_static("application/x-www-form-urlencoded");
    request.headers_mut().insert(CONTENT_TYPE, form);
    let (status, body) = serve_at(nrf, at(0), &request);
    (status.as_u16(), body)
}

/// Request of the SMF for the UDM, with another end.
fn smf(rest: &str) -> String {
    format!("grant_type=client_credentials&nfInstanceId={SMF}&nfType=SMF{rest}")
}

fn udm() -> Value {
    let service = |name: &str| json!({ "serviceInstanceId": name, "serviceName": name, "allowedNfTypes": ["SMF"] });
    json!({
        "nfInstanceId": AMF, "nfType": "UDM", "nfStatus": "REGISTERED",
        "nfServices": [service("nudm-sdm"), service("nudm-uecm")],
    })
}

/// Key whose signatures tell how much they sign.
struct Length(&'static str, usize);

impl Sign for Length {
    fn algorithm(&self) -> &'static str {
        self.0
    }

    fn sign(&self, octets: &[u8]) -> Option<Vec<u8>> {
        Some(vec![octets.len() as u8; self.1])
    }
}

fn signing() -> Nrf {
    let mut nrf = nrf();
    sluice_sbi::NetworkFunction::identify(&mut nrf, NfInstance::of([1; 16]));
    nrf.sign_with(Some(Signer {
        key: Box::new(Length("ES256", 64)),
        other: Some(OtherKey {
            key: Box::new(Length("RS512", 256)),
            targets: vec!["NRF".to_owned(), AMF.to_uppercase()],
        }),
    }));
    put(&mut nrf, &free5gc_smf());
    put(&mut nrf, &udm());
    nrf
}

/// Digits of base64url as octets.
fn decoded(text: &str) -> Vec<u8> {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bits, mut number, mut octets) = (0_u32, 0, Vec::new());
    for digit in text.chars().map(|c| digits.find(c).unwrap()) {
        (bits, number) = (bits << 6 | digit as u32, number + 6);
        if number >= 8 {
            number -= 8;
            octets.push((bits >> number) as u8);
        }
    }
    octets
}

#[test]
fn a_token_has_the_claims_of_the_ts() {
    let mut nrf = signing();
    let (status, body) = ask_token(&mut nrf, &smf("&targetNfType=UDM&scope=nudm-sdm+nudm-uecm"));
    assert_eq!((status, &body["token_type"]), (200, &json!("Bearer")));
    let token = body["access_token"].as_str().unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let read = |text: &str| serde_json::from_slice::<Value>(&decoded(text)).unwrap();
    assert_eq!(read(parts[0]), json!({ "alg": "ES256", "typ": "JWT" }));
    let claims = json!({
        "iss": "01010101-0101-8101-8101-010101010101",
        "sub": SMF,
        "aud": "UDM",
        "scope": "nudm-sdm nudm-uecm",
        "exp": at(1_000).unix_s,
    });
    assert_eq!(read(parts[1]), claims);
    // Header and claims are signed.
    let signed = parts[0].len() + 1 + parts[1].len();
    assert_eq!(decoded(parts[2]), vec![signed as u8; 64]);
}

#[test]
fn producers_that_are_listed_have_tokens_of_the_other_key() {
    let mut nrf = signing();
    for (rest, algorithm) in [
        ("&targetNfType=UDM&scope=nudm-sdm".to_owned(), "ES256"),
        (format!("&targetNfInstanceId={AMF}&scope=nudm-sdm"), "RS512"),
        ("&targetNfType=NRF&scope=nnrf-disc".to_owned(), "RS512"),
    ] {
        let (status, body) = ask_token(&mut nrf, &smf(&rest));
        assert_eq!(status, 200, "{rest}");
        let header = body["access_token"].as_str().unwrap().split('.').next();
        let header: Value = serde_json::from_slice(&decoded(header.unwrap())).unwrap();
        assert_eq!(header["alg"], algorithm, "{rest}");
    }
    assert_eq!(nrf.counters().tokens, 3);
    nrf.require_tokens(true);
    let (_, kept) = put(&mut nrf, &udm());
    assert_eq!(kept["customInfo"]["oauth2"], true);
    let (_, info) = serve_at(&mut nrf, at(0), &request("GET", "/bootstrapping", ""));
    let required = json!({ "nnrf-disc": true, "nnrf-nfm": true });
    assert_eq!(info["oauth2Required"], required);
}

#[test]
fn a_client_without_slices_is_of_all_and_another_of_its_own_alone() {
    let mut nrf = signing();
    let slice = |sst: u8| json!([{ "sst": sst }]);
    let mut udr = json!({ "nfInstanceId": UDR, "nfType": "UDR", "nfStatus": "REGISTERED" });
    udr["allowedNssais"] = slice(1);
    udr["allowedPlmns"] = json!([{ "mcc": "001", "mnc": "01" }]);
    let service =
        json!({ "serviceInstanceId": "1", "serviceName": "nudr-dr", "allowedNssais": slice(1) });
    udr["nfServices"] = json!([service]);
    put(&mut nrf, &udr);
    let form = format!(
        "grant_type=client_credentials&nfInstanceId={AMF}&nfType=UDM&targetNfType=UDR&scope=nudr-dr"
    );
    assert_eq!(ask_token(&mut nrf, &form).0, 200);
    let mut client = udm();
    client["sNssais"] = slice(2);
    put(&mut nrf, &client);
    assert_eq!(ask_token(&mut nrf, &form).1["error"], "invalid_scope");
}

#[test]
fn who_may_not_have_a_token_is_told_why() {
    let mut nrf = signing();
    let other = smf("&targetNfType=UDM&scope=nudm-sdm").replace(SMF, UDR);
    let wrong_type = smf("&targetNfType=UDM&scope=nudm-sdm").replace("nfType=SMF", "nfType=AMF");
    let password =
        smf("&targetNfType=UDM&scope=nudm-sdm").replace("client_credentials", "password");
    for (form, error) in [
        (other, "invalid_client"),
        (wrong_type, "invalid_client"),
        (password, "unsupported_grant_type"),
        (smf("&targetNfType=UDM"), "invalid_scope"),
        (smf("&targetNfType=UDM&scope=nudm-ee"), "invalid_scope"),
        (smf("&targetNfType=UDR&scope=nudr-dr"), "invalid_scope"),
        (smf("&scope=nudm-sdm"), "invalid_request"),
        (String::new(), "invalid_request"),
    ] {
        let (status, body) = ask_token(&mut nrf, &form);
        assert_eq!((status, &body["error"]), (400, &json!(error)), "{form}");
    }
    let mut without = super::nrf();
    put(&mut without, &free5gc_smf());
    assert_eq!(
        ask_token(&mut without, &smf("&targetNfType=NRF&scope=nnrf-nfm")).0,
        400
    );
}
