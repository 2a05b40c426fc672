"""The pages of a sign-in in a real browser: headless Chromium opens the start URL and lands on the redirect page."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from support.authorization import guarded
from support.processes import Bridge, eventually, text_of
from support.proofs import proves
from support.signing_in import KEY, free_port

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPENER = """#!{python}
import subprocess, sys
subprocess.Popen(
    [{chromium!r}, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir={folder}/profile",
     "--virtual-time-budget=5000", "--dump-dom", sys.argv[1]],
    stdout=open({folder!r} + "/page", "wb"), stderr=subprocess.DEVNULL,
)
"""

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (Debian: apt install chromium)"),
]


@proves("OAUTH-24", "OAUTH-25", "OAUTH-30")
def test_a_browser_goes_from_the_start_url_to_the_page_that_says_so(tmp_path: Path) -> None:
    opener = tmp_path / "opener"
    opener.write_text(OPENER.format(python=sys.executable, chromium=CHROMIUM, folder=str(tmp_path)))
    opener.chmod(0o700)
    environment = {**os.environ, "BROWSER": str(opener), "TOKEN_KEY": KEY.hex(), "HOME": str(tmp_path)}
    words = ["--token-store", "file", "--token-key-env", "TOKEN_KEY", "--token-dir", str(tmp_path / "store")]
    with guarded() as (issuer, server):
        with Bridge((), words=[*words, "--redirect-port", str(free_port()), server.url], env=environment) as one:
            one.open()
            assert text_of(one.tool("a")) == "a"
            assert one.end() == 0
            assert b"once more" not in one.stderr  # browsers fetch ahead; the start URL was opened once all the same
        assert issuer.sign_ins == 1
    page = tmp_path / "page"
    assert "Back from the sign-in" in eventually("the page", lambda: page.read_text() if page.exists() else "")
