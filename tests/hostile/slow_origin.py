"""A small origin for many simultaneous connections, with one thread and asyncio.

`/page` and LARGE may be stored for ten minutes, all other answers not at all. An answer repeats its request, so that a visitor can check
it. """

import asyncio
import threading

# The file that slow readers request: more than the kernel holds for both sides of a connection.
LARGE = "/large"
LARGE_BYTES = 8 << 20

STORED = ("/page", LARGE)


def content(method, path, body=b""):
    """The content of the answer to a request."""
    if path == LARGE:
        return b"x" * LARGE_BYTES
    return f"{method} {path}\n".encode() + body


class Origin:
    """A context in which the origin serves. `most` is the largest number of connections at one time."""

    def __enter__(self):
        self.now = self.most = 0
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(started,), daemon=True)
        self.thread.start()
        started.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024))
        self.url = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        server.close()
        self.loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(self.loop), return_exceptions=True))
        self.loop.close()

    async def serve(self, reader, writer):
        """Serves one connection."""
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await answer_all(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client has left, or the test is over
        finally:
            self.now -= 1
            writer.close()


async def answer_all(reader, writer):
    """Answers all requests of a connection."""
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.split("\r\n")
        method, path, _ = line.split(" ")
        lengths = [field.split(":")[1] for field in fields if field.lower().startswith("content-length:")]
        body = await reader.readexactly(int(lengths[0]) if lengths else 0)
        answer = content(method, path, body)
        control = "max-age=600" if path in STORED else "no-store"
        head = f"HTTP/1.1 200 OK\r\nCache-Control: {control}\r\nContent-Length: {len(answer)}\r\n\r\n"
        writer.write(head.encode() + (b"" if method == "HEAD" else answer))
        await writer.drain()
