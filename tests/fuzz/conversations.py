"""Valid conversations of all revisions: those of the playbooks, as steps that can be played in any order."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.playbook import Scene, scenes

PLAYBOOKS = Path(__file__).resolve().parents[1] / "playbooks"


@dataclass(frozen=True)
class Step:
    """`mark` is that of a playbook: who says `text`, or what happens."""

    mark: str
    text: str


@cache
def corpus() -> tuple[tuple[Scene, tuple[Step, ...]], ...]:
    """Every scene with its steps; what it expects is there too, as it binds names."""
    found = [scene for path in sorted(PLAYBOOKS.glob("*.play")) for scene in scenes(path)]
    return tuple((scene, tuple(Step(mark, text) for _, mark, text in scene.lines)) for scene in found)
