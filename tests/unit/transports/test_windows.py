"""What can be known about Windows without one: look-up, quoting, and the job's calls in their order."""

import subprocess
from typing import Any, cast

import pytest

from dragoman.transports import windows
from support.proofs import proves

ENVIRONMENT = {"PATH": r"C:\a;C:\node", "PATHEXT": ".COM;.EXE;.CMD"}


@proves("B64")
@pytest.mark.parametrize(
    ("command", "files", "found"),
    [
        ("npx", {r"C:\node\npx.CMD"}, r"C:\node\npx.CMD"),
        ("npx", {r"C:\node\npx"}, None),
        ("tool.exe", {r"C:\a\tool.exe"}, r"C:\a\tool.exe"),
        ("tool", {r"C:\a\tool.CMD", r"C:\node\tool.EXE"}, r"C:\a\tool.CMD"),
        ("tool", {r"C:\a\tool.CMD", r"C:\a\tool.EXE"}, r"C:\a\tool.EXE"),
        (r"C:\x\my server.exe", {r"C:\x\my server.exe"}, r"C:\x\my server.exe"),
        (r".\server", {r".\server.EXE"}, r".\server.EXE"),
        ("missing", {"other"}, None),
    ],
)
def test_a_command_is_looked_up_with_the_endings_of_programs(command: str, files: set[str], found: str | None) -> None:
    assert windows.resolve(command, ENVIRONMENT, files.__contains__) == found


@proves("B64")
def test_a_program_gets_the_usual_quoting() -> None:
    line = windows.command_line(r"C:\p.exe", ("a b", 'say "x"', "", "100%"))
    assert line == r'C:\p.exe "a b" "say \"x\"" "" 100%'


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ("plain", '^"plain^"'),
        ("a b", '^"a b^"'),
        ("%PATH%", '^"^%PATH^%^"'),
        ("a&b|c", '^"a^&b^|c^"'),
        ('say "x"', r'^"say \^"x\^"^"'),
    ],
)
def test_an_argument_of_a_script_cannot_speak_to_the_interpreter(argument: str, written: str) -> None:
    line = windows.command_line(r"C:\npx.CMD", (argument,))
    assert line == f'cmd.exe /d /s /c "^"C:\\npx.CMD^" {written}"'


class Kernel:
    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            return 77

        return call


class Process:
    pid = 5
    _handle = 9

    def poll(self) -> int | None:
        return 3


def test_a_job_is_limited_before_the_process_enters_it_and_kills_what_is_left() -> None:
    kernel = Kernel()
    job = windows.Job(cast("subprocess.Popen[bytes]", Process()), kernel)
    job.kill()
    job.release()
    assert [name for name, _ in kernel.calls] == [
        "CreateJobObjectW",
        "SetInformationJobObject",
        "AssignProcessToJobObject",
        "TerminateJobObject",
        "CloseHandle",
    ]
    _, (handle, kind, limits, size) = kernel.calls[1]
    assert (handle, kind, size, len(limits)) == (77, 9, 144, 144)
    assert int.from_bytes(limits[16:20], "little") == windows.KILL_ON_JOB_CLOSE
    assert kernel.calls[2][1] == (77, 9)
    assert job.how_it_ended() == "exited with code 3"
