//! Judge for tests: 3GPP's OpenAPI descriptions (Release 17), where the folder with them is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::{Draft, Registry, Resource, Validator};
use serde_json::{Map, Value, json};

use crate::exchange::{Request, Response};

/// Base of the files' names as URIs; nobody is asked there.
const BASE: &str = "http://openapi.invalid/";

/// Judge of all tests of a process; none where the folder is missing.
static JUDGE: LazyLock<Option<Judge>> = LazyLock::new(Judge::open);

/// Whatever is wrong with a request and its response; nothing where there is no judge.
pub(crate) fn faults(request: &Request, response: &Response) -> Vec<String> {
    let Some(judge) = JUDGE.as_ref() else {
        return Vec::new();
    };
    let name = format!("{} {}", request.method(), request.uri());
    // Their receivers choose the paths of notifications.
    if name.contains("-callback/") {
        return Vec::new();
    }
    let Some(operation) = judge.operation(request) else {
        return vec![format!("{name}: no description has it")];
    };
    let of_request = operation.check_request(request).err();
    let of_response = operation.check_response(response).err();
    let of_request = of_request.map(|why| format!("{name}, request: {why}"));
    let of_response = of_response.map(|why| format!("{name}, {}: {why}", response.status()));
    of_request.into_iter().chain(of_response).collect()
}

/// Whatever is wrong with a body as a type of a file, `TS29503_Nudm_UECM.yaml` and `DeregistrationData`: of notifications,
/// whose paths their receivers choose.
pub(crate) fn faults_of_type(body: &[u8], file: &str, name: &str) -> Vec<String> {
    let judge = JUDGE.as_ref();
    let verdict =
        judge.map(|judge| judge.check(body, file, &format!("/components/schemas/{name}")));
    verdict.and_then(Result::err).into_iter().collect()
}

/// Recording of requests of other cores, where the folder with them is there.
pub(crate) fn recorded(name: &str) -> Option<String> {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(house.join("../shared/interop").join(name)).ok()
}

/// Files by their names.
struct Judge {
    files: BTreeMap<String, Value>,
    registry: Registry,
    /// Validators that were built, by file and pointer.
    built: Mutex<BTreeMap<String, Arc<Validator>>>,
    /// Roots of services, `/nausf-auth/v1`, with their files.
    services: Vec<(String, String)>,
}

/// Operation of a request.
struct Operation<'a> {
    judge: &'a Judge,
    /// File and JSON pointer of it.
    at: (String, String),
}

impl Judge {
    /// None where the folder is missing.
    fn open() -> Option<Self> {
        let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder: PathBuf = house.join("../shared/openapi");
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).ok()? {
            let path = entry.ok()?.path();
            if path.extension().is_some_and(|one| one == "yaml") {
                let name = path.file_name()?.to_string_lossy().into_owned();
                let text = fs::read_to_string(&path).ok()?;
                let mut value: Value = serde_yaml_ng::from_str(&text).expect(&name);
                as_json_schema(&mut value);
                files.insert(name, value);
            }
        }
        let root = |(name, file): (&String, &Value)| {
            let url = file.pointer("/servers/0/url")?.as_str()?;
            let root = url.strip_prefix("{apiRoot}")?.to_owned();
            Some((root, name.clone()))
        };
        let services = files.iter().filter_map(root).collect();
        let resources = files.iter().map(|(name, file)| {
            let resource = Resource::from_contents(file.clone()).expect("a file");
            (format!("{BASE}{name}"), resource)
        });
        let options = Registry::options().draft(Draft::Draft4);
        let registry = options
            .build(resources)
            .expect("files that refer to each other");
        let built = Mutex::default();
        Some(Self {
            files,
            registry,
            built,
            services,
        })
    }

    /// Operation of a request; none if no file has it.
    fn operation(&self, request: &Request) -> Option<Operation<'_>> {
        let path = request.uri().path();
        let mut roots = self.services.iter();
        let (root, file) = roots.find(|(root, _)| {
            path.strip_prefix(root.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        })?;
        let rest = path.strip_prefix(root.as_str())?;
        let paths = self.files.get(file)?.get("paths")?.as_object()?;
        let mut fits: Vec<&String> = paths.keys().filter(|one| fits(one, rest)).collect();
        // A name counts more than a parameter.
        fits.sort_by_key(|one| one.matches('{').count());
        let template = fits.first()?;
        let method = request.method().as_str().to_lowercase();
        let (file, pointer) = self.follow(file, &format!("/paths/{}", escaped(template)))?;
        let pointer = format!("{pointer}/{method}");
        self.files.get(&file)?.pointer(&pointer)?;
        let at = (file, pointer);
        Some(Operation { judge: self, at })
    }

    /// Follows references from a place, until something stands there.
    fn follow(&self, file: &str, pointer: &str) -> Option<(String, String)> {
        let value = self.files.get(file)?.pointer(pointer)?;
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
            return Some((file.to_owned(), pointer.to_owned()));
        };
        let (to, pointer) = reference
            .strip_prefix(BASE)
            .unwrap_or(reference)
            .split_once('#')?;
        let to = if to.is_empty() { file } else { to };
        let pointer = pointer.replace("%7B", "{").replace("%7D", "}");
        self.follow(to, &pointer)
    }

    fn check(&self, body: &[u8], file: &str, pointer: &str) -> Result<(), String> {
        let body: Value = serde_json::from_slice(body).map_err(|e| format!("no JSON: {e}"))?;
        let validator = self.validator(file, pointer)?;
        let wrong = validator.iter_errors(&body);
        let wrong: Vec<String> = wrong
            .map(|e| format!("{} at {}", e, e.instance_path))
            .collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("{}\n{body}", wrong.join("\n"))),
        }
    }

    fn validator(&self, file: &str, pointer: &str) -> Result<Arc<Validator>, String> {
        let pointer = pointer.replace('{', "%7B").replace('}', "%7D");
        let at = format!("{BASE}{file}#{pointer}");
        let mut built = self.built.lock().expect("no test panics here");
        if let Some(validator) = built.get(&at) {
            return Ok(validator.clone());
        }
        let options = jsonschema::options();
        let options = options
            .with_draft(Draft::Draft4)
            .with_registry(self.registry.clone());
        let validator = options
            .build(&json!({ "$ref": at }))
            .map_err(|e| e.to_string())?;
        let validator = Arc::new(validator);
        built.insert(at, validator.clone());
        Ok(validator)
    }
}

impl Operation<'_> {
    /// Whether the body of a request is right, and mandatory query parameters are there.
    fn check_request(&self, request: &Request) -> Result<(), String> {
        let operation = self.value().ok_or("no operation")?;
        let query = request.uri().query().unwrap_or_default();
        let given: Vec<_> = query
            .split('&')
            .filter_map(|one| one.split('=').next())
            .collect();
        let parameters = operation.get("parameters").and_then(Value::as_array);
        for one in parameters.into_iter().flatten() {
            let name = one["name"].as_str().unwrap_or_default();
            if one["in"] == "query" && one["required"] == true && !given.contains(&name) {
                return Err(format!("{name} is missing in the query"));
            }
        }
        let body = format!("{}/requestBody", self.at.1);
        match self.judge.follow(&self.at.0, &body) {
            None if request.body().is_empty() => Ok(()),
            None => Err("a body where there is none".to_owned()),
            Some(at) => self.check_content(&at, request.headers(), request.body()),
        }
    }

    /// Whether a response is one of the operation, and its body is right.
    fn check_response(&self, response: &Response) -> Result<(), String> {
        let status = response.status().as_u16();
        let at = format!("{}/responses/{status}", self.at.1);
        let at = self.judge.follow(&self.at.0, &at);
        let at = at.ok_or_else(|| format!("{status} is no status of the operation"))?;
        match response.body().is_empty() {
            true => Ok(()),
            false => self.check_content(&at, response.headers(), response.body()),
        }
    }

    fn value(&self) -> Option<&Value> {
        self.judge.files.get(&self.at.0)?.pointer(&self.at.1)
    }

    /// Checks a body as the content of a request or a response; of one in parts the part of JSON.
    fn check_content(
        &self,
        (file, pointer): &(String, String),
        headers: &http::HeaderMap,
        body: &[u8],
    ) -> Result<(), String> {
        let kind = headers.get(http::header::CONTENT_TYPE);
        let kind = kind
            .and_then(|one| one.to_str().ok())
            .ok_or("no content type")?;
        let (media, _) = kind.split_once(';').unwrap_or((kind, ""));
        let at = format!("{pointer}/content/{}/schema", escaped(media));
        let known = self.judge.files.get(file).and_then(|one| one.pointer(&at));
        known.ok_or_else(|| format!("{media} is no type of the body, at {pointer}"))?;
        if media == "multipart/related" {
            let json = first_part(body).ok_or("no part of JSON")?;
            return self
                .judge
                .check(json, file, &format!("{at}/properties/jsonData"));
        }
        self.judge.check(body, file, &at)
    }
}

/// First part of a body in parts.
fn first_part(body: &[u8]) -> Option<&[u8]> {
    let find = |from: usize, what: &[u8]| {
        let rest = body.get(from..)?;
        rest.windows(what.len())
            .position(|one| one == what)
            .map(|at| from + at)
    };
    let begin = find(0, b"\r\n\r\n")? + 4;
    body.get(begin..find(begin, b"\r\n--")?)
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Whether a path is of a template.
fn fits(template: &str, path: &str) -> bool {
    let (of_template, of_path) = (template.split('/'), path.split('/'));
    let fits = |(one, other): (&str, &str)| one.starts_with('{') || one == other;
    template.split('/').count() == path.split('/').count() && of_template.zip(of_path).all(fits)
}

/// From OpenAPI 3.0 to JSON Schema: `nullable`, and names of files as URIs.
fn as_json_schema(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(as_json_schema),
        Value::Object(members) => {
            members.values_mut().for_each(as_json_schema);
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && reference.starts_with("TS")
            {
                *reference = format!("{BASE}{reference}");
            }
            if members.remove("nullable") == Some(Value::Bool(true)) {
                let schema: Map<String, Value> = std::mem::take(members);
                members.insert("anyOf".into(), json!([schema, { "type": "null" }]));
            }
        }
        _ => {}
    }
}

#[test]
fn the_judge_refuses_what_is_wrong() {
    if JUDGE.is_none() {
        println!("skipped: ../shared/openapi is missing");
        return;
    }
    let file = "TS29509_Nausf_UEAuthentication.yaml";
    let faults = |body: &str| faults_of_type(body.as_bytes(), file, "AuthenticationInfo");
    let network = "\"servingNetworkName\": \"5G:mnc001.mcc001.3gppnetwork.org\"";
    let sound = format!("{{\"supiOrSuci\": \"imsi-001010000000001\", {network}}}");
    assert_eq!(faults(&sound), [""; 0]);
    for wrong in [
        format!("{{{network}}}"),
        sound.replace("imsi-", "\\n"),
        sound.replace("5G:", "4G:"),
    ] {
        assert!(!faults(&wrong).is_empty(), "{wrong}");
    }
}
