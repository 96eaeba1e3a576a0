//! The words by which failing programs are known: of databases, and of languages that print an error into the page.

use memchr::memmem;

/// An answer that is longer is a page, whatever words it has, in bytes: an article may quote an error.
const ERROR_BYTES_MAX: usize = 4 << 10;

/// How much of the end of a longer answer is searched for [`BROKEN_OFF`], in bytes.
const END_BYTES: usize = 2 << 10;

/// What stands in an answer that is an error and nothing else.
const PHRASES: [&str; 40] = [
    // MySQL and MariaDB: messages of the client's library and of the server (errmsg-utf8.txt).
    "Can't connect to MySQL server",
    "Can't connect to local MySQL server",
    "Can't connect to server on",
    "Can't connect to local server through socket",
    "MySQL server has gone away",
    "Server has gone away",
    "Lost connection to MySQL server",
    "Lost connection to server",
    "Too many connections",
    "Access denied for user '",
    "Unknown MySQL server host",
    // PostgreSQL (libpq) and SQLite.
    "could not connect to server:",
    "connection to server at \"",
    "connection to server on socket \"",
    "remaining connection slots are reserved",
    "unable to open database file",
    "database is locked",
    "database disk image is malformed",
    // PHP's PDO, Perl's DBI, Python's DB-API, Java's JDBC.
    "SQLSTATE[",
    "DBI connect(",
    "DBD::mysql",
    "java.sql.SQLException",
    "Communications link failure",
    "can't work out what driver",
    // WordPress, Movable Type, gnuboard5.
    "Error establishing a database connection",
    "Got an error: ",
    "MySQL Connect Error",
    "Connect Error: ",
    // Namazu.
    "can't open the index",
    // Languages: PHP, Perl (CGI::Carp), Python, Ruby, Java.
    "Fatal error: ",
    "Uncaught Error: ",
    "Uncaught Exception: ",
    "Software error:",
    "Compilation failed in require",
    "BEGIN failed--compilation aborted",
    "Can't locate object method",
    "Traceback (most recent call last)",
    "ActiveRecord::ConnectionNotEstablished",
    "Exception in thread \"",
    "\tat java.",
];

/// What PHP prints where a page breaks off, with its tags: a page that quotes an error writes them otherwise, as do visitors.
const BROKEN_OFF: [&str; 2] = ["<b>Fatal error</b>:", "<b>Parse error</b>:"];

/// Whether an answer has the words of a failing program.
pub fn is_failure(body: &[u8]) -> bool {
    let has_any =
        |text: &[u8], phrases: &[&str]| phrases.iter().any(|phrase| memmem::find(text, phrase.as_bytes()).is_some());
    let end = body.get(body.len().saturating_sub(END_BYTES)..).unwrap_or(body);
    body.len() <= ERROR_BYTES_MAX && has_any(body, &PHRASES) || has_any(end, &BROKEN_OFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_known_by_its_words_and_an_article_about_it_is_not() {
        assert!(is_failure(b"Got an error: Can't connect to MySQL server on 'db' (111)"));
        assert!(is_failure(b"<h1>Error establishing a database connection</h1>"));
        let page = b"<p>Traceback (most recent call last)</p>".repeat(300);
        assert!(!is_failure(&page));
        let broken_off =
            [&page[..], b"<br />\n<b>Fatal error</b>:  Uncaught Error: Call to undefined function"].concat();
        assert!(is_failure(&broken_off));
        let quoted =
            [&page[..], b"<pre>PHP Fatal error:  Uncaught Error &lt;b&gt;Fatal error&lt;/b&gt;: </pre>"].concat();
        assert!(!is_failure(&quoted));
        assert!(!is_failure(b"<h1>Nothing was found</h1>"));
    }
}
