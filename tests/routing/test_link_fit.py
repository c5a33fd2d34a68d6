"""Links from measured times: a cluster that is known is found again from times that it would have."""

from __future__ import annotations

import random

import pytest

from hpplan.routing.cluster import Cluster, LinkKind
from hpplan.routing.link_fit import Timed, between_nodes, fitted, least_squares, table_of, within_node
from hpplan.routing.link_time import predict

MIB = 1 << 20

ONE_NODE = Cluster(4, LinkKind(5.0, 800.0, 4), 12.0, copies_at_once=2)
OWN_LINKS = Cluster(4, LinkKind(200.0, 10.0), 900.0, LinkKind(40.0, 20.0))
SLOW_CORES = Cluster(4, LinkKind(5.5, 900.0, 4, 0.0, 3.2), 20.0, copies_at_once=2)
SHARED = Cluster(2, LinkKind(3.0, 500.0, 2), 8.0, LinkKind(0.12, 100.0, 2, 0.25))


def timed(cluster: Cluster, mesh: str, patterns: object, noise: float) -> list[Timed]:
    """Return the times that a cluster would have, each off by a little."""
    draw = random.Random(1)  # noqa: S311 - noise
    assert isinstance(patterns, dict)
    tables = [
        table_of(mesh, one, size, "bfloat16")
        for one in patterns.values()
        for size in (16 * MIB, 4 * MIB, MIB)
    ]
    return [
        Timed(table, *(seconds * draw.uniform(1 - noise, 1 + noise) for seconds in predict(table, cluster)))
        for table in tables
    ]


@pytest.mark.parametrize("cluster", [ONE_NODE, SLOW_CORES, OWN_LINKS, SHARED])
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_a_known_cluster_is_found_again(cluster: Cluster, noise: float) -> None:
    """Links that are shared are taken for links of their own, or bandwidth for latency."""
    ranks, nodes = cluster.ranks_per_node, 1 if cluster.between_nodes is None else 2
    near = timed(cluster, f"dp={nodes},cp={ranks}", within_node(ranks), noise)
    far = timed(cluster, f"cp={nodes * ranks}", between_nodes(nodes, ranks), noise) if nodes > 1 else []
    found = fitted(near, far, ranks)
    assert found.within_node.shared_by == cluster.within_node.shared_by
    assert found.copies_at_once == cluster.copies_at_once
    assert found.within_node.bandwidth == pytest.approx(cluster.within_node.bandwidth, rel=0.001 + 4 * noise)
    if cluster.between_nodes is not None:
        assert found.between_nodes is not None
        assert found.between_nodes.shared_by == cluster.between_nodes.shared_by
        assert found.between_nodes.bandwidth == pytest.approx(
            cluster.between_nodes.bandwidth, rel=0.001 + 4 * noise
        )
        assert found.between_nodes.two_way == pytest.approx(cluster.between_nodes.two_way, abs=0.01 + noise)
    for one in near + far:
        assert predict(one.table, found) == pytest.approx(predict(one.table, cluster), rel=0.001 + 4 * noise)


def test_no_factor_is_below_zero() -> None:
    """A latency of less than nothing, because larger exchanges were a little slower than linear."""
    factors = least_squares([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]], [1.0, 3.0, 7.0], [1.0, 1.0, 1.0])
    assert factors == pytest.approx([0.0, 35 / 21])


def test_a_node_of_one_rank_has_no_link_within() -> None:
    """Times of one rank's copies are divided by nothing."""
    cluster = Cluster(1, LinkKind(9.0, 5.0), 9.0, LinkKind(1.0, 50.0))
    near = timed(cluster, "dp=2,cp=1", within_node(1), 0.0)
    far = timed(cluster, "cp=2", between_nodes(2, 1), 0.0)
    found = fitted(near, far, 1)
    assert found.between_nodes is not None
    assert found.between_nodes.bandwidth == pytest.approx(1.0, rel=0.01)
