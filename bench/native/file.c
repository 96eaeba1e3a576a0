// The limit for files: one file, opened once, by sendfile(2) behind a head that is made once.

#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static struct reply fixed;

static struct reply answer(const char *head, size_t length) {
    (void)head;
    (void)length;
    return fixed;
}

int file_main(int port, const char *path) {
    static char head[512];
    struct stat stat;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &stat) != 0) {
        die(path);
    }
    int head_bytes = snprintf(head, sizeof head,
                              "HTTP/1.1 200 OK\r\nDate: Sun, 01 Nov 2026 12:00:00 GMT\r\nContent-Type: application/octet-stream\r\n"
                              "Last-Modified: Fri, 02 Oct 2026 12:00:00 GMT\r\nETag: \"b%lld\"\r\nAccept-Ranges: bytes\r\n"
                              "Content-Length: %lld\r\n\r\n",
                              (long long)stat.st_size, (long long)stat.st_size);
    fixed = (struct reply){.bytes = head, .length = (size_t)head_bytes, .file = file, .file_bytes = (size_t)stat.st_size};
    serve(port, answer);
    return 0;
}
