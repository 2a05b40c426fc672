"""Two clients with certificates at one listener: each is somebody, and nobody is the other (C2)."""

import ssl
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import trustme

from channels.test_listener_sockets import Client, Site, clients, secure, site
from dragoman.limits import Reception
from support.listener import NAMESPACE, Server, call, error_of, mirrored, modern, obliging, scene, text_of

OLDER = "2025-11-25"
ROOTS: dict[str, Any] = {NAMESPACE + "clientCapabilities": {"roots": {}}}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a CA, the certificate of localhost, and those of Alice and Bob."""
    folder = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    for name, common in (("own", None), ("alice", "alice"), ("bob", "bob")):
        issued = ca.issue_cert("localhost", common_name=common)
        issued.private_key_pem.write_to_path(str(folder / f"{name}.key"))
        (folder / f"{name}.pem").write_bytes(b"".join(one.bytes() for one in issued.cert_chain_pems))
    return folder


def trust(files: Path, name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(files / "ca.pem"))
    context.load_cert_chain(files / f"{name}.pem", files / f"{name}.key")
    return context


async def both(stack: AsyncExitStack, one: Site, files: Path) -> tuple[Client, Client]:
    alice, bob = [
        (await stack.enter_async_context(clients(one, ssl=trust(files, name))))[0] for name in ("alice", "bob")
    ]
    return alice, bob


def asking(server: Server, frame: dict[str, Any]) -> None:
    """Asks for roots in a call of `ask`."""
    if frame.get("method") == "tools/call" and frame["params"]["name"] == "ask":
        server.say({"jsonrpc": "2.0", "id": 7, "method": "roots/list"}, of=frame["id"])
    else:
        obliging(server, frame)


@scene
async def test_a_session_is_of_the_certificate_that_opened_it(files: Path) -> None:
    """C2"""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(site(Reception(), handshake=OLDER, **secure(files, ca="ca.pem")))
        alice, bob = await both(stack, one, files)
        await alice.open()
        await bob.open()
        assert len(one.listener.servers) == 2
        (mine, theirs) = one.listener.endpoint.directory.sessions
        assert text_of(await alice.post(call(1, text="mine"))) == "mine"
        for client, other in ((alice, theirs), (bob, mine)):
            stolen = await client.post(call(2, text="stolen"), **{"mcp-session-id": other})
            assert "error" in stolen
            assert stolen == await client.post(call(2, text="stolen"), **{"mcp-session-id": "of nobody"})
        assert text_of(await bob.post(call(3, text="his"))) == "his"


@scene
async def test_a_process_and_a_question_are_of_the_certificate_of_the_call(files: Path) -> None:
    """C2: for clients without sessions, too."""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(site(Reception(), handshake=OLDER, **secure(files, ca="ca.pem")))
        one.listener.script = asking
        alice, bob = await both(stack, one, files)
        request = modern(call(1, "ask"), **ROOTS)
        asked = (await alice.post(request, **mirrored(request)))["result"]
        assert list(asked["inputRequests"]) == ["roots-1"]
        answered: dict[str, Any] = {
            "requestState": asked["requestState"],
            "inputResponses": {"roots-1": {"roots": []}},
        }
        again = {**request, "params": {**request["params"], **answered}}
        refused = await bob.post(again, **mirrored(again))
        assert error_of(refused) == (-32602, "invalid_params")
        assert not one.listener.servers[0].heard("notifications/cancelled")
        own = modern(call(2, text="own"), **ROOTS)
        assert text_of(await bob.post(own, **mirrored(own))) == "own"
        assert len([server for server in one.listener.servers if server.running]) == 2
