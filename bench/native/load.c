// The client that wrk can't be: it sends an exact number of requests, and fast, to fill a cache with a million objects or
// to count instructions for a known number of hits.
//
// Each connection has one request under way. All connections start together and take the next number when their answer
// is complete. An answer is read by its Content-Length; anything but a whole 200 ends the program.

#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 1024
#define HEAD_BYTES_MAX 8192

struct connection {
    int fd;
    size_t have;      // bytes in `in`, while the head is not complete
    size_t body_left; // bytes of the body still to come
    char in[65536];
};

static const char *prefix;
static long modulo, requests, sent, answered;

static void send_next(struct connection *connection) {
    char request[1024];
    int length = snprintf(request, sizeof request, "GET %s%ld HTTP/1.1\r\nHost: bench.test\r\n\r\n", prefix, sent % modulo);
    sent++;
    if (send(connection->fd, request, (size_t)length, MSG_NOSIGNAL) != length) {
        die("send");
    }
    connection->have = 0;
    connection->body_left = 0;
}

static void answer_complete(struct connection *connection) {
    answered++;
    if (sent < requests) {
        send_next(connection);
    }
}

// Looks for the end of the head; true when it is there, and then `body_left` is what is missing of the body.
static int read_head(struct connection *connection) {
    char *end = memmem(connection->in, connection->have, "\r\n\r\n", 4);
    if (end == NULL) {
        if (connection->have >= HEAD_BYTES_MAX) {
            fprintf(stderr, "load: no end of the head\n");
            exit(1);
        }
        return 0;
    }
    *end = '\0';
    char *length = strcasestr(connection->in, "\r\ncontent-length:");
    if (strncmp(connection->in, "HTTP/1.1 200 ", 13) != 0 || length == NULL) {
        fprintf(stderr, "load: not a 200 with a length:\n%s\n", connection->in);
        exit(1);
    }
    size_t body = strtoul(length + 17, NULL, 10);
    size_t here = connection->have - (size_t)(end + 4 - connection->in);
    if (here > body) {
        fprintf(stderr, "load: more than the answer\n");
        exit(1);
    }
    connection->body_left = body - here;
    return 1;
}

static void on_readable(struct connection *connection) {
    if (connection->body_left > 0) {
        ssize_t got = recv(connection->fd, connection->in, sizeof connection->in, 0);
        if (got <= 0 || (size_t)got > connection->body_left) {
            die("the answer's body");
        }
        connection->body_left -= (size_t)got;
        if (connection->body_left == 0) {
            answer_complete(connection);
        }
        return;
    }
    ssize_t got = recv(connection->fd, connection->in + connection->have, sizeof connection->in - 1 - connection->have, 0);
    if (got <= 0) {
        die("the answer's head");
    }
    connection->have += (size_t)got;
    if (read_head(connection) && connection->body_left == 0) {
        answer_complete(connection);
    }
}

static struct connection *connect_to(int port) {
    struct connection *connection = calloc(1, sizeof *connection);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    if (connection == NULL) {
        die("calloc");
    }
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        die("connect");
    }
    return connection;
}

int load_main(int port, int connections, long requests_wanted, long modulo_wanted, const char *prefix_wanted) {
    requests = requests_wanted;
    modulo = modulo_wanted;
    prefix = prefix_wanted;
    if (connections < 1 || connections > CONNECTIONS_MAX || requests < connections || modulo < 1 || strlen(prefix) > 512) {
        fprintf(stderr, "load: arguments out of bounds\n");
        return 2;
    }
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *all[CONNECTIONS_MAX];
    for (int i = 0; i < connections; i++) {
        all[i] = connect_to(port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = all[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, all[i]->fd, &event) != 0) {
            die("epoll_ctl");
        }
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < connections; i++) {
        send_next(all[i]);
    }
    struct epoll_event events[256];
    while (answered < requests) {
        int ready = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            on_readable(events[i].data.ptr);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%ld requests in %.3f s\n", answered,
           (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
    return 0;
}
