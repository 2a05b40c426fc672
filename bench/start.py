"""How much later a client has its server's first answer when the bridge stands between: a server that needs 300 ms.

    python bench/start.py REFERENCE_BENCH [ROUNDS]

REFERENCE_BENCH is the folder of the reference servers. Direct and bridged starts alternate, so that the noise of the
machine falls on both; the medians and their ratio are printed.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

WAIT = 0.3


def first_answer(command: list[str], request: dict[str, object]) -> float:
    """Seconds from the start of `command` to its answer to one request."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, **request}).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            answer += process.stdout.read(1 << 16)
        took = time.perf_counter() - begin
        process.stdin.close()
    assert b'"result"' in answer, answer
    return took


def main() -> None:
    reference, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 11
    slow = f"import time; time.sleep({WAIT}); import runpy, sys; sys.argv = ['x', '--era', 'modern']; "
    script = str(reference / "fast_stdio_server.py")
    slow += f"sys.path.insert(0, {str(reference)!r}); runpy.run_path({script!r}, run_name='__main__')"
    server = [sys.executable, "-S", "-E", "-c", slow]
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    discover: dict[str, object] = {"method": "server/discover", "params": {"_meta": meta}}
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    initialize: dict[str, object] = {"method": "initialize", "params": client}
    bridge = [str(Path(sys.executable).with_name("dragoman")), "--", *server]
    direct: list[float] = []
    bridged: list[float] = []
    for _ in range(rounds):
        direct.append(first_answer(server, discover))
        bridged.append(first_answer(bridge, initialize))
    one, other = statistics.median(direct), statistics.median(bridged)
    print(f"direct {one * 1000:.0f} ms, bridged {other * 1000:.0f} ms, ratio {other / one:.3f} ({rounds} rounds)")


if __name__ == "__main__":
    main()
