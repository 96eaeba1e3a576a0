"""Runs visitors who send requests without a pause, each on a new connection, until standard input ends; then prints the outcome as JSON.

    python3 tests/packaging/visitors.py http://127.0.0.1:8080/ 4
"""

import http.client
import json
import sys
import threading
import urllib.parse


def visit(url, is_over, answered, failures):
    while not is_over.is_set():
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
        try:
            connection.request("GET", url.path)
            status = connection.getresponse().read() and 200
            if status != 200:
                failures.append("an answer without a body")
        except (OSError, http.client.HTTPException) as error:
            failures.append(repr(error))
        finally:
            connection.close()
        answered.append(1)


def main():
    url, count = urllib.parse.urlsplit(sys.argv[1]), int(sys.argv[2])
    is_over, answered, failures = threading.Event(), [], []
    threads = [threading.Thread(target=visit, args=(url, is_over, answered, failures)) for _ in range(count)]
    for thread in threads:
        thread.start()
    # For each line of input it prints the number of requests that have been answered so far.
    for _ in sys.stdin:
        print(len(answered), flush=True)
    is_over.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"answered": len(answered), "failures": failures[:5], "failed": len(failures)}), flush=True)


if __name__ == "__main__":
    main()
