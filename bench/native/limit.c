// The limit: one fixed response, made once. Its head has the fields that a cache would send with a hit, so that the
// bytes on the wire compare; none of them is computed. A client that wants a connection for each request says so, and gets it.

#define _GNU_SOURCE
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct reply kept, last;

static struct reply answer(const char *head, size_t length) {
    return memmem(head, length, "Connection: close", 17) ? last : kept;
}

static struct reply made(size_t body_bytes, const char *field, int closes) {
    char head[512];
    int head_bytes = snprintf(head, sizeof head,
                              "HTTP/1.1 200 OK\r\nDate: Sun, 01 Nov 2026 12:00:00 GMT\r\nContent-Type: text/plain\r\n"
                              "Cache-Control: max-age=86400\r\nLast-Modified: Fri, 02 Oct 2026 12:00:00 GMT\r\n"
                              "ETag: \"b%zu\"\r\nAge: 1\r\n%sContent-Length: %zu\r\n\r\n",
                              body_bytes, field, body_bytes);
    char *bytes = malloc((size_t)head_bytes + body_bytes);
    if (bytes == NULL) {
        die("malloc");
    }
    memcpy(bytes, head, (size_t)head_bytes);
    fill_body(bytes + head_bytes, body_bytes);
    return (struct reply){.bytes = bytes, .length = (size_t)head_bytes + body_bytes, .closes = closes};
}

int limit_main(int port, size_t body_bytes) {
    kept = made(body_bytes, "", 0);
    last = made(body_bytes, "Connection: close\r\n", 1);
    serve(port, answer);
    return 0;
}
