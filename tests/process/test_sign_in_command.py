"""Sign-in through the real command: a client, an authorization server, a server behind it, and a browser."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trustme

from support.authorization import Behaviour, Demands, document, guarded, visit
from support.browsing import Browser, browser
from support.processes import Bridge, cause_of, eventually, initialize, run, text_of
from support.proofs import proves
from support.signing_in import free_port

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform == "win32", reason="the browser is a script")]

WITH_SECRET = {"token_endpoint_auth_methods_supported": ["client_secret_basic"]}
PAGES: dict[str, Any] = {"elicitation": {"url": {}}}


@pytest.fixture
def user(tmp_path: Path) -> Browser:
    return browser(tmp_path)


def store(user: Browser, port: int | None = None) -> list[str]:
    words = ["--token-store", "file", "--token-key-env", "TOKEN_KEY", "--token-dir", str(user.folder / "store")]
    return [*words, "--redirect-port", str(port if port is not None else free_port())]


def bridge(user: Browser, *words: str, **environment: str) -> Bridge:
    return Bridge((), words=words, env={**user.environment, **environment})


def secrets_of(issuer: Any) -> set[str]:
    return {*issuer.tokens, *issuer.refreshes, *issuer.used}


@proves("INIT-12", "OAUTH-01", "OAUTH-11", "OAUTH-12", "OAUTH-21", "OAUTH-24", "B47")
@pytest.mark.parametrize("is_legacy", [False, True], ids=["modern", "legacy"])
def test_a_sign_in_happens_in_the_browser_while_the_client_initializes(is_legacy: bool, user: Browser) -> None:
    with guarded(demands=Demands(is_legacy=is_legacy)) as (issuer, server):
        with bridge(user, *store(user), "--token-dir", str(user.folder / "s"), server.url, SECRET="x") as one:
            assert one.open()["serverInfo"]["name"] == "guarded"
            assert text_of(one.tool("a")) == "a"
            assert one.end() == 0
            lines = one.stderr.decode()
        assert issuer.sign_ins == 1
        (opened,) = user.opened
        (start,) = opened["argv"]
        assert start.startswith("http://127.0.0.1:")
        assert "/start/" in start
        assert len(start.rpartition("/")[2]) == 64
        assert opened["stdin"] == ""
        assert "TOKEN_KEY" not in opened["environment"]
        assert "PATH" in opened["environment"]
        (line,) = [line for line in lines.splitlines() if "sign in at" in line]
        assert line.startswith(f"dragoman: sign in at {issuer.place.origin}/authorize?")
        assert start not in lines
        assert not [secret for secret in secrets_of(issuer) if secret in lines]
        assert "code=" not in lines
        eventually("the page", lambda: user.pages)
        assert user.pages[0][0] == 200


@proves("OAUTH-22")
def test_the_variables_of_headers_and_secrets_do_not_reach_the_browser(user: Browser) -> None:
    with guarded(Behaviour(secrets={"mine": "s3cr3t"})) as (issuer, server):
        words = [*store(user), "--client-id", "mine", "--client-issuer", issuer.name, "--client-secret-env", "SECRET"]
        variables = {"SECRET": "s3cr3t", "KEY": "s3cr3t-2", "PLAIN": "yes"}
        with bridge(user, *words, "--header-env", "x-key=KEY", server.url, **variables) as one:
            one.open()
            assert one.end() == 0
            assert b"s3cr3t" not in one.stderr
        (opened,) = user.opened
        assert opened["environment"]["PLAIN"] == "yes"
        assert not {"SECRET", "KEY", "TOKEN_KEY"} & set(opened["environment"])
        assert not [asked for asked in issuer.place.asked if "x-key" in asked.headers]
        assert [asked for asked in server.place.asked if asked.headers.get("x-key") == "s3cr3t-2"]
        assert issuer.place.of("/register") == []


def test_the_next_bridge_needs_no_sign_in_and_sends_the_token_at_once(user: Browser) -> None:
    port = free_port()
    with guarded() as (issuer, server):
        for _ in range(2):
            with bridge(user, *store(user, port), server.url) as one:
                one.open()
                assert one.end() == 0
        assert issuer.sign_ins == 1
        refused = [asked for asked in server.place.of("/mcp") if "authorization" not in asked.headers]
        assert len(refused) == 1


def test_an_open_server_loads_nothing_of_a_sign_in(user: Browser) -> None:
    with guarded(demands=Demands(is_open=True)) as (issuer, server):
        with bridge(user, *store(user), server.url) as one:
            one.open()
            assert one.end() == 0
        assert issuer.place.asked == []
        assert user.opened == []
    assert not (user.folder / "store").exists() or not list((user.folder / "store").iterdir())


@proves("CLI-29", "OAUTH-23", "OAUTH-29")
@pytest.mark.parametrize(("code", "visits"), [(1, False), (0, True)])
def test_without_a_browser_the_user_opens_the_url_of_the_line(code: int, visits: bool, tmp_path: Path) -> None:
    user = browser(tmp_path, visits=False, code=code)
    option = ["--no-browser"] if visits else []
    with guarded() as (issuer, server), bridge(user, *store(user), *option, server.url) as one:
        one.send(initialize())
        one.says(b"sign in at ")
        (line,) = [line for line in one.stderr.decode().splitlines() if "sign in at " in line]
        if code:
            one.says(b"no browser was opened")
        visit(line.partition("sign in at ")[2])
        assert "result" in one.answer("hello")
        assert len(user.opened) == (0 if option else 1)
        assert one.end() == 0
        assert issuer.sign_ins == 1


@proves("CLI-30", "INIT-15", "ERR-05", "ERR-46")
def test_nobody_who_signs_in_is_waited_for_as_long_as_was_asked_for(tmp_path: Path) -> None:
    user = browser(tmp_path, visits=False)
    with guarded() as (_, server), bridge(user, *store(user), "--sign-in-timeout", "1", server.url) as one:
        one.send(initialize())
        error = one.answer("hello")["error"]
        assert error["data"] == {"cause": "sign_in_timeout"}
        assert "within 1 s" in error["message"]
        assert one.process.poll() is None
        one.send(initialize(id="again"))
        one.says(b"sign in at ")
        assert one.end() == 0


@proves("INIT-13")
def test_the_time_of_a_sign_in_is_not_the_server_s(tmp_path: Path) -> None:
    user = browser(tmp_path, visits=False)
    with guarded() as (_, server), bridge(user, *store(user), "--discover-timeout", "4", server.url) as one:
        one.send(initialize())
        one.says(b"sign in at ")
        threading.Event().wait(4.2)  # the limit of server/discover is over now
        (line,) = [line for line in one.stderr.decode().splitlines() if "sign in at " in line]
        visit(line.partition("sign in at ")[2])
        assert "result" in one.answer("hello")
        assert one.end() == 0


@proves("OAUTH-34")
def test_a_cancelled_initialize_ends_its_sign_in(tmp_path: Path) -> None:
    user = browser(tmp_path, visits=False)
    port = free_port()
    with guarded() as (issuer, server), bridge(user, *store(user, port), server.url) as one:
        one.send(initialize())
        one.says(b"sign in at ")
        one.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "hello"}})
        eventually("the port is free", lambda: _is_free(port))
        one.send(initialize(id="again"))
        eventually("a second line", lambda: one.stderr.count(b"sign in at ") == 2)
        visit(one.stderr.decode().rpartition("sign in at ")[2].splitlines()[0])
        assert "result" in one.answer("again")
        assert one.end() == 0
        assert issuer.sign_ins == 1


@proves("OAUTH-34")
def test_the_end_of_the_input_ends_a_sign_in(tmp_path: Path) -> None:
    user = browser(tmp_path, visits=False)
    with guarded() as (_, server), bridge(user, *store(user), server.url) as one:
        one.send(initialize())
        one.says(b"sign in at ")
        assert one.end() == 0


@proves("INIT-16", "ERR-53")
@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        (Behaviour(registers=False), "registration_unavailable"),
        (Behaviour(registration_error=document({"error": "no"}, 400)), "registration_failed"),
        (Behaviour(redirect_error="access_denied"), "sign_in_denied"),
        (Behaviour(redirect_error="server_error"), "sign_in_error"),
        (Behaviour(metadata={"code_challenge_methods_supported": None}), "sign_in_failed"),
    ],
)
def test_a_sign_in_that_fails_is_the_error_of_initialize(behaviour: Behaviour, cause: str, user: Browser) -> None:
    port = free_port()
    with guarded(behaviour) as (_, server), bridge(user, *store(user, port), server.url) as one:
        one.send(initialize())
        error = one.answer("hello")["error"]
        assert (error["code"], error["data"]["cause"]) == (-32603, cause)
        assert server.place.origin not in json.dumps(error)
        if cause.startswith("registration"):
            assert f"http://127.0.0.1:{port}/callback" in error["message"]
        assert one.end() == 0


@proves("ERR-05")
def test_a_port_that_is_taken_is_named(user: Browser) -> None:
    with socket.socket() as taken, guarded() as (_, server):
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with bridge(user, *store(user, port), server.url) as one:
            one.send(initialize())
            error = one.answer("hello")["error"]
            assert error["data"] == {"cause": "redirect_port_unavailable"}
            assert str(port) in error["message"]
            assert one.end() == 0
    assert user.opened == []


@proves("INIT-14", "OAUTH-36", "ERR-59")
def test_in_a_sandbox_nothing_is_tried(user: Browser) -> None:
    with guarded() as (issuer, server):
        words = ["--profile", "vscode", *store(user), server.url]
        with bridge(user, *words, SANDBOX_RUNTIME="1") as one:
            one.send(initialize())
            assert cause_of(one.answer("hello")) == (-32603, "sandbox")
            assert b"sign in at" not in one.stderr
            assert one.end() == 0
        assert issuer.place.asked == []
    assert user.opened == []


@proves("CLI-31")
def test_a_static_token_needs_no_sign_in_and_gets_none(user: Browser) -> None:
    with guarded() as (issuer, server):
        words = ["--header-env", "Authorization=TOKEN", server.url]
        with bridge(user, *words, TOKEN="Bearer wrong") as one:
            one.send(initialize())
            error = one.answer("hello")["error"]
            assert error["data"]["cause"] == "transport_failed"
            assert error["data"]["detail"].startswith("HTTP status 401")
            assert one.end() == 0
        assert issuer.place.asked == []


@proves("CLI-20", "HTTP-07", "QA-07")
def test_over_https_the_extra_certificates_are_for_the_sign_in_as_well(tmp_path: Path) -> None:
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)  # pyright: ignore[reportUnknownMemberType]
    ca = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(ca))
    user = browser(tmp_path, ca=str(ca))
    with guarded(demands=Demands(is_open=True), tls=tls) as (issuer, server):
        with bridge(user, *store(user), "--ca-file", str(ca), server.url) as one:
            one.open(capabilities=PAGES)
            one.call(1, "a")
            question = asked_page(one)
            one.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
            assert one.answer(1)["error"]["data"]["detail"] == "declined"
            assert one.end() == 0
        server.asks.is_open = False
        with bridge(user, *store(user), "--ca-file", str(ca), server.url) as one:
            one.open()
            assert text_of(one.tool("a")) == "a"
            assert one.end() == 0
            assert not [secret for secret in secrets_of(issuer) if secret.encode() in one.stderr]
        assert issuer.sign_ins == 1
        with bridge(user, *store(user), server.url) as one:
            one.send(initialize())
            assert one.answer("hello")["error"]["data"]["cause"] == "transport_failed"
            assert one.end() == 0


@proves("ERR-29", "HTTP-09")
def test_proxy_variables_that_cannot_be_used_fail_initialize(user: Browser) -> None:
    with bridge(user, *store(user), "https://example.com/mcp", HTTPS_PROXY="socks5://127.0.0.1:1") as one:
        one.send(initialize())
        assert cause_of(one.answer("hello")) == (-32603, "connect_failed")
        assert one.end() == 0


# ---------------------------------------------------------------------- after the handshake


def asked_page(one: Bridge) -> Any:
    question = one.receive()
    assert question["method"] == "elicitation/create"
    assert question["params"]["mode"] == "url"
    return question


def opened(user: Browser, server: Any, *words: str, capabilities: dict[str, Any]) -> Bridge:
    """A bridge whose server lets everyone look, and only those who signed in call."""
    one = bridge(user, *store(user), *words, server.url)
    one.open(capabilities=capabilities)
    return one


@proves("QA-07", "LIFE-23", "OAUTH-12", "OAUTH-13")
@pytest.mark.parametrize("is_legacy", [False, True], ids=["modern", "legacy"])
def test_later_the_client_asks_its_user(is_legacy: bool, user: Browser) -> None:
    with guarded(demands=Demands(is_open=True, is_legacy=is_legacy)) as (issuer, server):
        with opened(user, server, capabilities=PAGES) as one:
            one.call(1, "a")
            question = asked_page(one)
            url = question["params"]["url"]
            assert url.startswith(f"{issuer.place.origin}/authorize?")
            one.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
            visit(url)
            assert text_of(one.answer(1)) == "a"
            (complete,) = [frame for frame in one.frames if frame.get("method") == "notifications/elicitation/complete"]
            assert complete["params"]["elicitationId"] == question["params"]["elicitationId"]
            assert one.end() == 0
        assert user.opened == []
        assert issuer.sign_ins == 1


def test_a_page_that_was_opened_before_the_answer_withdraws_the_question(user: Browser) -> None:
    with guarded(demands=Demands(is_open=True)) as (_, server), opened(user, server, capabilities=PAGES) as one:
        one.call(1, "a")
        question = asked_page(one)
        visit(question["params"]["url"])
        assert text_of(one.answer(1)) == "a"
        (cancelled,) = [frame for frame in one.frames if frame.get("method") == "notifications/cancelled"]
        assert cancelled["params"]["requestId"] == question["id"]
        assert one.end() == 0


@proves("OAUTH-14", "OAUTH-16")
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_user_who_declines_is_left_alone(action: str, user: Browser) -> None:
    with guarded(demands=Demands(is_open=True)) as (issuer, server):
        with opened(user, server, capabilities=PAGES) as one:
            one.call(1, "a")
            question = asked_page(one)
            one.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}})
            data = one.answer(1)["error"]["data"]
            assert data == {"cause": "reauthorization_required", "detail": "declined"}
            assert one.tool("a")["error"]["data"] == {"cause": "reauthorization_required", "detail": "cooldown"}
            assert one.end() == 0
        assert issuer.sign_ins == 0
        assert user.opened == []


@proves("OAUTH-15", "ERR-58")
def test_a_client_that_shows_no_pages_gets_an_error(user: Browser) -> None:
    with guarded(demands=Demands(is_open=True)) as (_, server), opened(user, server, capabilities={}) as one:
        data = one.tool("a")["error"]["data"]
        assert data == {"cause": "reauthorization_required", "detail": "no_consent"}
        assert one.end() == 0
    assert user.opened == []


@proves("B147")
def test_a_step_up_goes_through_the_client_and_its_call_is_sent_once(user: Browser) -> None:
    demands = Demands(metadata={"scopes_supported": ["r"]}, scopes={"admin": "w"})
    with guarded(demands=demands) as (issuer, server), opened(user, server, capabilities=PAGES) as one:
        one.call(1, "admin")
        question = asked_page(one)
        one.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
        visit(question["params"]["url"])
        assert text_of(one.answer(1)) == "admin"
        assert server.calls == ["admin"]
        assert sorted(grant.scope for grant, _ in issuer.tokens.values()) == ["r", "r w"]
        assert one.end() == 0


def test_a_token_that_ends_during_the_conversation_is_renewed_without_anybody(user: Browser) -> None:
    with guarded() as (issuer, server), opened(user, server, capabilities={}) as one:
        issuer.revoke()
        assert text_of(one.tool("a")) == "a"
        assert (issuer.sign_ins, issuer.renewals) == (1, 1)
        assert one.end() == 0


def modern(id: Any, method: str, capabilities: dict[str, Any], **params: Any) -> dict[str, Any]:
    prefix = "io.modelcontextprotocol/"
    meta = {prefix + "protocolVersion": "2026-07-28", prefix + "clientCapabilities": capabilities}
    meta[prefix + "clientInfo"] = {"name": "newer", "version": "1"}
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta, **params}}


@pytest.mark.parametrize("is_legacy", [False, True], ids=["modern", "legacy"])
def test_a_client_without_a_handshake_is_asked_by_the_result_of_its_call(is_legacy: bool, user: Browser) -> None:
    call: dict[str, Any] = {"name": "a", "arguments": {}}
    with guarded(demands=Demands(is_open=True, is_legacy=is_legacy)) as (issuer, server):
        with bridge(user, *store(user), server.url) as one:
            one.revision = "2026-07-28"
            one.send(modern(1, "server/discover", PAGES))
            assert "result" in one.answer(1)
            one.send(modern(2, "tools/call", {}, **call))
            assert one.answer(2)["error"]["data"]["detail"] == "no_consent"
            one.send(modern(3, "tools/call", PAGES, **call))
            asked = one.answer(3)["result"]
            assert asked["resultType"] == "input_required"
            ((name, request),) = asked["inputRequests"].items()
            assert request["method"] == "elicitation/create"
            assert request["params"]["mode"] == "url"
            visit(request["params"]["url"])
            responses = {name: {"action": "accept"}}
            state = asked["requestState"]
            one.send(modern(4, "tools/call", PAGES, **call, inputResponses=responses, requestState=state))
            assert text_of(one.answer(4)) == "a"
            one.send(modern(5, "tools/call", PAGES, **call))
            assert text_of(one.answer(5)) == "a"
            assert one.end() == 0
        assert server.calls == ["a", "a"]
        assert issuer.sign_ins == 1
        assert user.opened == []


def test_a_listener_uses_what_is_kept_and_asks_nobody(user: Browser) -> None:
    port, place = free_port(), free_port()
    with guarded() as (issuer, server):
        for expected in ("reauthorization_required", None):
            words = ["--listen", f"http://127.0.0.1:{place}/mcp", *store(user, port), server.url]
            with bridge(user, *words) as one:
                one.says(b"listens on")
                headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
                body = json.dumps(initialize()).encode()
                request = urllib.request.Request(f"http://127.0.0.1:{place}/mcp", body, headers)
                with urllib.request.urlopen(request, timeout=20) as response:
                    answer = json.loads(response.read())
                if expected is None:
                    assert answer["result"]["serverInfo"]["name"] == "guarded"
                else:
                    assert answer["error"]["data"] == {"cause": expected, "detail": "no_consent"}
                    assert issuer.place.of("/register") == []
                one.signal(signal.SIGTERM)
                assert one.wait() == 0
            assert run("login", *store(user, port), server.url, env=user.environment).returncode == 0
        assert issuer.sign_ins == 1


# ---------------------------------------------------------------------- without a person


def test_a_client_of_its_own_signs_in_without_anybody(user: Browser) -> None:
    with guarded(Behaviour(secrets={"mine": "s3cr3t"})) as (issuer, server):
        words = ["--sign-in", "client", "--client-id", "mine", "--client-issuer", issuer.name]
        words += ["--client-secret-env", "SECRET", *store(user)]
        with bridge(user, *words, server.url, SECRET="s3cr3t") as one:
            one.open()
            assert text_of(one.tool("a")) == "a"
            issuer.revoke()
            assert text_of(one.tool("b")) == "b"
            assert b"sign in at" not in one.stderr
            assert one.end() == 0
        assert user.opened == []
        assert [asked.form["grant_type"] for asked in issuer.place.of("/token")] == ["client_credentials"] * 2


def test_a_device_code_is_told_and_asked_for_until_it_was_entered(user: Browser) -> None:
    with guarded(Behaviour(pending=2)) as (issuer, server):
        issuer.does.metadata["device_authorization_endpoint"] = f"{issuer.place.origin}/device"
        with bridge(user, "--sign-in", "device", *store(user), server.url) as one:
            one.open()
            one.says(f"sign in at {issuer.place.origin}/enter with the code ABCD-1234".encode())
            assert one.end() == 0
        assert user.opened == []
        assert len(issuer.place.of("/token")) == 3


# ---------------------------------------------------------------------- login and logout


@proves("OUT-01", "OUT-05")
def test_a_login_ahead_is_found_by_the_bridge_and_given_up_by_logout(user: Browser) -> None:
    port = free_port()
    with guarded() as (issuer, server):
        done = run("login", *store(user, port), server.url, env=user.environment)
        assert (done.returncode, done.stdout) == (0, b"signed in\n")
        assert f"sign in at {issuer.place.origin}".encode() in done.stderr
        again = run("login", *store(user, port), server.url, env=user.environment)
        assert (again.returncode, again.stdout) == (0, b"signed in\n")
        assert issuer.sign_ins == 1
        with bridge(user, *store(user, port), server.url) as one:
            one.open()
            assert one.end() == 0
        assert issuer.sign_ins == 1
        before = len(issuer.place.asked)
        other = run("logout", *store(user, port), "--account", "other", server.url, env=user.environment)
        assert (other.returncode, other.stdout) == (0, b"nothing was kept\n")
        for expected in (b"sign-ins deleted: 1\n", b"nothing was kept\n"):
            out = run("logout", *store(user, port), server.url, env=user.environment)
            assert (out.returncode, out.stdout) == (0, expected)
        assert [asked.path for asked in issuer.place.asked[before:]] == [
            "/revoke"
        ] * 2  # the refresh token, the access token
        with bridge(user, *store(user, port), server.url) as one:
            one.open()
            assert one.end() == 0
        assert issuer.sign_ins == 2


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        (Behaviour(), "its token was revoked"),
        (Behaviour(gives_refresh=False), "its token was revoked"),
        (Behaviour(revokes=False), "offers no revocation"),
        (Behaviour(metadata={"revocation_endpoint": "http://127.0.0.1:1/"}), "could not be revoked"),
        (Behaviour(metadata=WITH_SECRET), "token was revoked"),
        (Behaviour(metadata=WITH_SECRET, reads_form_alone=True), "token was revoked"),
    ],
    ids=["refresh token", "access token", "none offered", "not reachable", "with a secret", "secret in the form"],
)
def test_logout_gives_the_token_back_and_says_so(behaviour: Behaviour, sentence: str, user: Browser) -> None:
    """D11"""
    port = free_port()
    with guarded(behaviour) as (issuer, server):
        assert run("login", *store(user, port), server.url, env=user.environment).returncode == 0
        out = run("logout", *store(user, port), server.url, env=user.environment)
        assert (out.returncode, out.stdout) == (0, b"sign-ins deleted: 1\n")
        assert sentence in out.stderr.decode()
        assert ("revoked at" in out.stderr.decode()) == (not issuer.tokens)


def test_doctor_names_the_line_that_signs_in_and_uses_what_is_kept(user: Browser) -> None:
    """D10"""
    words = store(user)
    with guarded(demands=Demands(is_legacy=True)) as (issuer, server):
        strange = run("doctor", *words, server.url, env=user.environment)
        assert strange.returncode == 1
        assert f"Sign in at {issuer.name} with: dragoman login {server.url}" in strange.stdout.decode()
        assert (issuer.sign_ins, issuer.clients) == (0, {})
        assert run("login", *words, server.url, env=user.environment).returncode == 0
        known = run("doctor", *words, server.url, env=user.environment)
        assert (known.returncode, issuer.sign_ins) == (0, 1)
        assert "guarded" in known.stdout.decode()


@pytest.mark.parametrize(
    ("behaviour", "hint"),
    [
        (Behaviour(registers=False), "give --client-id and --client-issuer http"),
        (Behaviour(metadata={"code_challenge_methods_supported": None}), "--assume-pkce"),
    ],
    ids=["registers nobody", "silent about PKCE"],
)
def test_doctor_names_the_setting_that_a_sign_in_needs(behaviour: Behaviour, hint: str, user: Browser) -> None:
    """D10, D4"""
    with guarded(behaviour) as (_, server):
        found = run("doctor", *store(user), server.url, env=user.environment)
        assert found.returncode == 1
        assert hint in found.stdout.decode()


def test_a_login_that_is_not_kept_is_no_success_and_leaves_no_half(user: Browser) -> None:
    """D8"""
    folder = user.folder / "store"
    (folder / "index.signin").mkdir(parents=True)  # where nothing can be written
    with guarded() as (issuer, server):
        done = run("login", *store(user), server.url, env=user.environment)
        assert issuer.sign_ins == 1
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"could not be kept" in done.stderr
    assert [each.name for each in folder.iterdir() if each.suffix in (".signin", ".mark")] == ["index.signin"]


@proves("OUT-02", "OUT-03")
def test_logout_of_everything_leaves_nothing(user: Browser) -> None:
    with guarded() as (_, one), guarded() as (_, two):
        for server in (one, two):
            assert run("login", *store(user), server.url, env=user.environment).returncode == 0
    assert list((user.folder / "store").glob("*.signin"))
    out = run("logout", *store(user), "--all", env=user.environment)
    assert (out.returncode, out.stdout) == (0, b"sign-ins deleted: 2\n")
    assert not (user.folder / "store").exists() or not list((user.folder / "store").iterdir())


def test_a_login_that_could_not_be_kept_is_not_begun(user: Browser) -> None:
    with guarded() as (issuer, server):
        done = run("login", "--redirect-port", str(free_port()), server.url, env=user.environment)
        assert done.returncode == 1
        assert b"cannot be kept" in done.stderr
        assert issuer.place.asked == []


def test_a_login_at_an_open_server_and_one_that_is_denied(user: Browser) -> None:
    with guarded(Behaviour(redirect_error="access_denied")) as (_, server):
        done = run("login", *store(user), server.url, env=user.environment)
        assert done.returncode == 1
        assert b"sign_in_denied" in done.stderr
    with guarded(demands=Demands(is_open=True)) as (_, server):
        done = run("login", *store(user), server.url, env=user.environment)
        assert done.returncode == 0
        assert done.stdout.startswith(b"nothing to sign in to")


@proves("OUT-04")
def test_logout_asks_no_server_whose_sign_in_it_is(user: Browser) -> None:
    port = free_port()
    with guarded() as (_, server):
        assert run("login", *store(user, port), server.url, env=user.environment).returncode == 0
        (user.folder / "store" / "index.signin").write_bytes(b"broken")
        before = len(server.place.asked)
        out = run("logout", *store(user, port), server.url, env=user.environment)
        assert (out.returncode, out.stdout) == (0, b"sign-ins deleted: 1\n")
        assert len(server.place.asked) == before


@proves("OUT-03")
def test_a_deletion_that_fails_is_told(user: Browser) -> None:
    port = free_port()
    with guarded() as (_, server):
        assert run("login", *store(user, port), server.url, env=user.environment).returncode == 0
        (file,) = [file for file in (user.folder / "store").glob("*.signin") if file.stem != "index"]
        file.unlink()
        file.mkdir()  # which is no file that could be deleted
        out = run("logout", *store(user, port), server.url, env=user.environment)
        assert out.returncode == 1
        assert b"not everything could be deleted" in out.stderr


# ---------------------------------------------------------------------- many at once


@proves("B134", "B149")
def test_ten_bridges_at_once_are_one_sign_in_and_one_renewal_at_a_time(user: Browser) -> None:
    port = free_port()
    with guarded() as (issuer, server), ExitStack() as running:
        bridges = [running.enter_context(bridge(user, *store(user, port), server.url)) for _ in range(10)]
        for one in bridges:
            one.send(initialize())
        for one in bridges:
            assert "result" in one.answer("hello")
            one.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert issuer.sign_ins == 1
        assert len(user.opened) == 1
        for round_ in range(3):
            issuer.revoke()
            for one in bridges:
                one.call(round_, "a")
            for one in bridges:
                assert text_of(one.answer(round_)) == "a"
            assert issuer.renewals == round_ + 1
        assert (issuer.sign_ins, issuer.reuses) == (1, 0)
        assert len(issuer.place.of("/register")) == 1
        for one in bridges:
            assert one.end() == 0


# ---------------------------------------------------------------------- the command line


@proves("CLI-21", "CLI-22", "CLI-23", "CLI-24", "CLI-25", "CLI-26", "CLI-28", "STORE-02", "EXIT-03", "CLI-14")
@proves("CLI-27", "CLI-31")
@pytest.mark.parametrize(
    "words",
    [
        ("--client-issuer", "https://s3cr3t.example"),
        ("--client-id", "a", "--client-issuer", "http://s3cr3t.example"),
        ("--client-id", "a", "--client-issuer", "https://u:s3cr3t@as.example"),
        ("--client-id", "a", "--client-issuer", "https://as.example/?s3cr3t"),
        ("--client-id", "a", "--client-issuer", "https://as.example/#s3cr3t"),
        ("--client-id", "a", "--client-secret-env", "HOME"),
        ("--client-secret-env", "HOME"),
        ("--client-id", "a", "--client-issuer", "https://as.example", "--client-secret-env", "NO_SUCH"),
        ("--client-id", "a", "--client-issuer", "https://as.example", "--client-key-file", "/s3cr3t"),
        ("--client-id", "a", "--client-issuer", "https://as.example", "--client-key-file", __file__),
        ("--client-id", "a", "--client-metadata-url", "https://c.example/s3cr3t"),
        ("--client-metadata-url", "https://s3cr3t.example"),
        ("--client-metadata-url", "https://s3cr3t.example/"),
        ("--client-metadata-url", "http://127.0.0.1/s3cr3t"),
        ("--client-metadata-url", "https://u:s3cr3t@c.example/d"),
        ("--client-metadata-url", "https://c.example/d#s3cr3t"),
        ("--redirect-port", "0"),
        ("--redirect-port", "65536"),
        ("--account", "s3cr3t account"),
        ("--account", "a" * 65),
        ("--sign-in-timeout", "0"),
        ("--sign-in", "s3cr3t"),
        ("--sign-in", "client"),
        ("--sign-in", "client", "--client-id", "a", "--client-issuer", "https://as.example"),
        ("--token-store", "s3cr3t"),
        ("--token-store", "file"),
        ("--token-store", "keychain"),
        ("--token-store", "memory", "--token-key-env", "KEY"),
        ("--token-store", "keychain", "--token-key-file", "/s3cr3t"),
        ("--token-key-env", "KEY", "--token-key-file", "/s3cr3t"),
        ("--token-key-env", "HOME"),
        ("--token-key-env", "NO_SUCH"),
        ("--token-key-file", "/s3cr3t"),
        ("--header", "authorization:s3cr3t", "--account", "a"),
        ("--header", "Authorization:s3cr3t", "--no-browser"),
        ("--client-secret", "s3cr3t"),
    ],
)
def test_options_that_do_not_fit_are_refused_without_a_value(words: tuple[str, ...]) -> None:
    environment = {**os.environ, "HOME": "/s3cr3t", "KEY": "00" * 32}
    environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    done = run(*words, "https://example.com/mcp", env=environment)
    assert done.returncode == 2
    assert done.stdout == b""
    cause, usage = done.stderr.decode().split("\n", 1)
    assert cause.startswith("dragoman: ")
    assert usage.startswith("Usage: dragoman")
    assert "s3cr3t" not in done.stderr.decode()


@proves("CLI-03", "OUT-03")
@pytest.mark.parametrize(
    "words",
    [
        ("logout",),
        ("logout", "--all", "https://example.com"),
        ("logout", "--name", "x", "https://example.com"),
        ("logout", "http://example.com"),
        ("logout", "--token-store", "keychain", "--all"),
        ("login",),
        ("login", "http://example.com"),
        ("login", "--header-env", "authorization=HOME", "https://example.com"),
        ("--no-browser", "--", "server"),
        ("--client-id", "a", "--", "server"),
    ],
)
def test_wrong_forms_of_login_and_logout(words: tuple[str, ...]) -> None:
    environment = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    done = run(*words, env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith(b"dragoman: ")


def test_nothing_of_a_sign_in_is_loaded_before_a_server_asks_for_it() -> None:
    late = ("dragoman.signin.account", "dragoman.signin.shelf", "keyring", "cryptography", "filelock", "jwt")
    code = (
        "import dragoman.cli.run, dragoman.cli.commands, dragoman.signin.credentials, dragoman.runtime.user, sys; "
        f"print([m for m in sys.modules if m.startswith({late})])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30, check=True)
    assert done.stdout.strip() == b"[]"


def _is_free(port: int) -> bool:
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
