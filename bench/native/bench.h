// What the parts of the bench's C program share. See main.c for what the program is.
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>

// A reply: bytes in memory as they go out, and behind them `file_bytes` of a file from its `offset` on. `closes`: the connection
// ends behind it.
struct reply {
    const char *bytes;
    size_t length;
    int file;
    long offset;
    size_t file_bytes;
    int closes;
};

// Chooses the reply to one complete request head. The bytes must stay valid for the life of the program.
typedef struct reply (*answer_fn)(const char *head, size_t length);

// Serves 127.0.0.1:port with one thread until the process is ended. Does not return.
void serve(int port, answer_fn answer);

// The body of all replies: text of the given length (not zeros, so that it does not compress to nothing).
void fill_body(char *body, size_t length);

int limit_main(int port, size_t body_bytes);
int file_main(int port, const char *path);
int origin_main(int port);
int load_main(int port, int connections, long requests, long modulo, const char *prefix);

// Prints what failed, with errno's text, and ends the program.
void die(const char *what) __attribute__((noreturn));

#endif
