"""Workloads in which much may be wrong, apart from their shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

JUNK: list[Any] = [None, True, -1, 0, 3, 2**60, "x", "3", 1.5, [], [1], ["x"], [[0]], {}, {"x": 1}]
"""What a fault may put anywhere."""

MESHES = (None, "cp=4", "dp=2,tp=2", "cp=2,tp=2,sp", "dp=2,cp=2,tp=2,sp")


def random_workload(random: Random) -> dict[str, Any]:
    """Return a workload whose items, buckets, documents and replicas need not fit each other or a mesh."""
    workload: dict[str, Any] = {"sequence": _sequence(random)}
    scalars: dict[str, tuple[object, ...]] = {
        "feature_width": (1, 4),
        "payloads": (1, 4),
        "encoder_cp_size": (1, 2, 3),
        "encoder_pool": (1, 2, 3, "all"),
    }
    for name, values in scalars.items():
        if random.random() < 0.3:
            workload[name] = random.choice(values)
    if random.random() < 0.3:
        workload["replicas"] = [_batch(random) for _ in range(random.randint(0, 2))]
        for replica in workload["replicas"]:
            if random.random() < 0.3:
                replica["documents"] = random.choice([[16, 16], [8, 8], [15, 17], []])
        if random.random() < 0.1:
            workload["buckets"] = []
    else:
        workload.update(_batch(random))
    return {"micro_batches": [workload]} if random.random() < 0.1 else workload


def _sequence(random: Random) -> dict[str, Any]:
    sequence: dict[str, Any] = {"length": random.choice([16, 32, 33])}
    if random.random() < 0.4:
        sequence["cp_layout"] = random.choice(["zigzag", "contiguous"])
    if random.random() < 0.3:
        sequence["documents"] = random.choice([[16, 16], [8, 8], [15, 17], [3, 30]])
    if random.random() < 0.2:
        sequence["pad"] = random.random() < 0.5
    return sequence


def _batch(random: Random) -> dict[str, Any]:
    count = random.randint(0, 4)
    batch: dict[str, Any] = {"items": [_item(random, number) for number in range(count)]}
    if random.random() < 0.5:
        buckets = random.choice([1, 2, 4, 4])
        batch["buckets"] = [_numbers(random, count, 2) for _ in range(buckets)]
    if random.random() < 0.3:
        items = random.sample(range(5), k=random.randint(0, 2))
        batch["destinations"] = {str(item): _numbers(random, 5, 3) for item in items}
    return batch


def _item(random: Random, number: int) -> dict[str, Any]:
    item: dict[str, Any] = {
        "item_id": number if random.random() < 0.9 else random.randint(0, 3),
        "batch_index": random.randint(0, 1),
        "output_rows": random.randint(1, 6),
    }
    if random.random() < 0.3:
        item["input_rows"] = random.randint(1, 9)
    if random.random() < 0.7:
        item["decoder_token_start"] = random.randint(0, 30)
    if random.random() < 0.3:
        item["spans"] = [
            {"token_start": random.randint(0, 30), "rows": random.randint(1, 4)}
            for _ in range(random.randint(0, 2))
        ]
    return item


def _numbers(random: Random, largest: int, most: int) -> list[int]:
    return [random.randint(0, largest) for _ in range(random.randint(0, most))]
