"""What the response to a POST becomes: one object, or a stream of events."""

import asyncio

import pytest

from dragoman.transports.http.server.exchange import Exchange, Form
from dragoman.transports.http.server.stream import Stream
from support.listener import scene, settle
from support.proofs import proves


def exchange(wants: int = 1, *, events: bool = True, is_batch: bool = False) -> Exchange:
    return Exchange(5, wants, 0.0, (lambda lane: Stream(b"s-%d" % lane, 100, 100)) if events else None, is_batch)


def frames(one: Exchange) -> int:
    assert one.stream is not None
    return one.stream.taken().count(b"event: message")


@proves("THTTP-03")
@scene
async def test_an_answer_that_comes_first_is_one_object() -> None:
    one = exchange()
    form = asyncio.ensure_future(one.form())
    await settle()
    one.answer(b"{}", 404)
    assert await form is Form.JSON
    assert (one.taken(), one.status, one.is_over) == (b"{}", 404, True)
    one.grow_old()
    assert one.stream is None


@proves("THTTP-03")
@scene
async def test_anything_that_comes_before_the_answer_makes_a_stream() -> None:
    one = exchange()
    assert one.tell(b"{}")
    assert await one.form() is Form.STREAM
    one.answer(b"[]", 404)
    assert frames(one) == 2
    assert one.stream is not None
    assert one.stream.finished
    assert one.status == 200


@scene
async def test_an_exchange_that_grows_old_is_a_stream() -> None:
    one = exchange()
    one.grow_old()
    one.grow_old()
    assert await one.form() is Form.STREAM
    one.drop()
    assert one.stream is not None
    assert one.stream.finished


@scene
async def test_a_client_that_takes_no_events_waits_for_its_answer() -> None:
    one = exchange(events=False)
    form = asyncio.ensure_future(one.form())
    await settle()
    assert not one.tell(b"{}")
    one.grow_old()
    assert await form is Form.SLOW
    over = asyncio.ensure_future(one.over())
    await settle()
    assert not over.done()
    one.answer(b"{}")
    await over
    assert one.taken() == b"{}"


@pytest.mark.parametrize("events", [True, False])
@scene
async def test_what_is_taken_back_has_no_body(events: bool) -> None:
    one = exchange(events=events)
    one.drop()
    assert one.is_over
    if events:
        assert await one.form() is Form.STREAM
    else:
        assert await one.form() is Form.JSON
        assert one.taken() == b""


@scene
async def test_a_batch_is_an_array_and_one_bad_entry_does_not_spoil_it() -> None:
    one = exchange(4, is_batch=True)
    one.answer(b"1")
    one.answer(b"2", 400)
    one.expect(1)
    assert not one.is_over
    one.answer(b"3")
    assert await one.form() is Form.JSON
    assert (one.taken(), one.status) == (b"[1,2,3]", 200)


@scene
async def test_a_batch_that_grows_old_gives_what_it_has() -> None:
    one = exchange(3, is_batch=True)
    one.answer(b"1")
    one.expect(1)
    one.grow_old()
    assert frames(one) == 1
    one.answer(b"2")
    assert frames(one) == 1
    assert one.is_over


def test_a_batch_without_requests_has_no_answer() -> None:
    one = exchange(3, is_batch=True)
    one.expect(0)
    assert (one.has_requests, one.is_over, one.taken()) == (False, True, b"")
