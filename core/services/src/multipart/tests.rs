//! Bodies with parts as other cores write them, and as ours are written.

use super::*;
use crate::body::send_empty;
use http::Method;

fn request(kind: &str, body: &[u8]) -> Request {
    let mut request = Request::new(Bytes::copy_from_slice(body));
    let kind = kind.parse().expect("a header");
    request.headers_mut().insert(CONTENT_TYPE, kind);
    request
}

fn refused(kind: &str, body: &[u8]) -> String {
    let refusal = Content::of(&request(kind, body)).expect_err("refused");
    let body: Value = serde_json::from_slice(refusal.body()).expect("JSON");
    body["detail"].as_str().unwrap_or_default().to_owned()
}

/// The form that both other cores read (TS 29.500, 5.2.2.2).
#[test]
fn parts_are_written_as_others_read_them() {
    let mut parts = Writer::default();
    let body = json!({
        "n1SmMsg": parts.nas("n1SmMsg", &Container::new(&[0x2e, 1]).expect("room")),
        "n2SmInfo": parts.ngap("n2SmInfo", &Container::new(&[0, 0xff]).expect("room")),
        "nothing": parts.ngap("x", &Container::NONE),
    });
    let sent = parts
        .send(send_empty(Method::POST, "/a/v1/b"), body)
        .request;
    let kind = sent.headers()[CONTENT_TYPE].to_str().expect("text");
    assert_eq!(kind, "multipart/related; boundary=sluice-part-0000");
    let json = r#"{"n1SmMsg":{"contentId":"n1SmMsg"},"n2SmInfo":{"contentId":"n2SmInfo"}}"#;
    let head = format!(
        "--sluice-part-0000\r\nContent-Type: application/json\r\n\r\n{json}\r\n\
         --sluice-part-0000\r\nContent-Id: n1SmMsg\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n\
         \x2e\x01\r\n--sluice-part-0000\r\n"
    );
    assert!(sent.body().starts_with(head.as_bytes()));
    assert!(
        sent.body()
            .ends_with(b"\r\n\r\n\x00\xff\r\n--sluice-part-0000--\r\n")
    );
    let content = Content::of(&sent).expect("parts");
    let part = |pointer| content.part(pointer).expect("a part");
    assert_eq!(part("/n1SmMsg").get(), Some(&[0x2e, 1][..]));
    assert_eq!(part("/n2SmInfo").get(), Some(&[0, 0xff][..]));
    assert_eq!(part("/nothing"), Container::NONE);
}

#[test]
fn no_part_contains_the_boundary() {
    let tricky = b"x\r\n--sluice-part-0000\r\n\r\n--sluice-part-0001--";
    let tricky = Container::new(tricky).expect("room");
    let mut parts = Writer::default();
    let body = json!({ "n1SmMsg": parts.nas("a", &tricky) });
    let sent = parts
        .send(send_empty(Method::POST, "/a/v1/b"), body)
        .request;
    let content = Content::of(&sent).expect("parts");
    assert_eq!(content.part("/n1SmMsg").expect("a part"), tricky);
}

/// As the SMF of Open5GS writes it: a quoted boundary with `=`, `+` and `/`.
#[test]
fn a_quoted_boundary_is_read() {
    let body = b"--=-x5+J/pIf==\r\nContent-Type: application/json\r\n\r\n\
        {\"n1SmMsg\":{\"contentId\":\"5gnas-sm\"},\"n2SmInfo\":{\"contentId\":\"ngap-sm\"}}\r\n\
        --=-x5+J/pIf==\r\nContent-Id: 5gnas-sm\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n\
        \x2e\x05\x02\xd3\x24\r\n\
        --=-x5+J/pIf==\r\nContent-Id: ngap-sm\r\nContent-Type: application/vnd.3gpp.ngap\r\n\r\n\
        \x10\r\n--=-x5+J/pIf==--\r\n";
    let kind = "multipart/related; boundary=\"=-x5+J/pIf==\"";
    let content = Content::of(&request(kind, body)).expect("parts");
    let n1 = content.part("/n1SmMsg").expect("a part");
    assert_eq!(n1.get(), Some(&[0x2e, 5, 2, 0xd3, 0x24][..]));
    assert_eq!(
        content.part("/n2SmInfo").expect("a part").get(),
        Some(&[0x10][..])
    );
}

/// As the SMF of free5GC answers: one part alone.
#[test]
fn json_alone_may_be_a_part() {
    let body = b"--b5\r\nContent-Type: application/json\r\n\r\n{}\r\n--b5--\r\n";
    let content = Content::of(&request("multipart/related; boundary=\"b5\"", body)).expect("it");
    assert_eq!(content.json, json!({}));
}

/// Forms that the RFCs allow: parameters in any order, capitals, brackets, charset, preamble, lines that end in LF,
/// the JSON part elsewhere than first (RFC 2387, 3.2), padding behind a boundary (RFC 2046, 5.1.1).
#[test]
fn other_forms_are_read() {
    let body =
        b"preamble --B\n--B \t\ncontent-id: <n1>\nCONTENT-TYPE: application/vnd.3gpp.5gnas\n\n\
        \x2e\n--B\r\nContent-ID: <root>\r\nContent-Type: Application/JSON; charset=utf-8\r\n\r\n\
        {\"n1SmMsg\":{\"contentId\":\"cid:n1\"}}\r\n--B--";
    for kind in [
        "Multipart/Related;type=\"application/json\";start=\"<root>\";BOUNDARY=B",
        "multipart/related ; boundary = \"B\" ; start=root; type=application/json",
        "multipart/related; x=\"a;\\\" boundary=c\"; boundary=B",
    ] {
        let content = Content::of(&request(kind, body)).expect(kind);
        assert_eq!(
            content.part("/n1SmMsg").expect("a part").get(),
            Some(&[0x2e][..]),
            "{kind}"
        );
    }
}

#[test]
fn a_body_that_is_no_multipart_is_refused() {
    let kind = "multipart/related; boundary=B";
    let json = "--B\r\nContent-Type: application/json\r\n\r\n{}\r\n";
    assert_eq!(
        refused("multipart/related", b"{}"),
        "multipart without a boundary"
    );
    assert_eq!(
        refused("multipart/related; boundary=\"\"", b"{}"),
        "a boundary has 1 to 70 octets"
    );
    assert_eq!(refused(kind, b"{}"), "the boundary is not in the body");
    assert_eq!(
        refused(kind, json.as_bytes()),
        "the last boundary is missing"
    );
    let many = format!("{}--B--", json.repeat(PARTS + 1));
    assert_eq!(refused(kind, many.as_bytes()), "too many parts");
    let header = format!(
        "--B\r\nx: {}\r\n\r\n{{}}\r\n--B--",
        "y".repeat(HEADER_OCTETS)
    );
    assert_eq!(
        refused(kind, header.as_bytes()),
        "the headers of a part are too long"
    );
    let nas = b"--B\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\nx\r\n--B--";
    assert_eq!(refused(kind, nas), "multipart without a JSON part");
    let long = vec![b'x'; BODY_OCTETS + 1];
    assert!(refused(kind, &long).contains("65536"));
    let text = b"--B\r\nContent-Type: application/json\r\n\r\n7\r\n--B--";
    assert_eq!(refused(kind, text), "the body is no JSON object");
}

#[test]
fn a_part_that_is_absent_empty_or_too_long_is_refused_by_the_member() {
    let body = |octets: &str, id: &str| {
        format!(
            "--B\r\nContent-Type: application/json\r\n\r\n{{\"n1SmMsg\":{{\"contentId\":\"{id}\"}}}}\r\n\
             --B\r\nContent-Id: a\r\n\r\n{octets}\r\n--B--"
        )
    };
    let long = "x".repeat(sluice_sbi::CONTAINER_OCTETS + 1);
    for body in [body("x", "b"), body("", "a"), body(&long, "a")] {
        let request = request("multipart/related; boundary=B", body.as_bytes());
        let refusal = Content::of(&request).expect("parts").part("/n1SmMsg");
        let refusal = refusal.expect_err("refused");
        let body: Value = serde_json::from_slice(refusal.body()).expect("JSON");
        assert_eq!(body["invalidParams"][0]["param"], "/n1SmMsg");
    }
    let fits = body(&"x".repeat(sluice_sbi::CONTAINER_OCTETS), "a");
    let request = request("multipart/related; boundary=B", fits.as_bytes());
    assert!(
        Content::of(&request)
            .expect("parts")
            .part("/n1SmMsg")
            .is_ok()
    );
}

/// Octets of anyone: cut and changed bodies are refused or read, and end.
#[test]
fn no_octets_are_too_odd() {
    let body =
        b"--B\r\nContent-Type: application/json\r\n\r\n{\"n1SmMsg\":{\"contentId\":\"a\"}}\r\n\
        --B\r\nContent-Id: a\r\n\r\nx\r\n--B--\r\n";
    for at in 0..body.len() {
        for octet in [0, b'\n', b'-', 0xff] {
            let mut changed = body.to_vec();
            changed[at] = octet;
            for body in [&changed[..], &changed[..at], &changed[at..]] {
                let read = Content::of(&request("multipart/related; boundary=B", body));
                let _ = read.map(|content| content.part("/n1SmMsg").is_ok());
            }
        }
    }
    let hyphens = vec![b'-'; BODY_OCTETS];
    assert_eq!(
        refused("multipart/related; boundary=-", &hyphens),
        "multipart without a JSON part"
    );
}
