// The origin behind the caches: /o/BYTES/anything is a 200 with BYTES of body, whatever follows.
//
// A response is fresh for a day, was last modified a month before (so that no cache finds it too young), and its Date is
// of this second. It is made once a second for each size and sent from memory. /count tells how many such requests came
// so far: when it did not move during a round, each request of that round was a hit.

#define _GNU_SOURCE
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZES_MAX 16
#define BODY_BYTES_MAX (16UL << 20)

struct page {
    size_t body_bytes;
    time_t made;
    char *bytes;
    size_t length;
};

static struct page pages[SIZES_MAX];
static int pages_used;
static unsigned long asked;

static void write_head(struct page *page, time_t now) {
    char date[64], modified[64];
    time_t month_ago = now - 30 * 86400;
    struct tm parts;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    strftime(modified, sizeof modified, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&month_ago, &parts));
    char head[512];
    // The length of the head is the same at each time, so that a reply that is half sent stays whole.
    int head_bytes = snprintf(head, sizeof head,
                              "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: text/plain\r\nCache-Control: max-age=86400\r\n"
                              "Last-Modified: %s\r\nETag: \"b%zu\"\r\nContent-Length: %zu\r\n\r\n",
                              date, modified, page->body_bytes, page->body_bytes);
    if (page->bytes == NULL) {
        page->length = (size_t)head_bytes + page->body_bytes;
        page->bytes = malloc(page->length);
        if (page->bytes == NULL) {
            die("malloc");
        }
        fill_body(page->bytes + head_bytes, page->body_bytes);
    }
    memcpy(page->bytes, head, (size_t)head_bytes);
    page->made = now;
}

static struct reply page_of(size_t body_bytes) {
    time_t now = time(NULL);
    struct page *page = NULL;
    for (int i = 0; i < pages_used && page == NULL; i++) {
        page = pages[i].body_bytes == body_bytes ? &pages[i] : NULL;
    }
    if (page == NULL) {
        if (pages_used == SIZES_MAX || body_bytes > BODY_BYTES_MAX) {
            fprintf(stderr, "origin: too many sizes, or too large: %zu\n", body_bytes);
            exit(1);
        }
        page = &pages[pages_used++];
        page->body_bytes = body_bytes;
    }
    if (page->made != now) {
        write_head(page, now);
    }
    return (struct reply){.bytes = page->bytes, .length = page->length};
}

static struct reply count(void) {
    static char reply[256];
    char body[32];
    int body_bytes = snprintf(body, sizeof body, "%lu\n", asked);
    int length = snprintf(reply, sizeof reply, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: %d\r\n\r\n%s",
                          body_bytes, body);
    return (struct reply){.bytes = reply, .length = (size_t)length};
}

static struct reply answer(const char *head, size_t length) {
    static const char missing[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    if (length > 11 && memcmp(head, "GET /count ", 11) == 0) {
        return count();
    }
    if (length < 8 || memcmp(head, "GET /o/", 7) != 0) {
        return (struct reply){.bytes = missing, .length = sizeof missing - 1};
    }
    asked++;
    return page_of(strtoul(head + 7, NULL, 10));
}

int origin_main(int port) {
    serve(port, answer);
    return 0;
}
