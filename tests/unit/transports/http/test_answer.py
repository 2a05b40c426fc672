"""What a message is to the request in whose response it came, and how a loss is told."""

import pytest

from dragoman.faults import Cause
from dragoman.transports.http.answer import Sort, said
from dragoman.transports.http.loss import cut, invalid, refused
from support.proofs import proves


@pytest.mark.parametrize(
    ("data", "sort"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{}}', Sort.ANSWER),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}', Sort.ANSWER),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}', Sort.ANSWER),
        (b'{"jsonrpc":"2.0","error":{"code":1,"message":""}}', Sort.ANSWER),
        (b'{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":""}}', Sort.FOREIGN),
        (b'{"jsonrpc":"2.0","id":"7","result":{}}', Sort.FOREIGN),
        (b'{"jsonrpc":"2.0","result":{}}', Sort.FOREIGN),
        (b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}', Sort.MESSAGE),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"}', Sort.MESSAGE),
        (b'{"jsonrpc":"2.0","id":7}', Sort.BROKEN),
        (b'[{"jsonrpc":"2.0","id":7,"result":{}}]', Sort.BROKEN),
        (b"<html>", Sort.BROKEN),
        (b"", Sort.BROKEN),
        (b'"text"', Sort.BROKEN),
        (b'{"id":7,"result":', Sort.BROKEN),
        (b'{"id":8,"result":', Sort.FOREIGN),
        (b'{"id":7,"result":{"a":"line\nend"}}', Sort.BROKEN),
        (b'{"id":7,"result":{"a":"\xff"}}', Sort.BROKEN),
    ],
)
def test_the_sort_of_a_message(data: bytes, sort: Sort) -> None:
    assert said(data, b"7").sort is sort


@proves("B128")
def test_an_answer_leaves_as_one_line() -> None:
    pretty = b'\xef\xbb\xbf{\r\n  "id": 7,\n  "result": {\n    "a": "\\n"\n  }\n}\n'
    assert said(pretty, b"7").line == b'{    "id": 7,   "result": {     "a": "\\n"   } }'


def test_an_error_without_an_id_is_given_that_of_its_request() -> None:
    answer = said(b'{"error":{"code":-32000,"message":"m","data":1.0}}', b"7")
    assert answer.line == b'{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"m","data":1.0}}'
    assert answer.code == -32000
    assert said(b'{"id":7,"error":"text"}', b"7").code is None
    assert said(b'{"id":7,"error":{"code":"text"}}', b"7").code is None


@proves("LOSS-05", "LOSS-07")
@pytest.mark.parametrize(
    ("status", "again"),
    [
        *((status, True) for status in (408, 429, 500, 502, 503, 504, 599)),
        *((status, False) for status in (200, 202, 301, 307, 400, 401, 403, 404, 405, 409, 410, 501, 600)),
    ],
)
def test_which_status_may_pass(status: int, again: bool) -> None:
    loss = refused(status)
    assert (loss.status, loss.kind, loss.may_retry) == (status, Cause.TRANSPORT_FAILED, again)
    assert loss.detail == f"HTTP status {status}"


@proves("HTTP-10", "ERR-07", "B122")
def test_a_loss_names_the_status_when_there_is_one() -> None:
    assert invalid(200, "why").detail == "HTTP status 200: why"
    assert not invalid(200, "why").may_retry
    assert cut(None, "why").detail == "why"
    assert cut(200, "why").detail == "HTTP status 200: why"
    assert cut(None, "why").may_retry
