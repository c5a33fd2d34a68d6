"""The matrix of who sends to whom, in text."""

from __future__ import annotations

import pytest
from route_views import view_of

from hpplan.reports.route.matrix import MOST_BLOCKS, shaded_matrix
from hpplan.reports.terminal.screen import Screen


def test_blocks_of_replicas_are_told_apart() -> None:
    """Two replicas with a CP group 0 each have one line, or rows of one are shown at the other."""
    # Chunks of 16 tokens: CP rank 0 has the first and the last, CP rank 1 the two between; rank 0 of each
    # parent encodes, and each of 16 TP ranks gets a copy.
    own = [(0, 8), (16, 4)]
    replicas = [
        {"items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": token, "output_rows": rows}]}
        for token, rows in own
    ]
    view = view_of("dp=2,cp=2,tp=16", [], 64, replicas=replicas)
    assert shaded_matrix(view, Screen()) == (
        "Rows from CP group (line) to CP group (column), numbered replica.cp\n"
        "       0.0    0.1    1.0    1.1\n"
        "0.0  █ 128      0      0      0\n"
        "0.1      0      0      0      0\n"
        "1.0      0      0      0   ▒ 64\n"
        "1.1      0      0      0      0\n"
        "blank: none, ░ up to 32, ▒ up to 64, ▓ up to 96, █ up to 128\n"
    )


@pytest.mark.parametrize(
    ("mesh", "per_node", "title"),
    [
        ("dp=2,cp=2,tp=32", 8, "Rows from node (line) to node (column) of one of 2 replicas, all alike"),
        ("cp=64,tp=8,sp", 8, "Rows from block of CP groups (line) to block of CP groups (column)"),
        ("dp=2,cp=32", None, "Rows from rank (line) to rank (column) of one of 2 replicas, all alike"),
        ("tp=64,sp", None, "Rows from block of ranks (line) to block of ranks (column)"),
    ],
)
def test_a_large_matrix_is_folded(mesh: str, per_node: int | None, title: str) -> None:
    """A matrix of 512 lines scrolls by, or does not say what its lines are."""
    view = view_of(mesh, [(0, 0, 300)], 1024, ranks_per_node=per_node)
    text = shaded_matrix(view, Screen())
    assert text.splitlines()[0] == title
    assert len(text.splitlines()) <= MOST_BLOCKS + 8
    assert max(map(len, shaded_matrix(view, Screen(80)).splitlines())) <= 80
