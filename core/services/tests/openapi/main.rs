//! Each request and answer of our functions, judged by 3GPP's OpenAPI descriptions.

mod calls;
mod judge;

use judge::Judge;

/// All calls, each from its request to its answer.
#[test]
fn all_that_is_sent_is_as_the_descriptions_say() {
    let Some(judge) = Judge::open() else {
        println!("skipped: ../shared/openapi is missing");
        return;
    };
    let mut wrong = Vec::new();
    for (request, answers) in calls::all() {
        wrong.extend(calls::judge(&judge, &request, &answers));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_judge_refuses_what_is_wrong() {
    let Some(judge) = Judge::open() else {
        println!("skipped: ../shared/openapi is missing");
        return;
    };
    let file = "TS29509_Nausf_UEAuthentication.yaml";
    let verdict = |body: &str| judge.is_type(body.as_bytes(), file, "AuthenticationInfo");
    let network = "\"servingNetworkName\": \"5G:mnc001.mcc001.3gppnetwork.org\"";
    let sound = format!("{{\"supiOrSuci\": \"imsi-001010000000001\", {network}}}");
    assert_eq!(verdict(&sound), Ok(()));
    for wrong in [
        format!("{{{network}}}"),
        sound.replace("imsi-", "\\n"),
        sound.replace("5G:", "4G:"),
    ] {
        assert!(verdict(&wrong).is_err(), "{wrong}");
    }
}
