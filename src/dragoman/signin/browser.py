"""Opening the user's web browser: a command without a shell, with one URL and with no secret of ours (OAUTH-21, 22)."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping

PATIENCE = 5.0
"""Seconds after which an opener that still runs is taken to have opened."""

LOOK = 0.05

_LEFT: list[subprocess.Popen[bytes]] = []
"""Openers that are the browser itself, and outlive the sign-in."""

OPENERS = {
    "darwin": (("open",),),
    "win32": (("rundll32", "url.dll,FileProtocolHandler"),),
}
ELSEWHERE = (("xdg-open",), ("gio", "open"), ("wslview",))


class NotOpened(Exception):
    """No browser could be opened; the text says why, without the URL."""


async def open_url(url: str, environment: Mapping[str, str], secrets: Collection[str]) -> None:
    """Open `url`. `secrets` are the names of the variables that hold one.

    Raises:
        NotOpened: there is no opener, or it failed.
    """
    own = {name: value for name, value in environment.items() if name not in secrets}
    for words in _openers(environment):
        found = shutil.which(words[0], path=environment.get("PATH"))
        if found is None:
            continue
        await _run((found, *words[1:], url), own)
        return
    raise NotOpened("there is no program that opens a browser")


def _openers(environment: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """`BROWSER` names programs, the first of which that exists is taken; else the opener of the system."""
    named = tuple((name,) for name in environment.get("BROWSER", "").split(os.pathsep) if name)
    return named or OPENERS.get(sys.platform, ELSEWHERE)


async def _run(words: tuple[str, ...], environment: Mapping[str, str]) -> None:
    nowhere = subprocess.DEVNULL
    try:
        process = subprocess.Popen(  # noqa: ASYNC220 - asyncio's would end the browser with the loop
            words, stdin=nowhere, stdout=nowhere, stderr=nowhere, env=environment, start_new_session=True
        )
    except OSError as error:
        raise NotOpened(f"the program that opens it cannot be started: {error.strerror}") from None
    for _ in range(round(PATIENCE / LOOK)):
        code = process.poll()
        if code is not None:
            break
        await asyncio.sleep(LOOK)
    else:
        _LEFT.append(process)
        return
    if code != 0:
        raise NotOpened(f"the program that opens it ended with code {code}")
