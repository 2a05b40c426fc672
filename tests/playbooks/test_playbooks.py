"""Every scene of every playbook in this folder; the titles name the rules that a scene proves."""

from pathlib import Path

import pytest

from support.playbook import Scene, play, scenes

SCENES = [scene for path in sorted(Path(__file__).parent.glob("*.play")) for scene in scenes(path)]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: f"{scene.place} {scene.title}")
def test_scene(scene: Scene) -> None:
    play(scene)
