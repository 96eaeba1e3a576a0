"""An application that does what the file beside it says: python3 application.py FOLDER PORT.

FOLDER/does says what: `page`, `page-kept` (the connection stays open), `error`, `cut`, `cut-chunked`, `reset`. FOLDER/asked gets a line for each request. A page is fresh for
a second, and may stand in for errors for a day.
"""
import http.server
import os
import socket
import struct
import sys
import time

FOLDER, PORT = sys.argv[1], int(sys.argv[2])
HEAD = "HTTP/1.1 200 OK\r\nCache-Control: max-age=%d, stale-if-error=86400\r\nETag: \"%s\"\r\nConnection: close\r\n"


class Application(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open(os.path.join(FOLDER, "asked"), "a") as asked:
            asked.write(self.path + "\n")
        self.close_connection = True
        with open(os.path.join(FOLDER, "does")) as does:
            getattr(self, does.read().replace("-", "_"))()

    def page(self):
        if self.path == "/slow":
            self.say(HEAD % (60, "slow") + "Content-Length: 4\r\n\r\n")
            for byte in "page":
                time.sleep(1)
                self.say(byte)
        else:
            self.say(HEAD % (1, "page") + "Content-Length: 4\r\n\r\npage")

    def page_kept(self):
        self.say((HEAD % (1, "page")).replace("Connection: close\r\n", "") + "Content-Length: 4\r\n\r\npage")
        self.close_connection = False

    def error(self):
        self.say("HTTP/1.1 503 Down\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndown")

    def cut(self):
        self.say(HEAD % (60, "cut") + "Content-Length: 4\r\n\r\npag")

    def cut_chunked(self):
        self.say(HEAD % (60, "cut") + "Transfer-Encoding: chunked\r\n\r\n3\r\npag\r\n")

    def reset(self):
        self.say(HEAD % (60, "cut") + "Content-Length: 4\r\n\r\npag")
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def say(self, text):
        self.wfile.write(text.encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer.request_queue_size = 128
server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Application)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
