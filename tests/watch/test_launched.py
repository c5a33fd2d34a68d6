"""What a launcher told a process: what is its own to remove, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hpplan.watch.launched import job_from

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("name", "stays"), [("hpplan-launch-x1", False), ("scratch", True)])
def test_only_the_folder_of_a_launcher_is_removed(tmp_path: Path, name: str, stays: bool) -> None:
    """Whoever sets the variables by hand would lose the folder that they meet in."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "data").write_text("mine", encoding="utf-8")
    job = job_from({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "HPPLAN_STORE": str(folder / "store")})
    assert job is not None
    job.remove_meeting_place()
    assert (folder / "data").exists() is stays
    assert len(list(tmp_path.iterdir())) == stays


def test_a_job_that_meets_elsewhere_has_no_folder() -> None:
    """A launcher's process id alone, left over from another run, is no folder to remove."""
    job = job_from(
        {
            "RANK": "0",
            "WORLD_SIZE": "1",
            "LOCAL_RANK": "0",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "1",
            "HPPLAN_LAUNCHER": "1",
        }
    )
    assert job is not None
    job.remove_meeting_place()
