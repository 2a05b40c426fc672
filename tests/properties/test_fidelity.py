"""Exactness end to end: what no rule touches leaves in the bytes in which it came, in both directions."""

from hypothesis import given, settings
from hypothesis import strategies as st

from support.dialogue import Dialogue
from support.proofs import proves

space = st.sampled_from(["", " ", "\t", "  "])
atoms = st.one_of(
    st.sampled_from(
        ["1.0e0", "1E400", "-0", "-0.0", "1915883588174806058", "18446744073709551616", "0.10000000000000000000000001"]
    ),
    st.sampled_from(
        ['"\\u00e9"', '"\\/"', '"\\ud83d\\ude00"', '"\\u0000"', '"é界"', '"\u2028"', "null", "true", "[]", "{}"]
    ),
    st.integers().map(str),
)


def arrays(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.lists(st.tuples(space, inner, space).map("".join), max_size=3)
    return items.map(lambda parts: f"[{','.join(parts)}]")


def objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(space, st.sampled_from(['"a"', '"a"', '"\\u0062"', '"_meta"', '"task"']), space, inner).map(
        lambda parts: f"{parts[0]}{parts[1]}{parts[2]}:{parts[3]}"
    )
    return st.lists(member, max_size=3).map(lambda parts: f"{{{','.join(parts)}}}")


values = st.recursive(atoms, lambda inner: arrays(inner) | objects(inner), max_leaves=12)
ids = st.integers().map(str) | st.sampled_from(['"\\u00e9"', '"x\\/y"', '"界"', "123456789012345678901234567890"])


@proves("FWD-07", "RES-14", "META-06", "B14", "B26", "B27", "SDKMSG-02", "REV-09")
@settings(max_examples=200, deadline=None)
@given(ids, values, values, objects(values), values)
def test_values_cross_the_bridge_in_their_own_bytes(id: str, one: str, two: str, arguments: str, kept: str) -> None:
    bridge = Dialogue().open()
    request = (
        f'{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"x-one":{one},"name":"t",'
        f'"arguments":{arguments},"_meta":{{"com.example/k":{kept}}}}}}}'
    )
    bridge.client(request.encode())
    sent = bridge.raw_to_server[-1]
    assert f'"x-one":{one},"name":"t","arguments":{arguments}'.encode() in sent
    assert f'"com.example/k":{kept}'.encode() in sent
    answer = (
        f'{{"jsonrpc":"2.0","result":{{"x-two":{two},"resultType":"complete","content":[],"_meta":{{"a/b":{kept}}}}},'
        f'"id":{bridge.to_server[-1]["id"]}}}'
    )
    bridge.server(answer.encode())
    assert bridge.raw_to_client[-1] == (
        f'{{"jsonrpc":"2.0","id":{id},"result":{{"x-two":{two},"content":[],"_meta":{{"a/b":{kept}}}}}}}'.encode()
    )
