"""One account against a real authorization server: what a sign-in does, and each thing that can be wrong with it."""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from channels.scripted_http import played
from dragoman.faults import Cause
from dragoman.signin.account import Visit
from dragoman.signin.failure import Failed
from dragoman.signin.person import Consent
from dragoman.signin.shelf import PROMPT
from support.authorization import OPENID, Behaviour, Demands, document, guarded, query_of
from support.proofs import proves
from support.signing_in import READ, Someone, account, free_port


@proves("OAUTH-01", "OAUTH-09", "OAUTH-11")
def test_a_sign_in_gets_a_token_for_this_server(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                assert await one.account.bearer() is None
                assert await one.meets()
                token = await one.account.bearer()
                grant = issuer.admits(f"Bearer {token}")
                assert grant is not None
                assert grant.resource == server.url
                assert issuer.sign_ins == 1
                (line,) = one.someone.lines
                url = line.removeprefix("sign in at ")
                assert url.startswith(f"{issuer.place.origin}/authorize?")
                (uri,) = query_of(url)["redirect_uri"]
                assert uri.startswith("http://127.0.0.1:")
                assert uri.endswith("/callback")
                assert one.someone.waited == [PROMPT, READ, 300.0, 0.0]
                (body,) = [json.loads(asked.body) for asked in issuer.place.of("/register")]
                assert body["client_name"] == "dragoman"
                assert body["redirect_uris"] == [uri]
            await asyncio.sleep(0)
            assert one.someone.pages[0][0] == 200
            assert "Back from the sign-in" in one.someone.pages[0][1]

    played(scene)


def test_a_sign_in_is_kept_for_the_next_process(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path, redirect_port=port) as one:
                await one.meets()
                token = await one.account.bearer()
            async with account(server.url, tmp_path, redirect_port=port) as again:
                assert await again.account.bearer() == token
                assert again.someone.lines == []
            async with account(server.url, tmp_path, redirect_port=port, account="other") as other:
                assert await other.account.bearer() is None
            assert issuer.sign_ins == 1

    played(scene)


# ---------------------------------------------------------------------- where the authorization server is


@proves("B141")
@pytest.mark.parametrize(
    ("behaviour", "demands"),
    [
        (Behaviour(), Demands(names_metadata=False)),
        (Behaviour(), Demands(names_metadata=False, metadata_at=("root",))),
        (Behaviour(), Demands(names_metadata=False, metadata_at=("root",), elsewhere=(401, {}, b""))),
        (Behaviour(), Demands(names_metadata=False, metadata_at=("root",), elsewhere=(403, {}, b""))),
        (Behaviour(), Demands(names_metadata=False, metadata_at=("root",), elsewhere=(405, {}, b""))),
        (Behaviour(), Demands(names_metadata=False, metadata_at=("root",), elsewhere=(200, {}, b"<html>"))),
        (Behaviour(), Demands(challenge="")),
        (Behaviour(path="/x"), Demands()),
        (Behaviour(path="/x", at=(OPENID,)), Demands()),
        (Behaviour(path="/x", at=("appended",)), Demands()),
        (Behaviour(at=(OPENID,)), Demands()),
        (Behaviour(at=(OPENID,), elsewhere=(200, {}, b"<html>")), Demands()),
    ],
    ids=range(12),
)
def test_the_authorization_server_is_found(behaviour: Behaviour, demands: Demands, tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(behaviour, demands) as (issuer, server):
            async with account(server.url, tmp_path) as one:
                header = f'Bearer resource_metadata="{server.place.origin}/.well-known/oauth-protected-resource/mcp"'
                assert await one.meets(401, *([header] if demands.names_metadata else []))
                assert issuer.sign_ins == 1

    played(scene)


@proves("OAUTH-02", "B145")
@pytest.mark.parametrize(
    ("behaviour", "demands", "detail"),
    [
        (Behaviour(), Demands(metadata={"resource": "https://other.example/"}), "another resource"),
        (Behaviour(), Demands(metadata={"authorization_servers": []}), "names no authorization server"),
        (Behaviour(), Demands(metadata={"authorization_servers": ["http://as.example"]}), "cannot be used"),
        (Behaviour(), Demands(metadata_at=(), elsewhere=(503, {}, b"")), "HTTP status 503"),
        (Behaviour(elsewhere=(500, {}, b""), at=()), Demands(), "HTTP status 500"),
        (Behaviour(at=()), Demands(), "there is none"),
        (Behaviour(metadata={"issuer": "https://other.example"}), Demands(), "another issuer"),
        (Behaviour(metadata={"token_endpoint": "http://as.example/t"}), Demands(), "cannot be used"),
        (Behaviour(metadata={"code_challenge_methods_supported": None}), Demands(), "PKCE"),
        (Behaviour(metadata={"code_challenge_methods_supported": ["plain"]}), Demands(), "PKCE"),
        (Behaviour(metadata={"authorization_endpoint": None}), Demands(), "no authorization endpoint"),
    ],
    ids=range(11),
)
def test_metadata_that_cannot_be_used_ends_it(
    behaviour: Behaviour, demands: Demands, detail: str, tmp_path: Path
) -> None:
    async def scene() -> None:
        with guarded(behaviour, demands) as (issuer, server):
            async with account(server.url, tmp_path) as one:
                with pytest.raises(Failed, match=detail) as failed:
                    await one.meets()
                assert failed.value.cause is Cause.SIGN_IN_FAILED
                assert "127.0.0.1" not in str(failed.value)
                assert one.someone.lines == []
                assert issuer.sign_ins == 0

    played(scene)


def test_a_server_of_the_first_revision_with_sign_in_is_its_own_authorization_server(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, _):
            async with account(f"{issuer.place.origin}/mcp", tmp_path) as one:
                assert await one.meets()
                assert "resource" not in query_of(one.someone.lines[0])

    played(scene)


def test_three_fixed_paths_serve_where_nothing_is_described(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(at=())) as (issuer, _):
            async with account(f"{issuer.place.origin}/mcp", tmp_path) as one:
                assert await one.meets()
                assert issuer.sign_ins == 1

    played(scene)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_without_any_authorization_server_is_only_a_refusal(status: int, tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(at=(), registers=True, registration_error=(404, {}, b""))) as (issuer, _):
            async with account(f"{issuer.place.origin}/mcp", tmp_path) as one:
                assert not await one.meets(status, "Basic")
                assert any("--header-env" in note for note in one.someone.notes)
                assert one.someone.lines == []

    played(scene)


# ---------------------------------------------------------------------- which client


@proves("OAUTH-04", "OAUTH-06", "ERR-55")
def test_a_client_of_the_user_is_used_at_its_own_issuer_only(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(secrets={"mine": "s3cr3t"})) as (issuer, server):
            given: dict[str, Any] = {"client_id": "mine", "client_secret": "s3cr3t"}
            async with account(server.url, tmp_path, client_issuer=issuer.name, **given) as one:
                assert await one.meets()
                assert issuer.place.of("/register") == []
            async with account(server.url, tmp_path, client_issuer="https://other.example", **given) as other:
                with pytest.raises(Failed) as failed:
                    await other.meets()
                assert failed.value.cause is Cause.ISSUER_NOT_REGISTERED
            async with account(
                server.url, tmp_path, client_issuer=issuer.name, client_id="mine", client_secret="x"
            ) as wrong:
                with pytest.raises(Failed, match="--client-id"):
                    await wrong.meets()
            assert not [asked for asked in server.place.asked if b"s3cr3t" in asked.body]

    played(scene)


@proves("OAUTH-04", "ERR-56")
def test_a_metadata_document_is_the_client_where_the_server_takes_one(tmp_path: Path) -> None:
    document_url = "https://c.example/client.json"

    async def scene() -> None:
        with guarded(Behaviour(metadata={"client_id_metadata_document_supported": True})) as (issuer, server):
            async with account(server.url, tmp_path, client_metadata_url=document_url) as one:
                assert await one.meets()
                assert query_of(one.someone.lines[0])["client_id"] == [document_url]
                assert issuer.place.of("/register") == []
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path, client_metadata_url=document_url) as one:
                assert await one.meets()
                assert len(issuer.place.of("/register")) == 1
        refusing = Behaviour(metadata={"client_id_metadata_document_supported": True})
        refusing.token_errors = [document({"error": "invalid_client"}, 401)]
        with guarded(refusing) as (issuer, server):
            async with account(server.url, tmp_path, client_metadata_url=document_url) as one:
                with pytest.raises(Failed) as failed:
                    await one.meets()
                assert failed.value.cause is Cause.INVALID_CLIENT_METADATA_URL

    played(scene)


@proves("OAUTH-04", "ERR-53", "ERR-54")
@pytest.mark.parametrize(
    ("behaviour", "cause", "detail"),
    [
        (Behaviour(registers=False), Cause.REGISTRATION_UNAVAILABLE, None),
        (
            Behaviour(registration_error=document({"error": "invalid_client_metadata"}, 400)),
            Cause.REGISTRATION_FAILED,
            "HTTP status 400, invalid_client_metadata",
        ),
    ],
)
def test_without_a_client_there_is_no_sign_in(
    behaviour: Behaviour, cause: Cause, detail: str | None, tmp_path: Path
) -> None:
    async def scene() -> None:
        with guarded(behaviour) as (_, server):
            async with account(server.url, tmp_path) as one:
                with pytest.raises(Failed) as failed:
                    await one.meets()
                assert (failed.value.cause, failed.value.detail) == (cause, detail)
                assert one.someone.lines == []

    played(scene)


@pytest.mark.parametrize("methods", [["client_secret_post"], ["client_secret_basic"], ["none"]])
def test_a_registered_client_proves_itself_as_the_server_wants(methods: list[str], tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(metadata={"token_endpoint_auth_methods_supported": methods})) as (issuer, server):
            async with account(server.url, tmp_path) as one:
                assert await one.meets()
                (asked,) = issuer.place.of("/token")
                assert ("client_secret" in asked.form) is (methods == ["client_secret_post"])
                assert ("authorization" in asked.headers) is (methods == ["client_secret_basic"])

    played(scene)


@proves("B137")
@pytest.mark.parametrize("answer", [(401, "invalid_client"), (400, "invalid_client"), (400, "unauthorized_client")])
def test_a_client_that_was_forgotten_is_registered_once_more(answer: tuple[int, str], tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded(Behaviour(unknown_client=document({"error": answer[1]}, answer[0]))) as (issuer, server):
            async with account(server.url, tmp_path, redirect_port=port) as one:
                await one.meets()
                first = await one.account.bearer()
                issuer.forget()
                issuer.revoke()
                assert await one.meets(used=first)
                assert issuer.admits(f"Bearer {await one.account.bearer()}")
            assert issuer.sign_ins == 2
            assert len(issuer.place.of("/register")) == 2

    played(scene)


def test_a_client_that_is_forgotten_between_two_sign_ins_is_noticed_at_the_code(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(gives_refresh=False)) as (issuer, server):
            async with account(server.url, tmp_path) as one:
                await one.meets()
                first = await one.account.bearer()
                issuer.revoke()
                issuer.does.token_errors = [document({"error": "invalid_client"}, 401)]
                assert await one.meets(used=first)
                assert len(issuer.place.of("/register")) == 2
                issuer.does.token_errors = [document({"error": "invalid_client"}, 401)] * 3
                issuer.revoke()
                with pytest.raises(Failed, match="HTTP status 401, invalid_client"):
                    await one.meets(used=await one.account.bearer())
                assert len(issuer.place.of("/register")) == 3

    played(scene)


@proves("ERR-46", "B150")
def test_a_registration_is_kept_before_anybody_signs_in(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path, Someone(signs_in=False), redirect_port=port, timeout=0.5) as one:
                with pytest.raises(Failed) as failed:
                    await one.meets()
                assert failed.value.cause is Cause.SIGN_IN_TIMEOUT
            async with account(server.url, tmp_path, redirect_port=port) as again:
                assert await again.meets()
            assert len(issuer.place.of("/register")) == 1

    played(scene)


@proves("OAUTH-03")
def test_what_belongs_to_one_issuer_is_never_shown_to_another(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server), guarded() as (other, _):
            async with account(server.url, tmp_path) as one:
                await one.meets()
                first = await one.account.bearer()
                issuer.tokens.clear()
                issuer.refreshes.clear()
                server.issuer = other
                assert await one.meets(used=first)
                assert other.admits(f"Bearer {await one.account.bearer()}")
                (own,) = issuer.clients
                assert not [asked for asked in other.place.asked if own.encode() in asked.body]
                assert len(other.place.of("/register")) == 1

    played(scene)


# ---------------------------------------------------------------------- the redirect


@proves("OAUTH-03", "OAUTH-32", "ERR-45", "ERR-47", "ERR-48")
@pytest.mark.parametrize(
    ("behaviour", "cause", "detail"),
    [
        (Behaviour(redirect_error="access_denied"), Cause.SIGN_IN_DENIED, None),
        (Behaviour(redirect_error="server_error"), Cause.SIGN_IN_ERROR, "server_error"),
        (Behaviour(iss="https://evil.example"), Cause.SIGN_IN_FAILED, None),
        (Behaviour(metadata={"authorization_response_iss_parameter_supported": True}), Cause.SIGN_IN_FAILED, None),
        (Behaviour(token_errors=[document({"error": "invalid_grant"}, 400)]), Cause.SIGN_IN_FAILED, None),
        (Behaviour(token_errors=[(503, {}, b"")]), Cause.SIGN_IN_FAILED, "the token request: HTTP status 503"),
        (Behaviour(metadata={"authorization_endpoint": "https://as.example/a b"}), Cause.SIGN_IN_FAILED, None),
    ],
)
def test_a_sign_in_that_fails_says_how(behaviour: Behaviour, cause: Cause, detail: str | None, tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(behaviour) as (_, server):
            async with account(server.url, tmp_path) as one:
                with pytest.raises(Failed) as failed:
                    await one.meets()
                assert failed.value.cause is cause
                assert detail is None or failed.value.detail == detail
                assert await one.account.bearer() is None

    played(scene)


@proves("ERR-49", "OAUTH-20")
@pytest.mark.parametrize("at_hand", [True, False])
def test_a_url_that_no_user_should_open_is_shown_to_nobody(at_hand: bool, tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(metadata={"authorization_endpoint": "https://as.example/{user}"})) as (_, server):
            someone = Someone(at_hand=at_hand, askable=not at_hand)
            async with account(server.url, tmp_path, someone, opens_browser=at_hand) as one:
                with pytest.raises(Failed) as failed:
                    await one.meets()
                assert failed.value.cause is Cause.SIGN_IN_INVALID_URL
                assert someone.lines == []
                assert someone.questions == []
                assert not any("as.example" in note for note in someone.notes)

    played(scene)


def test_the_right_issuer_in_the_redirect_is_fine(tmp_path: Path) -> None:
    async def scene() -> None:
        supported = {"authorization_response_iss_parameter_supported": True}
        with guarded(Behaviour(iss="right", metadata=supported)) as (_, server):
            async with account(server.url, tmp_path) as one:
                assert await one.meets()

    played(scene)


@proves("B139")
def test_two_sign_ins_at_once_have_a_port_each(tmp_path: Path) -> None:
    """D2: and what was registered for one port serves there again."""

    async def scene() -> None:
        with guarded() as (_, server), guarded() as (_, other), socket.socket() as usual:
            usual.bind(("127.0.0.1", 0))
            usual.listen()
            port = usual.getsockname()[1]
            async with (
                account(server.url, tmp_path / "a", redirect_port=port) as one,
                account(other.url, tmp_path / "b", redirect_port=port) as two,
            ):
                assert await one.meets()
                assert await two.meets()
                for each in (one, two):
                    record = await each.shelf.read(each.key)
                    assert record is not None
                    assert record.client.redirect_uri not in (None, f"http://127.0.0.1:{port}/callback")

    played(scene)


@proves("OAUTH-35", "ERR-52")
def test_a_port_that_is_taken_is_told_when_no_other_will_do(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            port = int(issuer.place.origin.rpartition(":")[2])
            async with account(server.url, tmp_path, redirect_port=port, is_port_fixed=True) as one:
                with pytest.raises(Failed) as failed:
                    await one.meets()
                assert failed.value.cause is Cause.REDIRECT_PORT_UNAVAILABLE
                assert one.someone.lines == []

    played(scene)


@proves("OAUTH-36", "ERR-59")
def test_in_a_sandbox_a_sign_in_fails_at_once_and_a_token_still_works(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free_port()
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path, redirect_port=port, is_sandboxed=True) as one:
                with pytest.raises(Failed) as failed:
                    await one.meets()
                assert failed.value.cause is Cause.SANDBOX
                assert issuer.place.asked == []
                assert one.someone.lines == []
            async with account(server.url, tmp_path, redirect_port=port) as outside:
                await outside.meets()
            async with account(server.url, tmp_path, redirect_port=port, is_sandboxed=True) as inside:
                assert issuer.admits(f"Bearer {await inside.account.bearer()}")

    played(scene)


@proves("ERR-51")
@pytest.mark.parametrize("needs", [True, False])
def test_a_browser_that_does_not_open_is_fatal_only_where_that_was_asked_for(
    needs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        monkeypatch.setenv("BROWSER", "no-such-browser")
        with guarded() as (_, server):
            async with account(server.url, tmp_path, opens_browser=True, needs_browser=needs) as one:
                if needs:
                    one.someone.signs_in = False
                    with pytest.raises(Failed) as failed:
                        await one.meets()
                    assert failed.value.cause is Cause.BROWSER_LAUNCH_FAILED
                else:
                    assert await one.meets()
                assert any("no browser was opened" in note for note in one.someone.notes)

    played(scene)


# ---------------------------------------------------------------------- one at a time, and its end


@proves("OAUTH-17")
def test_many_refusals_are_one_sign_in(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                assert all(await asyncio.gather(*(one.meets() for _ in range(10))))
                assert issuer.sign_ins == 1
                assert len(one.someone.lines) == 1

    played(scene)


@proves("OAUTH-34")
def test_a_sign_in_ends_with_the_last_request_that_waits_for_it(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (_, server):
            async with account(server.url, tmp_path, Someone(signs_in=False)) as one:
                loop = asyncio.get_running_loop()
                first, second = (loop.create_task(one.meets(), name="request") for _ in range(2))
                await one.someone.until(lambda: bool(one.someone.lines))
                first.cancel()
                await asyncio.wait((first,))
                assert one.someone.waited == [PROMPT, READ, 300.0]
                second.cancel()
                await asyncio.wait((second,))
                await one.someone.until(lambda: one.someone.waited == [PROMPT, READ, 300.0, 0.0])
                one.someone.signs_in = True
                assert await one.meets()  # its port is free again

    played(scene)


@proves("OAUTH-08", "ERR-57")
def test_a_request_is_met_by_one_sign_in_and_then_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                visit = Visit()
                assert await one.meets(visit=visit)
                visit.used = await one.account.bearer()
                issuer.does.token_errors = [document({"error": "invalid_grant"}, 400)]
                with pytest.raises(Failed) as failed:
                    await one.meets(visit=visit)
                assert (failed.value.cause, failed.value.detail) == (Cause.ACCESS_REFUSED, "HTTP status 401")

    played(scene)


@proves("OAUTH-08", "B147")
def test_a_step_up_asks_for_more_and_loses_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(demands=Demands(metadata={"scopes_supported": ["r"]})) as (issuer, server):
            async with account(server.url, tmp_path) as one:
                await one.meets()
                visit = Visit(await one.account.bearer())
                more = 'Bearer error="insufficient_scope", scope="w"'
                assert await one.meets(403, more, visit=visit)
                visit.used = await one.account.bearer()
                grant = issuer.admits(f"Bearer {visit.used}")
                assert grant is not None
                assert grant.scope == "r w"
                with pytest.raises(Failed) as failed:
                    await one.meets(403, more, visit=visit)
                assert (failed.value.cause, failed.value.detail) == (Cause.ACCESS_REFUSED, "HTTP status 403")
                assert issuer.sign_ins == 2

    played(scene)


def test_a_403_that_asks_for_nothing_is_no_reason_to_sign_in_again(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            async with account(server.url, tmp_path) as one:
                await one.meets()
                with pytest.raises(Failed) as failed:
                    await one.meets(403, used=await one.account.bearer())
                assert failed.value.cause is Cause.ACCESS_REFUSED
                assert not await one.meets(403, "Basic", used=await one.account.bearer())
                assert issuer.sign_ins == 1

    played(scene)


# ---------------------------------------------------------------------- through the client


@proves("OAUTH-13")
def test_later_the_client_is_asked_with_the_whole_url(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded() as (issuer, server):
            someone = Someone(at_hand=False, askable=True)
            async with account(server.url, tmp_path, someone, opens_browser=True) as one:
                assert await one.meets()
                ((url, message),) = someone.questions
                assert url.startswith(f"{issuer.place.origin}/authorize?")
                assert one.someone.lines == [f"sign in at {url}"]
                assert message.startswith("127.0.0.1 needs you to sign in.")

    played(scene)


@proves("OAUTH-14", "OAUTH-15", "OAUTH-16", "ERR-58")
@pytest.mark.parametrize(
    ("someone", "detail"),
    [
        (Someone(at_hand=False, askable=True, answer=Consent.DECLINED), "declined"),
        (Someone(at_hand=False, askable=False), "no_consent"),
    ],
)
def test_a_client_that_does_not_open_it_is_left_alone_for_a_minute(
    someone: Someone, detail: str, tmp_path: Path
) -> None:
    async def scene() -> None:
        with guarded() as (_, server):
            async with account(server.url, tmp_path, someone) as one:
                expected = [detail, *(["cooldown"] * 2 if detail == "declined" else [detail] * 2)]
                for moment, one_detail in zip((0.0, 1.0, 59.0), expected, strict=True):
                    one.clock.now = moment
                    with pytest.raises(Failed) as failed:
                        await one.meets()
                    assert failed.value.cause is Cause.REAUTHORIZATION_REQUIRED
                    assert failed.value.detail == one_detail
                one.clock.now = 60.0
                with pytest.raises(Failed) as failed:
                    await one.meets()
                assert failed.value.detail == detail
                assert len(someone.questions) == (2 if detail == "declined" else 0)

    played(scene)


@proves("OAUTH-16")
def test_a_failure_through_the_client_starts_the_minute_too(tmp_path: Path) -> None:
    async def scene() -> None:
        with guarded(Behaviour(redirect_error="server_error")) as (_, server):
            async with account(server.url, tmp_path, Someone(at_hand=False, askable=True)) as one:
                with pytest.raises(Failed, match="server_error"):
                    await one.meets()
                with pytest.raises(Failed, match="cooldown"):
                    await one.meets()

    played(scene)
