// The loop of the limit and of the origin: one thread, non-blocking sockets, level-triggered epoll.
//
// A request costs one read and one send, and a share of an epoll_wait. Level-triggered, since a loop that reads once and
// goes back to epoll needs no second read that says EAGAIN. A request whose head is not complete waits in the
// connection's buffer; a reply that the socket does not take whole waits for EPOLLOUT, and nothing is read meanwhile.
// Not here on purpose: timeouts, parsing, bodies of requests, any check of what is asked.

#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_BYTES_MAX 8192
#define EVENTS_MAX 256

struct connection {
    int fd;
    int waits_for_out;
    struct reply rest; // what the socket did not take yet
    size_t have;       // bytes in `in`
    char in[HEAD_BYTES_MAX];
};

static int epoll;

static void watch(struct connection *connection, int operation, unsigned events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(epoll, operation, connection->fd, &event) != 0) {
        die("epoll_ctl");
    }
}

static void end(struct connection *connection) {
    close(connection->fd);
    free(connection);
}

// The socket takes no more now. -1: it is gone.
static int waits(struct connection *connection) {
    if (errno != EAGAIN) {
        return -1;
    }
    if (!connection->waits_for_out) {
        watch(connection, EPOLL_CTL_MOD, EPOLLOUT);
        connection->waits_for_out = 1;
    }
    return 1;
}

// Sends as much of `rest` as the socket takes. 0: all of it; 1: the connection waits; -1: it is gone, or was to end with it.
static int flush(struct connection *connection) {
    while (connection->rest.length > 0) {
        // The head goes with the first bytes of the file.
        int more = connection->rest.file_bytes > 0 ? MSG_MORE : 0;
        ssize_t sent = send(connection->fd, connection->rest.bytes, connection->rest.length, MSG_NOSIGNAL | more);
        if (sent < 0) {
            return waits(connection);
        }
        connection->rest.bytes += sent;
        connection->rest.length -= (size_t)sent;
    }
    while (connection->rest.file_bytes > 0) {
        ssize_t sent = sendfile(connection->fd, connection->rest.file, &connection->rest.offset, connection->rest.file_bytes);
        if (sent < 0) {
            return waits(connection);
        }
        connection->rest.file_bytes -= (size_t)sent;
    }
    if (connection->waits_for_out) {
        watch(connection, EPOLL_CTL_MOD, EPOLLIN);
        connection->waits_for_out = 0;
    }
    return connection->rest.closes ? -1 : 0;
}

// Answers the complete heads in the buffer, in order, as long as the socket takes the replies.
static int answer_all(struct connection *connection, answer_fn answer) {
    char *next = connection->in;
    size_t left = connection->have;
    int state = 0;
    char *end_of_head;
    while (state == 0 && left > 0 && (end_of_head = memmem(next, left, "\r\n\r\n", 4)) != NULL) {
        size_t length = (size_t)(end_of_head + 4 - next);
        connection->rest = answer(next, length);
        state = flush(connection);
        next += length;
        left -= length;
    }
    if (left > 0 && next != connection->in) {
        memmove(connection->in, next, left);
    }
    connection->have = left;
    return state;
}

static int on_event(struct connection *connection, answer_fn answer) {
    if (connection->waits_for_out) {
        int state = flush(connection);
        return state == 0 ? answer_all(connection, answer) : state;
    }
    ssize_t got = recv(connection->fd, connection->in + connection->have, HEAD_BYTES_MAX - connection->have, 0);
    if (got < 0 && errno == EAGAIN) {
        return 0;
    }
    if (got <= 0) {
        return -1; // also a head that fills the buffer: nobody here sends one
    }
    connection->have += (size_t)got;
    return answer_all(connection, answer);
}

static void accept_all(int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *connection = malloc(sizeof *connection);
        if (connection == NULL) {
            die("malloc");
        }
        connection->fd = fd;
        connection->waits_for_out = 0;
        connection->rest = (struct reply){0};
        connection->have = 0;
        watch(connection, EPOLL_CTL_ADD, EPOLLIN);
    }
}

static int listen_on(int port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1024) != 0) {
        die("listen");
    }
    return listener;
}

void serve(int port, answer_fn answer) {
    int listener = listen_on(port);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) {
        die("epoll");
    }
    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        int ready = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection == NULL) {
                accept_all(listener);
            } else if (on_event(connection, answer) < 0) {
                end(connection);
            }
        }
    }
}
