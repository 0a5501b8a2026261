//! multipart/related (RFC 2387, TS 29.500, 5.2.2.2): a JSON part, and binary parts to which it refers by Content-Id.
//!
//! Written in the one form that free5GC and Open5GS both read: `multipart/related; boundary=B` without other parameters,
//! the JSON part first with `application/json` alone, and Content-Id without brackets. Read in any form that the RFCs allow.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::Container;

use crate::body::JSON;
use crate::exchange::{Outgoing, Refusal, Request, Response};
use crate::problem::{refuse, refuse_member};

/// Type of a part with a NAS message (TS 29.500, 6.1.2.4 of each service).
const NAS: &str = "application/vnd.3gpp.5gnas";
/// Type of a part with an IE of NGAP.
const NGAP: &str = "application/vnd.3gpp.ngap";

/// Most parts of a body: services of a session have three.
const PARTS: usize = 8;
/// Most octets of headers before a part.
const HEADER_OCTETS: usize = 2_048;
/// Longest boundary (RFC 2046, 5.1.1).
const BOUNDARY_OCTETS: usize = 70;
/// Most white space behind a boundary on its line.
const PADDING_OCTETS: usize = 64;
/// Longest body with parts.
const BODY_OCTETS: usize = 65_536;

/// Body with binary parts while it is written.
#[derive(Default)]
pub(crate) struct Writer {
    parts: Vec<(&'static str, &'static str, Bytes)>,
}

impl Writer {
    /// Adds a NAS message, and gives the RefToBinaryData that names it; null of none.
    pub(crate) fn nas(&mut self, id: &'static str, octets: &Container) -> Value {
        self.part(NAS, id, octets)
    }

    /// The same of an IE of NGAP.
    pub(crate) fn ngap(&mut self, id: &'static str, octets: &Container) -> Value {
        self.part(NGAP, id, octets)
    }

    fn part(&mut self, kind: &'static str, id: &'static str, octets: &Container) -> Value {
        let Some(octets) = octets.get() else {
            return Value::Null;
        };
        self.parts.push((kind, id, Bytes::copy_from_slice(octets)));
        json!({ "contentId": id })
    }

    /// Sends them with a JSON part, whose members that are null are left out; JSON alone without parts.
    pub(crate) fn send(self, mut outgoing: Outgoing, body: Value) -> Outgoing {
        let (kind, body) = self.write(body);
        outgoing.request.headers_mut().insert(CONTENT_TYPE, kind);
        *outgoing.request.body_mut() = body;
        outgoing
    }

    /// The same as a response.
    pub(crate) fn respond(self, status: StatusCode, body: Value) -> Response {
        let (kind, body) = self.write(body);
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }

    fn write(self, mut body: Value) -> (HeaderValue, Bytes) {
        drop_nulls(&mut body);
        let json = body.to_string();
        if self.parts.is_empty() {
            return (HeaderValue::from_static(JSON), json.into());
        }
        let boundary = self.boundary(&json);
        let mut octets =
            format!("--{boundary}\r\nContent-Type: {JSON}\r\n\r\n{json}\r\n").into_bytes();
        for (kind, id, part) in &self.parts {
            let head = format!("--{boundary}\r\nContent-Id: {id}\r\nContent-Type: {kind}\r\n\r\n");
            octets.extend_from_slice(head.as_bytes());
            octets.extend_from_slice(part);
            octets.extend_from_slice(b"\r\n");
        }
        octets.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        let kind = HeaderValue::from_str(&format!("multipart/related; boundary={boundary}"));
        let kind = kind.unwrap_or(HeaderValue::from_static("multipart/related"));
        (kind, octets.into())
    }

    /// Boundary that no part contains: the first of a row, since a part cannot contain all of them.
    fn boundary(&self, json: &str) -> String {
        let is_free = |boundary: &String| {
            let parts = self.parts.iter().map(|(.., part)| part.as_ref());
            let mut all = parts.chain([json.as_bytes()]);
            !all.any(|part| find(part, boundary.as_bytes(), 0).is_some())
        };
        let mut row = (0..=u16::MAX).map(|n| format!("sluice-part-{n:04x}"));
        row.find(is_free).unwrap_or_default()
    }
}

/// Leaves out members that are null, and objects of which nothing is left.
fn drop_nulls(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|_, member| {
            let was_empty = member.as_object().is_some_and(serde_json::Map::is_empty);
            drop_nulls(member);
            let is_empty = member.as_object().is_some_and(serde_json::Map::is_empty);
            !member.is_null() && (was_empty || !is_empty)
        });
    }
}

/// Body that was read: its JSON, and its binary parts.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// JSON part, or all of a body without parts.
    pub(crate) json: Value,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// Content-Id without brackets; empty without one.
    id: String,
    /// Content-Type in small letters, without parameters.
    kind: String,
    octets: Bytes,
}

impl Content {
    /// Of a request.
    ///
    /// # Errors
    /// A response that refuses it: its parts cannot be told apart, or its JSON part is no object.
    pub(crate) fn of(request: &Request) -> Result<Self, Refusal> {
        let wrong = |detail| {
            let status = StatusCode::BAD_REQUEST;
            Refusal::from(refuse(status, "INVALID_MSG_FORMAT", detail))
        };
        let (json, parts) = split(request.headers(), request.body()).map_err(wrong)?;
        match serde_json::from_slice::<Value>(&json) {
            Ok(json) if json.is_object() => Ok(Self { json, parts }),
            Ok(_) => Err(wrong("the body is no JSON object")),
            Err(e) => Err(wrong(&format!("the body is no JSON: {e}"))),
        }
    }

    /// Of a request whose body may be absent: an empty object then.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn of_any(request: &Request) -> Result<Self, Refusal> {
        if request.body().is_empty() {
            let json = json!({});
            return Ok(Self {
                json,
                ..Self::default()
            });
        }
        Self::of(request)
    }

    /// Of a response; JSON of null if it cannot be read.
    pub(crate) fn of_response(response: &Response) -> Self {
        let Ok((json, parts)) = split(response.headers(), response.body()) else {
            return Self::default();
        };
        let json = serde_json::from_slice(&json).unwrap_or_default();
        Self { json, parts }
    }

    /// Part to which the RefToBinaryData at a pointer refers; none if there is no such member.
    ///
    /// # Errors
    /// A response that refuses the member: the part is absent, or longer than a message between functions may be.
    pub(crate) fn part(&self, pointer: &str) -> Result<Container, Refusal> {
        let reference = self.json.pointer(pointer).filter(|value| !value.is_null());
        let Some(reference) = reference else {
            return Ok(Container::NONE);
        };
        let found = self.found(reference);
        let expected = format!(
            "the Content-Id of a part with 1 to {} octets",
            sluice_sbi::CONTAINER_OCTETS
        );
        found.ok_or_else(|| refuse_member(false, pointer, &expected).into())
    }

    fn found(&self, reference: &Value) -> Option<Container> {
        let id = bare(reference.get("contentId")?.as_str()?);
        let named = self.parts.iter().find(|part| part.id == id)?;
        let is_binary = named.kind != JSON && !named.octets.is_empty();
        is_binary.then(|| Container::new(&named.octets))?
    }
}

/// Content-Id without what may be around it: brackets in a header, `cid:` in a reference (RFC 2392).
fn bare(id: &str) -> &str {
    let id = id.trim();
    let id = id.strip_prefix("cid:").unwrap_or(id);
    let inner = id.strip_prefix('<').and_then(|id| id.strip_suffix('>'));
    inner.unwrap_or(id)
}

/// The JSON part, and the others; the whole body where it has no parts.
fn split(headers: &HeaderMap, body: &Bytes) -> Result<(Bytes, Vec<Part>), &'static str> {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::to_str);
    let kind = kind.and_then(Result::ok).unwrap_or_default();
    if !media_type(kind).starts_with("multipart/") {
        return Ok((body.clone(), Vec::new()));
    }
    if body.len() > BODY_OCTETS {
        return Err("a body with parts has at most 65536 octets");
    }
    let boundary = parameter(kind, "boundary").ok_or("multipart without a boundary")?;
    if boundary.is_empty() || boundary.len() > BOUNDARY_OCTETS {
        return Err("a boundary has 1 to 70 octets");
    }
    let mut parts = parts(body, &boundary)?;
    let start = parameter(kind, "start");
    let is_start = |part: &Part| start.as_deref().is_some_and(|id| bare(id) == part.id);
    let is_json = |part: &Part| part.kind.is_empty() || part.kind.ends_with("json");
    let root = parts.iter().position(is_start);
    let root = root.or_else(|| parts.iter().position(is_json));
    let root = root.ok_or("multipart without a JSON part")?;
    let json = parts.remove(root).octets;
    Ok((json, parts))
}

/// Type and subtype in small letters, without parameters.
fn media_type(header: &str) -> String {
    let kind = header.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// Parameter of a header, with or without quotes.
fn parameter(header: &str, name: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, behind) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = behind.split_once(';')?.1;
    }
}

/// Quoted string without its quotes, and what is behind it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut all = text.char_indices();
    while let Some((at, c)) = all.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(all.next()?.1),
            c => value.push(c),
        }
    }
    None
}

/// Parts between the lines that begin with two hyphens and the boundary.
fn parts(body: &Bytes, boundary: &str) -> Result<Vec<Part>, &'static str> {
    let delimiter = format!("--{boundary}");
    let mut found = Vec::new();
    let (_, mut begin) =
        line_of(body, delimiter.as_bytes(), 0).ok_or("the boundary is not in the body")?;
    while let Some(from) = begin {
        let (end, next) =
            line_of(body, delimiter.as_bytes(), from).ok_or("the last boundary is missing")?;
        if found.len() == PARTS {
            return Err("too many parts");
        }
        found.push(part(body.slice(from..end.max(from)))?);
        begin = next;
    }
    Ok(found)
}

/// The next line of a boundary: where the content before it ends, and where the part after it begins; none after the last.
fn line_of(body: &[u8], delimiter: &[u8], from: usize) -> Option<(usize, Option<usize>)> {
    let mut search = from;
    loop {
        let at = find(body, delimiter, search)?;
        search = at + 1;
        let before = &body[..at];
        let rest = &body[at + delimiter.len()..];
        let begins_line = at == 0 || before.ends_with(b"\n");
        let is_last = rest.starts_with(b"--");
        let mut near = rest.iter().take(PADDING_OCTETS);
        let end = near.position(|octet| *octet == b'\n');
        let padding = end.map(|end| &rest[..end]);
        let is_padding = padding.is_some_and(|all| all.iter().all(u8::is_ascii_whitespace));
        if !begins_line || !(is_last || is_padding) {
            continue;
        }
        let content = before.strip_suffix(b"\n").unwrap_or(before);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        let next = match is_last {
            true => None,
            false => end.map(|end| at + delimiter.len() + end + 1),
        };
        return Some((content.len(), next));
    }
}

/// Headers of a part, and its content.
fn part(octets: Bytes) -> Result<Part, &'static str> {
    let (mut id, mut kind) = (String::new(), String::new());
    let mut at = 0;
    loop {
        let rest = &octets[at..];
        let end = rest.iter().position(|octet| *octet == b'\n');
        let line = end.map_or(rest, |end| &rest[..end]);
        at += end.map_or(rest.len(), |end| end + 1);
        if at > HEADER_OCTETS {
            return Err("the headers of a part are too long");
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || end.is_none() {
            break;
        }
        let line = std::str::from_utf8(line).map_err(|_| "a header of a part is no text")?;
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "content-id" => id = bare(value).to_owned(),
            "content-type" => kind = media_type(value),
            _ => {}
        }
    }
    let octets = octets.slice(at..);
    Ok(Part { id, kind, octets })
}

/// First place from `from` on where `what` is.
fn find(octets: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let rest = octets.get(from..)?;
    let at = rest
        .windows(what.len().max(1))
        .position(|one| one == what)?;
    Some(from + at)
}

#[cfg(test)]
mod tests;
