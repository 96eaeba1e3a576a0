// The limit: one fixed response, made once. Its head has the fields that a cache would send with a hit, so that the
// bytes on the wire compare; none of them is computed.

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

static struct reply fixed;

static struct reply answer(const char *head, size_t length) {
    (void)head;
    (void)length;
    return fixed;
}

int limit_main(int port, size_t body_bytes) {
    char head[512];
    int head_bytes = snprintf(head, sizeof head,
                              "HTTP/1.1 200 OK\r\nDate: Sun, 01 Nov 2026 12:00:00 GMT\r\nContent-Type: text/plain\r\n"
                              "Cache-Control: max-age=86400\r\nLast-Modified: Fri, 02 Oct 2026 12:00:00 GMT\r\n"
                              "ETag: \"b%zu\"\r\nAge: 1\r\nContent-Length: %zu\r\n\r\n",
                              body_bytes, body_bytes);
    char *bytes = malloc((size_t)head_bytes + body_bytes);
    if (bytes == NULL) {
        die("malloc");
    }
    for (int i = 0; i < head_bytes; i++) {
        bytes[i] = head[i];
    }
    fill_body(bytes + head_bytes, body_bytes);
    fixed = (struct reply){.bytes = bytes, .length = (size_t)head_bytes + body_bytes};
    serve(port, answer);
    return 0;
}
