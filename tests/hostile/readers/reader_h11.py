"""Reports what h11 has read of each request: see ../streams.py.

    reader_h11.py PORT HEAD_BYTES
"""

import hashlib
import socketserver
import sys

import h11


class Reader(socketserver.BaseRequestHandler):
    """One connection."""

    def handle(self):
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=int(sys.argv[2]))
        try:
            while self.answer_one(connection):
                connection.start_next_cycle()
        except h11.RemoteProtocolError:
            refusal = h11.Response(status_code=400, headers=[("Content-Length", "0"), ("Connection", "close")])
            if connection.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self.say(connection, refusal)

    def answer_one(self, connection):
        """Reads a request and answers it; returns whether another may follow."""
        read = None
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    self.say(connection, h11.InformationalResponse(status_code=100, headers=[]))
                connection.receive_data(self.request.recv(1 << 16))
            elif isinstance(event, h11.Request):
                read = hashlib.sha256(event.method + b" " + event.target + b"\n")
            elif isinstance(event, h11.Data):
                read.update(event.data)
            elif isinstance(event, h11.EndOfMessage):
                fields = [("X-Read", read.hexdigest()), ("Content-Length", "0")]
                self.say(connection, h11.Response(status_code=200, headers=fields), h11.EndOfMessage())
                return connection.our_state is h11.DONE and connection.their_state is h11.DONE
            else:
                return False

    def say(self, connection, *events):
        for event in events:
            self.request.sendall(connection.send(event) or b"")


class Server(socketserver.ThreadingTCPServer):
    """A thread for each connection."""

    allow_reuse_address = True
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Reader).serve_forever()
