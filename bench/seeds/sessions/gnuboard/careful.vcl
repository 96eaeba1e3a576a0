// What a careful operator writes for gnuboard5 as it is: files are kept for all, cookies that change no page are removed, and the built-in rules follow.
// By these, a request with PHPSESSID passes, and a page that sets it is not kept; gnuboard5 sets it on each page.
vcl 4.1;

backend default {
    .host = "127.0.0.1";
    .port = "BACKEND_PORT";
}

sub vcl_recv {
    if (req.url ~ "^[^?]*\.(css|js|png|jpe?g|gif|ico|svg|webp|woff2?|ttf)(\?.*)?$" && req.url !~ "^/data/cache/") {
        unset req.http.Cookie;
        return (hash);
    }
    // ck_visit_ip, ck_bo_table, ck_it_id, and analytics.
    set req.http.Cookie = regsuball(req.http.Cookie, "(^|; ?)(2a0d2363701f23f8a75028924a3af643|e1192aefb64683cc97abb83c71057733|5b1ceb69146c0bafdc082ff42248da98|_ga[^=]*|_gid|wcs_bt)=[^;]*", "");
    set req.http.Cookie = regsub(req.http.Cookie, "^; ?", "");
    if (req.http.Cookie == "") {
        unset req.http.Cookie;
    }
}

sub vcl_deliver {
    // For the bench, which counts hits by this field.
    if (obj.hits > 0) {
        set resp.http.Cache-Status = "varnish; hit";
    } else {
        set resp.http.Cache-Status = "varnish; fwd=miss";
    }
}
