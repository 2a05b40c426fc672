"""Which rule is proved by which test, and which areas are finished.

The ids are those of the project's rules (an area and a number) and of the faults that other bridges showed (`B` and a
number). A test, or a state machine that is run as one, names what it proves with `@proves`, a scene of a playbook in
its title. `test_requirements` checks both ways: every must rule of a finished area has a proof, and every id that is
named exists.
"""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
ID = re.compile(r"\b(?:[A-Z]{2,8}-\d\d|B\d{2,3})\b")

MUST = {
    "PROF": "01-11",
    "CLI": "01-09,14-16,20-22,24-25,27,29-32",
    "EXIT": "01-07",
    "LOGL": "01-02,04",
    "LIFE": "01-28",
    "INIT": "01-16",
    "CAP": "01-08",
    "IRES": "01-09",
    "FWD": "01-09",
    "TIME": "01-09",
    "FLIGHT": "01-04",
    "SIZE": "01-06",
    "RES": "01-15",
    "ITEMS": "01-13",
    "ICON": "01-07",
    "PROG": "01-08",
    "CANC": "01-09",
    "ERR": "01-20,22-59",
    "LINE": "01-10",
    "ROUND": "01-11",
    "CHK": "01-15",
    "URLR": "01-05",
    "QUES": "01-04",
    "ANS": "01-09",
    "CONT": "01-08",
    "ELID": "01-07",
    "STATE": "01-06",
    "PEND": "01-10",
    "LISTEN": "01-04",
    "EVENT": "01-08",
    "GAP": "01-06",
    "LOSS": "01-09",
    "CHANGE": "01-09",
    "ORDER": "01-07",
    "LOG": "01-07",
    "META": "01-08",
    "EMB": "01-14",
    "DISC": "01-05",
    "PATH": "01-08",
    "EOI": "01-06",
    "HTTP": "01-06,09-11",
    "OAUTH": "01-04,06-30,32,34-36",
    "STORE": "01-04,07,09",
    "OUT": "01,03-04",
    "SDKMSG": "01-04,06",
    "SDKMETA": "01-05,07",
    "SDKRES": "01-04",
    "SDKMRTR": "01-06",
    "SEAL": "01-06",
    "SDKSUB": "01-05",
    "SDKCXL": "01-05",
    "SDKTIME": "01-06",
    "SDKPROG": "01-03",
    "SDKCACHE": "01-05",
    "TSTDIO": "01-03",
    "THTTP": "01-04",
    "TGRPC": "01-03",
    "TUNIX": "01-03",
    "TWS": "01-03",
    "REV": "01-13",
    "NEG": "01-08",
    "LOSSY": "01-09",
    "CHECK": "01-07",
    "BCLI": "01-07",
    "XP": "01-03,05-06",
    "QA": "01-04",
}

SHOULD = {
    "PROF": "12",
    "CLI": "10-13,17-19,23,26,28",
    "EXIT": "08-09",
    "LOGL": "03,05-06",
    "INIT": "17",
    "IRES": "10",
    "FLIGHT": "05",
    "ERR": "21",
    "CHK": "16",
    "URLR": "06-07",
    "LOSS": "10",
    "META": "09",
    "HTTP": "07-08,12",
    "OAUTH": "05,31,33",
    "STORE": "05-06,08,10",
    "OUT": "02,05-06",
    "SDKMSG": "05",
    "SDKMETA": "06",
    "SEAL": "07-08",
    "SDKSUB": "06",
    "SDKTIME": "07",
    "SDKCACHE": "06-07",
    "TSTDIO": "04-06",
    "THTTP": "05-06",
    "TGRPC": "04-05",
    "TUNIX": "04-05",
    "TWS": "04-05",
    "REV": "14-16",
    "NEG": "09",
    "LOSSY": "10",
    "BCLI": "08",
    "XP": "04,07-08",
    "QA": "05-07",
}

# fmt: off
FAULTS = (
    "01,03,05,07,09,11-14,16,18-20,22,24,26-29,32-33,35-36,38-39,41-43,45,47-50,52-53,56-58,60,62,64-69,"
    "71-72,74,76,78,80-82,84-87,89,92-95,97-98,100-102,104,106,108,110-113,115,117-120,122-124,126,"
    "128-129,131,133-134,136-137,139,141,143,145,147-152,154,156,158-160,162-163"
)
# fmt: on

# fmt: off
FINISHED = frozenset({
    "PROF", "CLI", "EXIT", "LOGL", "LIFE", "INIT", "CAP", "IRES", "FWD", "TIME", "FLIGHT", "SIZE", "RES", "ITEMS",
    "ICON", "PROG", "CANC", "ERR", "LINE", "ROUND", "CHK", "URLR", "QUES", "ANS", "CONT", "ELID", "STATE", "PEND",
    "LISTEN", "EVENT", "GAP", "LOSS", "CHANGE", "ORDER", "LOG", "META", "EMB", "DISC", "HTTP", "OAUTH", "STORE",
    "OUT", "SEAL", "TSTDIO", "THTTP", "REV", "NEG", "LOSSY", "CHECK", "BCLI", "QA",
})
# fmt: on
"""The areas of our own servers and clients (SDK…), and of the transports that they alone have, are not."""

ELSEWHERE = {
    "what the code never comes to": "ERR-14 ERR-23 ERR-24 ERR-25 ERR-27",
    "what is no promise": "ORDER-03",
    "the embedded bridge": "ORDER-04 LOG-05 EMB-01 EMB-02 DISC-05",
    "what a client with a handshake may say first, and an answer to every request": "EMB-06 EMB-11 EMB-12 EMB-13",
    "servers and clients of our own": "TSTDIO-01",
    "what a later decision replaced: plain http is allowed by an option": "CLI-32",
}
"""Must rules of finished areas that speak of something the project does not have yet."""


def expanded(area: str, numbers: str) -> set[str]:
    """`03,05-07` of an area as ids."""
    found: set[str] = set()
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        found |= {f"{area}{number:02d}" for number in range(int(first), int(last or first) + 1)}
    return found


def must(areas: frozenset[str] = frozenset(MUST)) -> set[str]:
    return {id for area in areas for id in expanded(f"{area}-", MUST[area])}


def known() -> set[str]:
    """Every id there is."""
    should = {id for area, numbers in SHOULD.items() for id in expanded(f"{area}-", numbers)}
    return must() | should | expanded("B", FAULTS)


def proofs() -> dict[str, list[str]]:
    """For each id that a proof names, the places that name it.

    Raises:
        ValueError: ids stand where nothing is run.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        marks = {id(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_mark(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and _is_run(node):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and _is_mark(mark):
                        marks.discard(id(mark))
                        for name in mark.args:
                            found.setdefault(ast.literal_eval(name), []).append(f"{path.name}::{node.name}")
        if marks:
            raise ValueError(f"{path.name}: ids at what is no test")
    for path in sorted(TESTS.rglob("*.play")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if line.startswith("== "):
                for name in ID.findall(line):
                    found.setdefault(name, []).append(f"{path.name}:{number}")
    return found


def _is_mark(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "proves"


def _is_run(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    if isinstance(node, ast.ClassDef):
        return any(isinstance(base, ast.Name) and base.id == "RuleBasedStateMachine" for base in node.bases)
    return node.name.startswith("test_")
