use super::*;

#[test]
fn a_document_has_its_status_fields_and_body() {
    play(async {
        let mut site = Site::with("printf 'Status: 418 Teapot\\nContent-Type: text/plain\\nX-A: b\\n\\nhello'");
        let whole = site.whole(get("/a.cgi")).await.unwrap();
        assert_eq!((whole.status, whole.head.reason.as_slice(), whole.body.as_str()), (418, &b"Teapot"[..], "hello"));
        assert_eq!(whole.head.fields.first("x-a"), Some(&b"b"[..]));
        assert!(!whole.head.fields.contains("status") && !whole.may_be_incomplete);
        site.until_idle().await;
    });
}

#[test]
fn a_program_is_told_the_request_and_nothing_of_ours() {
    play(async {
        let mut site = Site::with("echo 'Content-Type: text/plain'; echo; env");
        site.gateway.environment = vec![("MT_CONFIG".to_owned(), "/etc/mt.cfg".to_owned())];
        let head = get("/a.cgi/extra%20path?tag=x")
            .with("Accept-Language", "de")
            .with("Proxy", "http://evil/")
            .with("Authorization", "Basic c2VjcmV0");
        let text = site.whole(head).await.unwrap().body;
        let directory = site.directory.display();
        // The shell sets PWD itself.
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("PWD=")).collect();
        lines.sort_unstable();
        let expected = format!(
            "DOCUMENT_ROOT={directory}\nGATEWAY_INTERFACE=CGI/1.1\nHTTP_ACCEPT_LANGUAGE=de\nHTTP_HOST=example.org\n\
             MT_CONFIG=/etc/mt.cfg\n\
             PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
             PATH_INFO=/extra path\nPATH_TRANSLATED={directory}/extra path\nQUERY_STRING=tag=x\nREMOTE_ADDR=0.0.0.0\n\
             REQUEST_METHOD=GET\nREQUEST_SCHEME=http\nREQUEST_URI=/a.cgi/extra%20path?tag=x\n\
             SCRIPT_FILENAME={directory}/a.cgi\nSCRIPT_NAME=/a.cgi\nSERVER_NAME=example.org\nSERVER_PORT=80\n\
             SERVER_PROTOCOL=HTTP/1.1\nSERVER_SOFTWARE=kasoku/{}",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    });
}

#[test]
fn authorization_comes_only_where_the_route_says_so() {
    play(async {
        let mut site = Site::with("echo 'Content-Type: text/plain'; echo; echo \"$HTTP_AUTHORIZATION\"");
        let head = get("/a.cgi").with("Authorization", "Bearer x");
        assert_eq!(site.whole(head.clone()).await.unwrap().body, "\n");
        site.gateway.passes_authorization = Some(true);
        assert_eq!(site.whole(head).await.unwrap().body, "Bearer x\n");
    });
}

#[test]
fn its_directory_is_where_it_lies_and_words_of_the_query_are_no_arguments() {
    play(async {
        let mut site = Site::new();
        site.write("below/a.cgi", "#!/bin/sh\necho 'Content-Type: text/plain'; echo; pwd; echo \"$#\"");
        let expected = format!("{}/below\n0\n", site.directory.display());
        assert_eq!(site.whole(get("/below/a.cgi?-s+-d")).await.unwrap().body, expected);
    });
}

#[test]
fn a_redirect_goes_to_the_client_and_a_local_one_is_ours_to_follow() {
    play(async {
        let mut site = Site::with("printf 'Location: http://example.com/b\\n\\n'");
        let whole = site.whole(get("/a.cgi")).await.unwrap();
        assert_eq!((whole.status, whole.head.fields.first("location")), (302, Some(&b"http://example.com/b"[..])));
        let mut site = Site::with("printf 'Location: /b?c=d\\n\\n'");
        let reply = site.send(get("/a.cgi"), NoUpload).await.unwrap();
        assert!(matches!(reply, Reply::LocalRedirect(target) if target == "/b?c=d"));
        site.until_idle().await;
    });
}

#[test]
fn a_program_that_speaks_http_is_read_as_such_and_its_chunks_are_not_the_client_s() {
    play(async {
        let mut site = Site::new();
        let script = "#!/bin/sh\nprintf 'HTTP/1.1 103 Early Hints\\r\\nLink: </a>\\r\\n\\r\\n'\n\
                      printf 'HTTP/1.1 201 Made\\r\\nTransfer-Encoding: chunked\\r\\nX-A: b\\r\\n\\r\\n3\\r\\nabc\\r\\n0\\r\\n\\r\\n'";
        site.write("nph-a.cgi", script);
        site.write("a.cgi", script);
        let whole = site.whole(get("/nph-a.cgi")).await.unwrap();
        assert_eq!((whole.status, whole.body.as_str(), site.interim.as_slice()), (201, "abc", &[103][..]));
        // The output of another program is not read as HTTP: its first line is no field.
        assert!(matches!(site.whole(get("/a.cgi")).await, Err(Error::MalformedCgi(_))));
    });
}

#[test]
fn to_head_and_with_304_there_is_no_body_and_the_program_comes_to_its_end() {
    play(async {
        for (method, status) in [(Method::HEAD, 200), (Method::GET, 304)] {
            // More output than a pipe holds, all of which is dropped.
            let mut site = Site::with(&format!(
                "printf 'Status: {status}\\nContent-Type: text/plain\\n\\n'; head -c 300000 /dev/zero; echo done > after"
            ));
            let mut head = get("/a.cgi");
            head.method = method;
            let whole = site.whole(head).await.unwrap();
            assert_eq!((whole.status, whole.body.as_str()), (status, ""));
            site.until_idle().await;
            assert_eq!(fs::read_to_string(site.directory.join("after")).unwrap(), "done\n");
        }
    });
}

#[test]
fn a_large_answer_is_streamed_at_the_reader_s_pace() {
    play(async {
        let mut site = Site::with("printf 'Content-Type: text/plain\\n\\n'; head -c 5000000 /dev/zero | tr '\\0' x");
        let whole = site.whole(get("/a.cgi")).await.unwrap();
        assert!(whole.body.len() == 5_000_000 && whole.body.bytes().all(|byte| byte == b'x'));
    });
}

#[test]
fn standard_error_however_much_of_it_does_not_stop_a_program() {
    play(async {
        let mut site = Site::with(
            "head -c 3000000 /dev/zero | tr '\\0' '\\n' >&2; printf 'Content-Type: text/plain\\n\\nok'; echo last >&2",
        );
        assert_eq!(site.whole(get("/a.cgi")).await.unwrap().body, "ok");
        site.until_idle().await;
    });
}
