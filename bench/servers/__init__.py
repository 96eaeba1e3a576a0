"""The servers of the comparison, a module for each: LABEL, version(), command(place)."""

from servers import apache, haproxy, kasoku, limit, nginx, varnish

# In the order of the tables.
ALL = {"limit": limit, "kasoku": kasoku, "haproxy": haproxy, "nginx": nginx, "varnish": varnish, "apache": apache}
