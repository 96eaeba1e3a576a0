// For the patched gnuboard5 (lazy.patch). Whoever has the cookie PASSING_COOKIE passes; all others share a page, which the patch makes without a session.
// The bench runs it twice. With PHPSESSID, guests with a session pass too, and a guest has one as soon as a page draws a captcha, as each post does
// on which guests may comment. With g5_member, which the patch sets at a log-in, all guests share, and what their sessions hold is not shown.
vcl 4.1;

backend default {
    .host = "127.0.0.1";
    .port = "BACKEND_PORT";
}

sub vcl_recv {
    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    if (req.url ~ "^[^?]*\.(css|js|png|jpe?g|gif|ico|svg|webp|woff2?|ttf)(\?.*)?$" && req.url !~ "^/data/cache/") {
        unset req.http.Cookie;
        return (hash);
    }
    // The pages that the patch shares; captchas, forms and log-ins are not among them.
    if (req.url !~ "^/(index\.php|bbs/(board|group|new|content|faq)\.php|shop/((index|list|item)\.php)?)?(\?.*)?$" || req.url ~ "[?&]device=") {
        return (pass);
    }
    // 6e12… is ck_mb_id, which logs a member in on any page.
    if (req.http.Cookie ~ "PASSING_COOKIE=|6e1280981e1dfd9169c5dea9c28ff2e3=") {
        return (pass);
    }
    // All other cookies are noise here: ck_visit_ip, ck_bo_table, analytics.
    unset req.http.Cookie;
    // As G5_MOBILE_AGENT in config.php has it.
    if (req.http.User-Agent ~ "(?i)phone|samsung.*mobile|lgtel|mobile|[^A]skt|nokia|blackberry|BB10|android|sony") {
        set req.http.X-Device = "mobile";
    } else {
        set req.http.X-Device = "pc";
    }
    return (hash);
}

sub vcl_hash {
    if (req.http.X-Device) {
        hash_data(req.http.X-Device);
    }
}

sub vcl_backend_response {
    // The lifetime is that of s-maxage; the old page may be shown while it is made anew, as with Kasoku.
    set beresp.grace = 10m;
}

sub vcl_deliver {
    // For the bench, which counts hits by this field.
    if (obj.hits > 0) {
        set resp.http.Cache-Status = "varnish; hit";
    } else {
        set resp.http.Cache-Status = "varnish; fwd=miss";
    }
}
