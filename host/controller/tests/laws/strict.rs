//! Laws of the HTTP interface about what is refused: unknown parameters, foreign cursors, methods
//! and encodings that are not taken; each with a code, on every route.

use crate::rig::{Rig, answer, job};
use pliant_api::routes::{FIXED, TEMPLATES};
use reqwest::{
    Method,
    header::{ALLOW, AUTHORIZATION, CONTENT_TYPE},
};
use std::collections::BTreeSet;

const METHODS: [Method; 5] =
    [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH];

/// Every path with each parameter filled in, and the methods that the description gives it.
fn described() -> Vec<(String, BTreeSet<String>)> {
    let document = pliant_controller::openapi_document();
    let methods = |template: &str| {
        let operations = document["paths"][template].as_object();
        let operations = operations.unwrap_or_else(|| panic!("{template} is not described"));
        operations.keys().map(|method| method.to_uppercase()).collect()
    };
    let filled = |template: &str| {
        let parts = template.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    let all = FIXED.iter().chain(TEMPLATES);
    let all: Vec<_> = all.map(|template| (filled(template), methods(template))).collect();
    assert_eq!(all.len(), document["paths"].as_object().unwrap().len(), "each is described once");
    all
}

#[tokio::test]
async fn the_router_takes_what_the_description_says_and_nothing_else() {
    let rig = Rig::start().await;
    for (path, methods) in described() {
        for method in METHODS {
            let sent = rig.request(method.clone(), &path).send().await.unwrap();
            let status = sent.status().as_u16();
            let allow = sent.headers().get(ALLOW).map(|v| v.to_str().unwrap().to_owned());
            let body: serde_json::Value = sent.json().await.unwrap_or_default();
            let code = body["code"].as_str().unwrap_or("none");
            assert_ne!(code, "route-not-found", "{method} {path}");
            if methods.contains(method.as_str()) {
                assert_ne!(status, 405, "{method} {path}");
                continue;
            }
            assert_eq!((status, code), (405, "method-not-allowed"), "{method} {path}");
            let allow = allow.unwrap_or_else(|| panic!("{method} {path} says not what it takes"));
            let allowed: BTreeSet<_> = allow.split(',').map(|m| m.trim().to_owned()).collect();
            assert!(methods.is_subset(&allowed), "{method} {path}: {allowed:?}");
        }
    }
    let absent = rig.get("/v1/nothing").await;
    assert_eq!((absent.status, absent.code()), (404, "route-not-found"));
    rig.stop().await;
}

#[tokio::test]
async fn a_parameter_that_a_route_does_not_know_is_refused_on_every_route() {
    let rig = Rig::start().await;
    for (path, methods) in described() {
        for method in methods {
            let method: Method = method.parse().unwrap();
            let sent = rig.request(method.clone(), &format!("{path}?nope=1"));
            let refused = answer(sent).await;
            assert_eq!(refused.status, 400, "{method} {path}: {refused:?}");
        }
    }
    let mistyped = rig.submission("web", 16).query(&[("dryrun", "true")]);
    let refused = answer(mistyped).await;
    assert_eq!((refused.status, refused.code()), (400, "body-invalid"), "{refused:?}");
    assert_eq!(refused.body["hint"], "did you mean `dryRun`?");
    assert_eq!(rig.get(&job("web")).await.status, 404, "nothing was created");
    rig.stop().await;
}

#[tokio::test]
async fn pages_follow_each_other_and_a_foreign_cursor_is_refused() {
    let rig = Rig::start().await;
    for name in ["a", "b", "c"] {
        assert_eq!(rig.submit(name).await.status, 201);
    }
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = rig.get(&format!("/v1/jobs?limit=1{cursor}")).await.body;
        names.push(page["items"][0]["name"].as_str().unwrap().to_owned());
        let Some(next) = page["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(names, ["a", "b", "c"]);
    for list in ["/v1/jobs", "/v1/executions", "/v1/hosts", "/v1/artifacts"] {
        let refused = rig.get(&format!("{list}?cursor=zzz")).await;
        assert_eq!((refused.status, refused.code()), (400, "body-invalid"), "{list}: {refused:?}");
    }
    rig.stop().await;
}

#[tokio::test]
async fn what_is_no_text_and_what_is_encoded_is_refused_with_a_code() {
    let rig = Rig::start().await;
    let refused = rig.get("/v1/namespaces/default/jobs/%ff").await;
    assert_eq!((refused.status, refused.code()), (400, "body-invalid"), "{refused:?}");

    for (header, value) in [("content-encoding", "gzip"), ("content-type", "text/html")] {
        let mut request = rig.submission("web", 16).build().unwrap();
        request.headers_mut().insert(header, value.parse().unwrap());
        let sent = rig.execute(request).await;
        assert_eq!((sent.status, sent.code()), (415, "media-unsupported"), "{header}: {value}");
    }
    let keys = rig.submission("web", 16).header("idempotency-key", "a");
    let refused = answer(keys.header("idempotency-key", "b")).await;
    assert_eq!((refused.status, refused.code()), (400, "body-invalid"), "{refused:?}");
    assert_eq!(rig.get(&job("web")).await.status, 404, "nothing was created");

    let mut request = rig.submission("web", 16).build().unwrap();
    request.headers_mut().insert(CONTENT_TYPE, "Application/YAML; Charset=UTF-8".parse().unwrap());
    assert_eq!(rig.execute(request).await.status, 201, "a type has no case");
    rig.stop().await;
}

#[tokio::test]
async fn what_a_refused_submission_brought_is_not_kept() {
    let mut rig = Rig::start().await;
    assert_eq!(rig.submit("web").await.status, 201);
    let kept = rig.digest.clone();
    for bytes in [&b"a private file"[..], b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0"] {
        rig.digest = rig.push(bytes).await;
        let refused = rig.submit("other").await;
        assert_eq!((refused.status, refused.code()), (422, "artifact-invalid"), "{refused:?}");
        let list = rig.get("/v1/artifacts").await.body;
        let digests: Vec<_> = list["items"].as_array().unwrap().iter().collect();
        assert_eq!(digests.len(), 1, "{list}");
        assert_eq!(digests[0]["digest"], kept, "what a version names stays");
    }
    rig.stop().await;
}

#[tokio::test]
async fn the_scheme_has_no_case_and_without_a_token_no_path_is_told() {
    let rig = Rig::start().await;
    let mut request = rig.request(Method::GET, "/v1/version").build().unwrap();
    let headers = request.headers_mut();
    let token = headers[AUTHORIZATION].to_str().unwrap().replace("Bearer ", "bearer ");
    headers.insert(AUTHORIZATION, token.parse().unwrap());
    let known = rig.execute(request).await;
    assert!(known.body["cluster"].is_string(), "{known:?}");

    let mut request = rig.request(Method::GET, "/v1/version").build().unwrap();
    request.headers_mut().remove(AUTHORIZATION);
    let open = rig.execute(request).await;
    assert_eq!((open.status, &open.body["cluster"]), (200, &serde_json::Value::Null), "{open:?}");
    rig.stop().await;
}
