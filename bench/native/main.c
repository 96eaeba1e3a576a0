// The bench's own program, in C so that it costs as little as possible: four jobs behind one name.
//
//   native limit PORT BYTES    the limit: answers each request with the same BYTES of body. The least that a server in
//                              user space can do for a request through epoll: one read, one send.
//   native file PORT PATH      the limit for files: answers each request with this one, by sendfile.
//   native origin PORT         the origin behind the caches: /o/BYTES/anything is BYTES of body, fresh for a day.
//                              /count is the number of such requests so far.
//   native load PORT CONNECTIONS REQUESTS MODULO PREFIX
//                              asks for PREFIX0, PREFIX1 … (the number modulo MODULO), one request at a time on each
//                              connection, and ends with an error unless each answer is a whole 200.
//
// All of them speak to 127.0.0.1 only. They are made for this bench: they trust their peer, and end at the first surprise.

#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *what) {
    perror(what);
    exit(1);
}

void fill_body(char *body, size_t length) {
    for (size_t i = 0; i < length; i++) {
        body[i] = i % 64 == 63 ? '\n' : (char)('a' + (i * 7 + i / 64) % 26);
    }
}

int main(int argc, char **argv) {
    // sendfile(2) knows no MSG_NOSIGNAL.
    signal(SIGPIPE, SIG_IGN);
    if (argc == 4 && strcmp(argv[1], "limit") == 0) {
        return limit_main(atoi(argv[2]), strtoul(argv[3], NULL, 10));
    }
    if (argc == 4 && strcmp(argv[1], "file") == 0) {
        return file_main(atoi(argv[2]), argv[3]);
    }
    if (argc == 3 && strcmp(argv[1], "origin") == 0) {
        return origin_main(atoi(argv[2]));
    }
    if (argc == 7 && strcmp(argv[1], "load") == 0) {
        return load_main(atoi(argv[2]), atoi(argv[3]), atol(argv[4]), atol(argv[5]), argv[6]);
    }
    fprintf(stderr, "usage: native limit PORT BYTES | file PORT PATH | origin PORT | load PORT CONNECTIONS REQUESTS MODULO PREFIX\n");
    return 2;
}
