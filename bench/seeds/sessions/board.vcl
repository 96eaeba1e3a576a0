// What people write for a board like this one: who has a session passes, all other cookies are removed, pages are kept for a minute.
vcl 4.1;

backend default {
    .host = "127.0.0.1";
    .port = "BACKEND_PORT";
}

sub vcl_recv {
    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    if (req.url ~ "^/(login|logout|write|download)\.php" || req.http.Cookie ~ "PHPSESSID=") {
        return (pass);
    }
    unset req.http.Cookie;
    return (hash);
}

sub vcl_backend_response {
    // A session that starts is for its visitor alone.
    if (beresp.http.Set-Cookie) {
        set beresp.uncacheable = true;
        set beresp.ttl = 2m;
        return (deliver);
    }
    if (beresp.status == 200) {
        set beresp.ttl = 1m;
    }
}
