"""Conversations with mutations, and as many requests to a listener: `run.py [INPUTS [SEED [FIRST]]]`.

A failure of a conversation is printed with the command that plays it once more. Exit code 1 on a failure.
"""

import random
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz import requests
from fuzz.played import Broken, play

INPUTS = 200_000
MOST = 5  # failures that are shown


def main(inputs: str = str(INPUTS), seed: str = "", first: str = "0") -> int:
    seed = seed or f"{time.time_ns():x}"
    print(f"seed {seed}, {inputs} inputs of each kind", flush=True)
    start, end, failed = int(first), int(first) + int(inputs), 0
    for number in range(start, end):
        try:
            play(random.Random(f"{seed}:{number}"))
        except Broken:
            failed += 1
            traceback.print_exc()
            print(f"once more: make fuzz INPUTS=1 SEED={seed} FIRST={number}", flush=True)
        if failed == MOST:
            break
    try:
        requests.play(seed, start, int(inputs))
    except requests.Broken:
        failed += 1
        traceback.print_exc()
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
