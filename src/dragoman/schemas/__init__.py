"""The official schemas, one a revision, exactly as published.

Package data, read when something asks for a schema and never before: no call that is not asked for input needs one.
"""

from functools import cache
from importlib.resources import files


@cache
def text(revision_name: str) -> bytes:
    """The schema of a revision.

    Raises:
        FileNotFoundError: no schema of that name ships with the package.
    """
    return files(__name__).joinpath(f"{revision_name}.json").read_bytes()
