//! Compares Kasoku's FastCGI client with another one, the crate fastcgi-client: both tell an application server the same, and
//! both read the same from recorded answers of php-fpm and FCGI.pm.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use fastcgi_client::request::Request;
use fastcgi_client::{Client, Params, io};
use kasoku_testkit::application::{Application, turn};
use kasoku_testkit::{Setup, application::Call};
use tokio::net::TcpStream;

/// The standard output and standard error that fastcgi-client reads.
async fn asked_by_the_other(port: u16, call: &Call) -> (Vec<u8>, Vec<u8>) {
    let params = call.params.iter().fold(Params::default(), |params, (name, value)| params.custom(name, value));
    let client = Client::new_tokio(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    let answer = client.execute_once(Request::new(params, io::Cursor::new(&call.stdin[..]))).await.unwrap();
    (answer.stdout.unwrap_or_default(), answer.stderr.unwrap_or_default())
}

#[tokio::test(flavor = "current_thread")]
async fn both_tell_and_read_the_same() {
    let recorded: [(&str, &[u8], bool); 6] = [
        ("php_hello", include_bytes!("../../../fuzz/seeds/fastcgi_records/php_hello"), false),
        ("php_flush", include_bytes!("../../../fuzz/seeds/fastcgi_records/php_flush"), true),
        ("php_missing", include_bytes!("../../../fuzz/seeds/fastcgi_records/php_missing"), true),
        ("php_redirect", include_bytes!("../../../fuzz/seeds/fastcgi_records/php_redirect"), false),
        ("perl_echo", include_bytes!("../../../fuzz/seeds/fastcgi_records/perl_echo"), false),
        ("perl_stderr", include_bytes!("../../../fuzz/seeds/fastcgi_records/perl_stderr"), true),
    ];
    for (name, records, has_stderr) in recorded {
        let application = Application::fastcgi([turn().sends(records), turn().sends(records)]);
        let engine = Setup::safe()
            .site(&[], |route| (route.pass, route.origins) = (true, vec![application.address()]))
            .run_without_origin();
        let long = "v".repeat(5000);
        let fields = ["Content-Type: text/plain", &format!("X-Long: {long}"), "X-Empty:"];
        let body = "b".repeat(100_000);
        let response =
            kasoku_testkit::Client::connect(engine.addresses()[0]).send_body("POST", "/a%20b?c=d", &fields, &body);
        let ours = application.call(0);
        assert_eq!((ours.param("HTTP_X_LONG"), ours.param("HTTP_X_EMPTY")), (&*long, ""));

        let (stdout, stderr) = asked_by_the_other(application.port(), &ours).await;
        let theirs = application.call(1);
        assert_eq!(
            (&ours.params, &ours.stdin, ours.is_kept),
            (&theirs.params, &theirs.stdin, theirs.is_kept),
            "{name}"
        );
        let head_bytes = stdout.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        assert_eq!(response.body, stdout[head_bytes..], "{name}");
        assert_eq!(stderr.is_empty(), !has_stderr, "{name}");
    }
}
