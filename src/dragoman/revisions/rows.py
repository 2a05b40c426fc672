"""The index of every row, and the steps in their order."""

from dragoman.revisions import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28
from dragoman.revisions.hop import HOP
from dragoman.revisions.step import Row, Step

STEPS: tuple[Step, ...] = (
    v2024_11_05.STEP,
    v2025_03_26.STEP,
    v2025_06_18.STEP,
    v2025_11_25.STEP,
    v2026_07_28.STEP,
)

ROWS: dict[str, Row] = {row.id: row for rows in (HOP, *(step.rows for step in STEPS)) for row in rows}
