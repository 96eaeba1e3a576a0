"""Single requests that the bench itself sends, to check that a hit is one, and to read the counters of the origin and of Kasoku."""

import http.client
import json

from processes import BenchError

HOST = "bench.test"


def get(port, path, host=HOST, **more):
    """(fields by lower-case name, body) of the answer, which must be a 200. `more` are further fields of the request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers={"Host": host, **more})
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise BenchError(f"port {port} did not answer {path}: {error}") from None
    finally:
        connection.close()
    if response.status != 200:
        raise BenchError(f"port {port} answered {path} with {response.status}")
    return {name.lower(): value for name, value in response.getheaders()}, body


def origin_count(origin_port):
    """The number of requests for objects that the origin has answered so far."""
    return int(get(origin_port, "/count")[1])


def stats(admin_port):
    """Kasoku's counters and gauges by name."""
    return json.loads(get(admin_port, "/stats", host="127.0.0.1")[1])
