"""Names of this machine, TLS, and proxies."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
import trustme

from channels.scripted_http import (
    Request,
    connected,
    fine,
    html,
    played,
    served,
)
from dragoman.faults import Cause
from dragoman.transports.http.loss import Loss
from dragoman.transports.http.proxy import UnusableProxy
from dragoman.transports.http.target import UnusableTrust
from support.proofs import proves


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as own:
            own.bind(("::1", 0))
    except OSError:
        return False
    return True


@proves("B158")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("name", ["localhost", "app.localhost", "own"])
def test_every_name_of_this_machine_finds_either_address(host: str, name: str) -> None:
    if host == "::1" and not has_ipv6():
        pytest.skip("this machine has no IPv6")

    async def scene() -> None:
        async with served(fine, host) as server:
            shown = (f"[{host}]" if ":" in host else host) if name == "own" else name
            async with connected(f"http://{shown}:{server.port}/") as side:
                side.ask(1)
                await side.messages(1)
            assert server.requests[0]["Host"] == f"{shown}:{server.port}"

    played(scene)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[trustme.CA, str]:
    ca = trustme.CA()
    file: Path = tmp_path_factory.mktemp("ca") / "ca.pem"
    ca.cert_pem.write_to_path(file)
    return ca, str(file)


def identity(ca: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*names).configure_cert(context)  # pyright: ignore[reportUnknownMemberType]
    return context


@proves("CLI-20")
def test_a_server_is_trusted_by_the_extra_file(authority: tuple[trustme.CA, str]) -> None:
    ca, file = authority

    async def scene() -> None:
        async with served(fine, tls=identity(ca, "localhost", "127.0.0.1")) as server:
            for host in ("localhost", "127.0.0.1"):
                async with connected(f"https://{host}:{server.port}/mcp", ca_file=file) as side:
                    side.ask(1)
                    await side.messages(1)

    played(scene)


@proves("CLI-20")
def test_a_server_is_not_trusted_without_it_or_by_another_name(authority: tuple[trustme.CA, str]) -> None:
    ca, file = authority
    details: list[str | None] = []

    async def scene() -> None:
        async with served(fine, tls=identity(ca, "other.example")) as server:
            for given in (None, file):
                async with connected(f"https://localhost:{server.port}/mcp", ca_file=given) as side:
                    side.ask(1)
                    loss = await side.loss()
                    assert (loss.status, loss.kind) == (None, Cause.TRANSPORT_FAILED)
                    details.append(loss.detail)
            assert not server.requests
        plain = await asyncio.start_server(no_tls, "127.0.0.1", 0)
        async with plain, connected(f"https://localhost:{plain.sockets[0].getsockname()[1]}/") as side:
            side.ask(1)
            details.append((await side.loss()).detail)

    played(scene)
    assert details[0] is not None
    assert details[0].startswith("the TLS certificate was not accepted: unable to get local issuer")
    assert details[1:] == [
        "the TLS certificate was not accepted: it is for another name",
        "the TLS handshake failed",
    ]


async def no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


@proves("HTTP-09")
def test_an_unusable_environment_is_told_when_the_channel_is_made(tmp_path: Path) -> None:
    async def scene() -> None:
        with pytest.raises(UnusableProxy):
            async with connected("https://h.example/", environment={"HTTPS_PROXY": "socks5://p:1"}):
                pass
        with pytest.raises(UnusableTrust):
            async with connected("https://h.example/", environment={"SSL_CERT_FILE": str(tmp_path / "none")}):
                pass

    played(scene)


@proves("HTTP-06", "HTTP-08", "B152")
def test_a_proxy_is_asked_for_a_tunnel_and_sees_nothing_of_the_users(authority: tuple[trustme.CA, str]) -> None:
    ca, file = authority

    async def scene() -> None:
        async with served(fine, tls=identity(ca, "h.example")) as server:

            async def tunnel(request: Request) -> None:
                assert request.method == "CONNECT"
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                await request.raw(b"HTTP/1.1 200 Tunnel\r\n\r\n")
                await asyncio.gather(pumped(request.reader, writer), pumped(reader, request.writer))

            async with served(tunnel) as proxy:
                environment = {"HTTPS_PROXY": f"http://us%40er:pass@127.0.0.1:{proxy.port}"}
                secrets = {"Authorization": "Bearer abc", "X-Api-Key": "abc"}
                async with connected("https://h.example/mcp", secrets, environment, file) as side:
                    side.ask(1)
                    await side.messages(1)
                (asked,) = proxy.requests
                assert asked.target == "h.example:443"
                assert asked["Proxy-Authorization"] == "Basic dXNAZXI6cGFzcw=="
                assert asked["Authorization"] is asked["X-Api-Key"] is asked["Mcp-Method"] is None
                (request,) = server.requests
                assert request["Authorization"] == "Bearer abc"
                assert request["Proxy-Authorization"] is None

    played(scene)


async def pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
    writer.close()


@proves("HTTP-06", "B152")
def test_a_proxy_that_refuses_is_told_without_its_password() -> None:
    async def script(request: Request) -> None:
        await request.answer(b"", 407, None)

    async def scene() -> None:
        async with served(script) as proxy:
            environment = {"ALL_PROXY": f"http://user:pass@127.0.0.1:{proxy.port}"}
            async with connected("https://h.example/mcp", environment=environment) as side:
                side.ask(1)
                loss = await side.loss()
                assert loss == Loss(None, Cause.TRANSPORT_FAILED, "the proxy answered with HTTP status 407", True)

    played(scene)


@proves("HTTP-06")
def test_this_machine_is_reached_without_a_proxy() -> None:
    async def scene() -> None:
        async with served(html) as proxy, served(fine) as server:
            through = f"http://127.0.0.1:{proxy.port}"
            environment = {"HTTP_PROXY": through, "HTTPS_PROXY": through, "ALL_PROXY": through}
            async with connected(server.url, environment=environment) as side:
                side.ask(1)
                await side.messages(1)
            assert not proxy.requests

    played(scene)
