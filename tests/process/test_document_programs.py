"""What the documents show is what the programs print, and what they have the reader write runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.demo.story import BOOKED
from unit.test_documents import DIAGNOSTICS, LIBRARY, README, SHARED, blocks

pytestmark = pytest.mark.process


def test_the_report_of_a_visit_is_what_it_prints() -> None:
    (documented,) = [block for block in blocks(DIAGNOSTICS, "text") if block.startswith("server ")]
    command = [sys.executable, "-m", "dragoman"]
    words = [*command, "doctor", "--", *command, "demo-server"]
    printed = subprocess.run(words, capture_output=True, timeout=60, check=True).stdout.decode()
    here = documented.replace('"dragoman","demo-server"', f'"{sys.executable}","-m","dragoman","demo-server"')
    here = here.replace("dragoman dragoman demo", f"dragoman {sys.executable} -m dragoman demo")
    time = re.compile(r"after \d+\.\d\d s")
    assert time.sub("after", printed) == time.sub("after", here)


PROGRAMS = blocks(LIBRARY, "python")


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_every_program_of_the_library_page_runs(program: str) -> None:
    runnable = program.replace('"dragoman demo-server"', repr(f"{sys.executable} -m dragoman demo-server"))
    done = subprocess.run([sys.executable, "-W", "error", "-c", runnable], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) == ("print" in program)


def test_the_programs_of_the_documents_are_well_typed(tmp_path: Path) -> None:
    """As pyright judges a user's own code at its strictest."""
    for place, program in enumerate((*PROGRAMS, *blocks(SHARED, "python"))):
        (tmp_path / f"sample_{place}.py").write_text(program)
    setting = {"typeCheckingMode": "strict", "reportMissingModuleSource": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(setting))
    words = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout.decode()


def test_the_excerpt_of_the_demo_is_what_it_prints() -> None:
    (excerpt,) = [block for block in blocks(README, "text") if "book_table" in block]
    words = [sys.executable, "-m", "dragoman", "demo"]
    done = subprocess.run(words, capture_output=True, timeout=60, check=True, env={"PYTHONUTF8": "1", "PATH": ""})
    printed = "\n".join(line.rstrip() for line in done.stdout.decode().splitlines())
    assert excerpt in printed
    assert "Friday" in BOOKED
