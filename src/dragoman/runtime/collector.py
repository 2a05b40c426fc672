"""How often Python's collector of cycles looks at this process; a library leaves that to its host."""

import gc

ALLOCATIONS = 10_000
"""New objects between two looks. A request makes some hundreds that are soon gone, so the standard 700 finds little."""


def spare() -> None:
    """Have the collector look less often, and never again at what is loaded now. For a process of our own."""
    gc.freeze()
    gc.set_threshold(ALLOCATIONS)
