use super::*;
use kasoku_sys::process::Ending;
use kasoku_wire::cgi::CgiError;

const HEAD: &str = "printf 'Content-Type: text/plain\\n\\n'; ";

#[test]
fn a_program_that_dies_without_an_answer_says_how_it_ended() {
    play(async {
        for (script, expected) in [
            ("exit 3", Ending::Exit(3)),
            ("true", Ending::Exit(0)),
            ("kill -SEGV $$", Ending::Signal(11)),
            ("printf 'Content-Type: te'; exit 1", Ending::Exit(1)),
        ] {
            let mut site = Site::with(script);
            let sent = site.whole(get("/a.cgi")).await;
            assert!(matches!(&sent, Err(Error::ProgramEnded(ending)) if *ending == expected), "{script}: {sent:?}");
            site.until_idle().await;
        }
    });
}

#[test]
fn nonsense_is_no_answer_and_who_prints_it_for_ever_is_ended() {
    play(async {
        let mut site = Site::with("exec 9>held; while :; do echo 'print \"hello\";'; done");
        let held = site.held();
        let sent = site.whole(get("/a.cgi")).await;
        assert!(matches!(sent, Err(Error::MalformedCgi(CgiError::Head(_)))), "{sent:?}");
        site.until_idle().await;
        held.closed().await;
        let mut site = Site::with("exec 9>held; yes 'X-A: b'");
        let held = site.held();
        assert!(matches!(site.whole(get("/a.cgi")).await, Err(Error::MalformedCgi(CgiError::Head(_)))));
        site.until_idle().await;
        held.closed().await;
    });
}

#[test]
fn a_body_that_is_shorter_than_its_length_is_broken_and_what_is_beyond_is_dropped() {
    play(async {
        let mut site = Site::with("printf 'Content-Type: text/plain\\nContent-Length: 5\\n\\nabc'");
        let sent = site.whole(get("/a.cgi")).await;
        assert!(matches!(sent, Err(Error::ProgramEnded(Ending::Exit(0)))), "{sent:?}");
        let mut site =
            Site::with("printf 'Content-Type: text/plain\\nContent-Length: 5\\n\\nabcdefgh'; echo done > after");
        assert_eq!(site.whole(get("/a.cgi")).await.unwrap().body, "abcde");
        site.until_idle().await;
        assert!(site.directory.join("after").exists(), "it comes to its end");
    });
}

#[test]
fn a_program_that_is_killed_within_its_body_gives_no_whole_one() {
    play(async {
        let mut site = Site::with(&format!("{HEAD} echo half; kill -KILL $$"));
        let mut response = site.response(get("/a.cgi")).await.unwrap();
        assert!(matches!(response.body.next().await, Ok(BodyPiece::Data(data)) if data == "half\n"));
        let end = response.body.next().await;
        assert!(matches!(end, Err(Error::ProgramEnded(Ending::Signal(9)))), "{end:?}");
    });
}

#[test]
fn a_program_that_ends_with_an_error_has_said_all_or_not() {
    play(async {
        let mut site = Site::with(&format!("{HEAD} echo perhaps half; exit 2"));
        let whole = site.whole(get("/a.cgi")).await.unwrap();
        assert!(whole.may_be_incomplete && whole.body == "perhaps half\n");
        // With a Content-Length, there is no doubt.
        let mut site = Site::with("printf 'Content-Type: text/plain\\nContent-Length: 3\\n\\nabc'; exit 2");
        assert!(!site.whole(get("/a.cgi")).await.unwrap().may_be_incomplete);
    });
}

#[test]
fn a_program_that_closes_its_output_and_works_on_has_answered_and_keeps_its_permit() {
    play(async {
        let mut site =
            Site::with(&format!("exec 8<work 9>held; {HEAD} echo ok; exec >&-; read line <&8; echo $line >&9"));
        let held = site.held();
        let mut work = site.work();
        let whole = site.whole(get("/a.cgi")).await.unwrap();
        assert_eq!((whole.body.as_str(), whole.may_be_incomplete), ("ok\n", false));
        // Lets the program's task hear of the answer's end.
        tokio::task::yield_now().await;
        assert_eq!(site.running(), 1);
        work.write_all(b"worked\n").unwrap();
        site.until_idle().await;
        assert_eq!(held.closed().await, "worked\n");
    });
}

#[test]
fn work_after_the_answer_has_its_time_as_well() {
    play(async {
        let mut site = Site::with(&format!("exec 9>held; {HEAD} echo ok; exec >&-; sleep 100"));
        let held = site.held();
        site.limits.programs.run_timeout = Duration::from_millis(300);
        assert_eq!(site.whole(get("/a.cgi")).await.unwrap().body, "ok\n");
        site.until_idle().await;
        held.closed().await;
    });
}

#[test]
fn what_a_program_leaves_in_the_background_may_run_on_if_it_lets_go_of_the_output() {
    play(async {
        let mut site =
            Site::with(&format!("{HEAD} echo ok; (exec 8<work 9>held; read line <&8; echo $line >&9) >&- 2>&- &"));
        let held = site.held();
        let mut work = site.work();
        assert_eq!(site.whole(get("/a.cgi")).await.unwrap().body, "ok\n");
        site.until_idle().await;
        work.write_all(b"background\n").unwrap();
        let mut line = [0; 11];
        let mut held = held;
        held.reader.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"background\n");
    });
}

/// Runs a script whose group holds a pipe open, and expects an error that ends the whole group.
async fn expect_the_end_of_its_group(script: &str, limits: impl FnOnce(&mut Limits), expected: fn(&Error) -> bool) {
    let mut site = Site::with(&format!("exec 9>held; sleep 100 & {script}"));
    let held = site.held();
    limits(&mut site.limits);
    let sent = site.whole(get("/a.cgi")).await.unwrap_err();
    assert!(expected(&sent), "{script}: {sent:?}");
    site.until_idle().await;
    held.closed().await;
}

#[test]
fn each_time_limit_ends_the_group() {
    const SHORT: Duration = Duration::from_millis(300);
    play(async {
        expect_the_end_of_its_group(
            "wait",
            |limits| limits.first_byte_timeout = SHORT,
            |error| matches!(error, Error::FirstByteTimeout),
        )
        .await;
        expect_the_end_of_its_group(
            "yes >&2",
            |limits| limits.first_byte_timeout = SHORT,
            |error| matches!(error, Error::FirstByteTimeout),
        )
        .await;
        expect_the_end_of_its_group(
            &format!("{HEAD} echo half; wait"),
            |limits| limits.between_bytes_timeout = SHORT,
            |error| matches!(error, Error::BetweenBytesTimeout),
        )
        .await;
        expect_the_end_of_its_group(
            &format!("{HEAD} while :; do echo more; sleep 0.05; done"),
            |limits| limits.programs.run_timeout = SHORT,
            |error| matches!(error, Error::ProgramTimeout),
        )
        .await;
        // The group's leader has ended, and a child holds the output.
        expect_the_end_of_its_group(
            &format!("{HEAD} echo half; exit 0"),
            |limits| limits.between_bytes_timeout = SHORT,
            |error| matches!(error, Error::BetweenBytesTimeout),
        )
        .await;
    });
}

#[test]
fn who_does_not_heed_sigterm_is_killed() {
    play(async {
        expect_the_end_of_its_group(
            "trap '' TERM; sleep 100",
            |limits| limits.first_byte_timeout = Duration::from_millis(300),
            |error| matches!(error, Error::FirstByteTimeout),
        )
        .await;
    });
}

#[test]
fn a_response_that_no_client_wants_any_more_ends_its_program() {
    play(async {
        let mut site = Site::with(&format!("exec 9>held; {HEAD} while :; do echo more; done"));
        let held = site.held();
        let mut response = site.response(get("/a.cgi")).await.unwrap();
        assert!(matches!(response.body.next().await, Ok(BodyPiece::Data(_))));
        drop(response);
        site.until_idle().await;
        held.closed().await;
    });
}

#[test]
fn who_goes_before_there_is_a_head_leaves_no_program() {
    play(async {
        let mut site = Site::with("exec 9>held; echo started >&9; sleep 100");
        let mut held = site.held();
        let mut started = [0; 8];
        {
            let mut sent = std::pin::pin!(site.send(get("/a.cgi"), NoUpload));
            tokio::select! {
                _ = &mut sent => unreachable!("it never answers"),
                read = held.reader.read_exact(&mut started) => assert!(read.is_ok()),
            }
        }
        assert_eq!(&started, b"started\n");
        site.until_idle().await;
        held.closed().await;
    });
}
