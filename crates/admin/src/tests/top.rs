//! Tests of `/top`, on an engine that serves.

use super::*;
use kasoku_testkit::{get as expects, ok, post};

#[test]
fn top_says_which_urls_are_missed_and_slow_and_how_many_are_hits() {
    let scene = Setup::safe().options(|options| options.workers = 2).run([
        expects("/page").answers(ok(&["Cache-Control: max-age=60"], "page")),
        expects("/cart?id=1").answers(ok(&["Set-Cookie: a=1"], "mine")),
        expects("/cart?id=1").answers(ok(&["Set-Cookie: a=1"], "mine")),
        post("/form").answers(ok(&[], "")),
    ]);
    let path = std::env::temp_dir().join(format!("kasoku-admin-top-{}.sock", std::process::id()));
    let address = ListenAddress::Unix(path.clone());
    let _admin = Admin::start(&address, AdminHandle::new(scene.engine.handle().clone(), None)).unwrap();
    let mut client = scene.client();
    for target in ["/page", "/page", "/page", "/cart?id=1", "/cart?id=1"] {
        client.get(target);
    }
    client.send_body("POST", "/form", &[], "x");
    client.ask("PURGE", "/page", &[]).response();
    client.send("no request\r\n\r\n").response();
    scene.counted(Counter::Requests, 8);

    let stream = UnixStream::connect(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let answer = exchange(stream, "GET /top HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let top: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    let urls = top["urls"].as_array().unwrap();
    let told: Vec<_> = urls.iter().map(|url| (&url["url"], &url["requests"], &url["last"], &url["reason"])).collect();
    let [cart, page, form] = ["cart?id=1", "page", "form"].map(|path| format!("http://example.org/{path}").into());
    assert_eq!(
        told,
        [
            (&cart, &2.into(), &"pass".into(), &"set-cookie".into()),
            (&form, &1.into(), &"pass".into(), &"method".into()),
            (&page, &1.into(), &"miss".into(), &"uri-miss".into())
        ],
        "neither the purge nor what was no request"
    );
    let asked: Vec<_> = urls.iter().map(|url| &url["origin_requests"]).collect();
    assert_eq!(asked, [2, 1, 1]);
    assert_eq!(urls[0]["body_bytes"], 8, "twice `mine`");
    assert_eq!(top["memory"]["objects"], 0, "purged");
    assert_eq!(top["memory"]["bytes_max"], scene.engine.handle().options().memory_bytes_max);
    assert_eq!((&top["origins"][0]["is_up"], &top["origins"][0]["requests"]), (&true.into(), &4.into()));
    let rates = top["rates"].as_array().unwrap();
    assert_eq!(rates.len(), 3);
    let since_start = &rates[2];
    // 2 hits of the 7 requests that were no error. The others: a miss, two passes of the cart, the form and the purge.
    assert_eq!(since_start["hit_ratio"], 0.2857);
    assert_eq!(since_start["origin_head_seconds_95"], 0.001);
    assert!(since_start["requests_per_second"].as_f64().unwrap() > 0.0);
    let answers = &since_start["answers_per_second"];
    assert!(answers["2xx"].as_f64().unwrap() > answers["4xx"].as_f64().unwrap(), "{answers}");
    assert!(answers["4xx"].as_f64().unwrap() > 0.0 && answers["5xx"] == 0.0, "{answers}");
}

#[test]
fn top_shows_urls_so_a_loopback_address_needs_the_token() {
    let token = token("top");
    let secret = token.secret().to_owned();
    let (without, _engine) = started();
    assert_eq!(status(&get(&without, "/top")), 401);
    let (with, _engine) = started_with(Some(token));
    assert_eq!(status(&get(&with, "/top")), 401);
    let request = format!("GET /top HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n\r\n");
    assert_eq!(status(&exchange(connect(&with), &request)), 200);
}
