use super::*;
use kasoku_origin::error::UploadError;

const ECHO: &str = "printf 'Content-Type: text/plain\\n\\n'; echo \"length $CONTENT_LENGTH\"; wc -c; ";

#[test]
fn a_body_of_known_length_is_streamed_with_its_length() {
    play(async {
        let mut site = Site::with(ECHO);
        let pieces = vec![&[b'a'; 10_000][..]; 50];
        let whole = site.post(post("/a.cgi"), Pieces::of_known_length(&pieces)).await.unwrap();
        assert_eq!(whole.body, "length 500000\n500000\n");
    });
}

#[test]
fn a_body_of_unknown_length_comes_to_its_end() {
    play(async {
        let mut site = Site::with(ECHO);
        let pieces = vec![&[b'a'; 10_000][..]; 50];
        let whole = site.post(post("/a.cgi"), Pieces::chunked(&pieces)).await.unwrap();
        assert_eq!(whole.body, "length \n500000\n");
    });
}

#[test]
fn without_a_body_standard_input_is_at_its_end() {
    play(async {
        let mut site = Site::with(ECHO);
        assert_eq!(site.whole(get("/a.cgi")).await.unwrap().body, "length \n0\n");
    });
}

#[test]
fn a_program_that_never_reads_its_input_answers_nevertheless() {
    play(async {
        let mut site = Site::with("exec <&-; printf 'Content-Type: text/plain\\n\\nno, thanks'");
        let pieces = vec![&[b'a'; 10_000][..]; 50];
        let whole = site.post(post("/a.cgi"), Pieces::of_known_length(&pieces)).await.unwrap();
        assert_eq!(whole.body, "no, thanks");
        site.until_idle().await;
    });
}

#[test]
fn one_that_neither_reads_nor_answers_is_too_late() {
    play(async {
        let mut site = Site::with("exec 9>held; sleep 100");
        let held = site.held();
        site.limits.between_bytes_timeout = Duration::from_millis(300);
        let pieces = vec![&[b'a'; 10_000][..]; 50];
        let sent = site.post(post("/a.cgi"), Pieces::of_known_length(&pieces)).await;
        assert!(matches!(sent, Err(Error::BetweenBytesTimeout)), "{sent:?}");
        site.until_idle().await;
        held.closed().await;
    });
}

#[test]
fn a_client_that_goes_within_its_body_is_to_blame_and_the_program_ends() {
    play(async {
        let mut site = Site::with("exec 9>held; cat > /dev/null; sleep 100");
        let held = site.held();
        let body = Pieces { length: BodyLength::Length(100), breaks: true, ..Pieces::chunked(&[b"abc"]) };
        let sent = site.post(post("/a.cgi"), body).await;
        assert!(matches!(sent, Err(Error::Upload(UploadError::Closed))), "{sent:?}");
        site.until_idle().await;
        held.closed().await;
    });
}

#[test]
fn a_client_that_waits_is_told_to_go_on() {
    play(async {
        let mut site = Site::with(ECHO);
        let head = post("/a.cgi").with("Expect", "100-continue");
        let whole = site.post(head, Pieces::of_known_length(&[b"abc"])).await.unwrap();
        assert_eq!((whole.body.as_str(), site.interim.as_slice()), ("length 3\n3\n", &[100][..]));
    });
}

#[test]
fn a_client_that_waits_is_not_told_to_when_there_is_no_program_for_it() {
    play(async {
        let mut site = Site::with(ECHO);
        let head = post("/b.cgi").with("Expect", "100-continue");
        let whole = site.post(head, Pieces::of_known_length(&[b"abc"])).await.unwrap();
        assert_eq!((whole.status, site.interim.as_slice()), (404, &[][..]));
    });
}
