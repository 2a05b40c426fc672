"""Where a request goes, as the HTTP library takes it. It is loaded for a URL only."""

from dataclasses import dataclass

from yarl import URL

from dragoman.transports.http.address import Address
from dragoman.transports.http.proxy import proxy_for
from dragoman.transports.http.target import Target


@dataclass(frozen=True, slots=True)
class Place:
    """`is_home` tells that nothing on the way here was of another origin than what the user wrote."""

    address: Address
    url: URL
    proxy: URL | None
    is_home: bool


def place(address: Address, target: Target, is_home: bool) -> Place:
    """`address`, through the proxy that the environment of `target` names for it.

    Raises:
        UnusableProxy: it names one that cannot be used.
    """
    proxy = proxy_for(address, target.environment)
    through = None
    if proxy is not None:
        through = URL.build(
            scheme=proxy.scheme, host=proxy.host, port=proxy.port, user=proxy.user, password=proxy.password
        )
    return Place(address, URL(address.url, encoded=True), through, is_home)
