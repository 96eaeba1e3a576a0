use super::*;
use kasoku_sys::process::Ending;
use std::task::{Context, Poll, Waker};

#[test]
fn more_programs_than_there_are_permits_wait_and_then_are_refused() {
    play(async {
        let mut site = Site::with("exec 8<work; printf 'Content-Type: text/plain\\n\\n'; read line <&8; echo $line");
        let mut work = site.work();
        site.limits.programs.processes_max = 1;
        site.limits.queue_requests_max = 1;
        let mut second = site.clone();
        let mut third = Site { origins: site.origins.clone(), limits: site.limits.clone(), ..Site::new() };
        third.write("a.cgi", "#!/bin/sh\n");
        let first = site.response(get("/a.cgi")).await.unwrap();
        let mut waits = Box::pin(second.whole(get("/a.cgi")));
        // The second request takes its place in the queue once its program was found.
        while site.choice().origin.permits.load().1 == 0 {
            assert!(matches!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
            tokio::task::yield_now().await;
        }
        // There is one bound for all directories.
        assert!(matches!(third.whole(get("/a.cgi")).await, Err(Error::QueueFull)));
        work.write_all(b"1\n").unwrap();
        assert_eq!(read(first).await.unwrap().body, "1\n");
        work.write_all(b"2\n").unwrap();
        assert_eq!(waits.await.unwrap().body, "2\n");
        site.until_idle().await;
    });
}

#[test]
fn who_waits_for_too_long_is_refused() {
    play(async {
        let mut site = Site::with("printf 'Content-Type: text/plain\\n\\n'; while :; do echo; done");
        site.limits.programs.processes_max = 1;
        site.limits.queue_timeout = Duration::from_millis(50);
        let _first = site.response(get("/a.cgi")).await.unwrap();
        assert!(matches!(site.whole(get("/a.cgi")).await, Err(Error::Busy)));
    });
}

#[test]
fn memory_is_bounded_where_the_route_says_so() {
    play(async {
        let mut site = Site::new();
        site.write(
            "a.cgi",
            "#!/usr/bin/perl\nmy $a = 'x' x (300 << 20); print \"Content-Type: text/plain\\n\\n\", length $a;",
        );
        assert_eq!(site.whole(get("/a.cgi")).await.unwrap().body, (300 << 20).to_string());
        site.limits.programs.memory_bytes_max = Some(200 << 20);
        let sent = site.whole(get("/a.cgi")).await;
        assert!(matches!(sent, Err(Error::ProgramEnded(Ending::Exit(1..)))), "{sent:?}");
    });
}

#[test]
fn time_on_a_processor_is_bounded_where_the_route_says_so() {
    play(async {
        let mut site = Site::with("while :; do :; done");
        site.limits.programs.cpu_max = Some(Duration::from_millis(10));
        let sent = site.whole(get("/a.cgi")).await;
        assert!(matches!(sent, Err(Error::ProgramEnded(Ending::Signal(24)))), "{sent:?}");
    });
}
