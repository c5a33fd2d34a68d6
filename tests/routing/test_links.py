"""Links of a cluster: what a document of them may say, and the times that follow from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hpplan.diagnostics import Place
from hpplan.documents.writer import dump_yaml
from hpplan.errors import InvalidInput
from hpplan.routing.cluster import KEY_ORDER, Cluster, LinkKind, cluster_from_data
from hpplan.routing.link_time import predict
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.verdict import verdict
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

LINKS: dict[str, Any] = {
    "ranks_per_node": 2,
    "within_node": {"bandwidth": 4.0, "latency": 3.0, "shared_by": 1},
    "between_nodes": {"bandwidth": 1.0, "latency": 7.0, "shared_by": 2, "two_way": 0.5},
    "copy": 8.0,
    "copies_at_once": 1,
}
WORKLOAD: dict[str, Any] = {
    "feature_width": 8,
    "sequence": {"length": 32, "cp_layout": "zigzag"},
    "items": [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
        {"item_id": 1, "batch_index": 0, "decoder_token_start": 20, "output_rows": 8},
    ],
    "buckets": [[0], [1], [], []],
}


def table(mesh: str = "cp=2,tp=2,sp", **fields: Any) -> RoutingTable:  # noqa: ANN401
    """Plan the first worked case: 10 rows go from rank 0 to 2, and 8 from 1 to 3; all are kept too."""
    return plan_routes(parse_mesh(mesh), load_workload({**WORKLOAD, **fields}, Place("w")))


def test_a_document_of_links_comes_back_as_it_was() -> None:
    """A figure is lost between reading and writing."""
    cluster = cluster_from_data(LINKS)
    assert cluster == Cluster(2, LinkKind(4.0, 3.0), 8.0, LinkKind(1.0, 7.0, 2, 0.5), 1, place=cluster.place)
    assert cluster.to_data() == LINKS
    assert dump_yaml(cluster.to_data(), KEY_ORDER).startswith("ranks_per_node: 2\n")


@pytest.mark.parametrize(
    ("changed", "code", "path"),
    [
        ({"ranks_per_node": 0}, "HP521", ("ranks_per_node",)),
        ({"copy": float("inf")}, "HP521", ("copy",)),
        ({"copy": "fast"}, "HP521", ("copy",)),
        ({"within_node": {"latency": 3}}, "HP521", ("within_node",)),
        ({"within_node": {"bandwidth": 0}}, "HP521", ("within_node", "bandwidth")),
        ({"between_nodes": None}, "HP521", ("between_nodes",)),
        ({"between_nodes": {"bandwidth": 1, "latency": -1}}, "HP521", ("between_nodes", "latency")),
    ],
)
def test_what_is_wrong_with_links_is_told(changed: dict[str, Any], code: str, path: tuple[str, ...]) -> None:
    """Times are predicted from a figure that is none."""
    with pytest.raises(InvalidInput) as caught:
        cluster_from_data({**LINKS, **changed})
    assert [(one.code.id, one.place.path) for one in caught.value.diagnostics] == [(code, path)]


def test_the_time_of_the_first_case() -> None:
    """The time that is predicted is not that of the formula, worked out by hand.

    Ranks 0 and 1 send 160 and 128 bytes to the other node over one link, and keep as much; ranks 2 and 3
    send nothing, so that nothing goes the other way. Each rank has one peer in its node and two out of it.
    One rank at a time copies: 288 bytes to send, and 288 to keep. Backward, a row's two gradients are added
    up in its place: of 576 bytes that arrive, each is read, and so is the sum, which is written, and 288
    bytes of sums are cleared.
    """
    forward, backward = predict(table(), cluster_from_data(LINKS))
    begin, link = 3e-6 + 2 * 7e-6, 288e-9
    assert forward == pytest.approx(begin + link + 576 / 8e9)
    assert backward == pytest.approx(begin + link + (576 * 3 + 288) / 2 / 8e9)


def test_what_goes_the_other_way_holds_up_a_link() -> None:
    """A link that does one thing at a time is taken to do two."""
    both = [[0], [], [1], []]
    ways = table(buckets=both, destinations={"0": [2], "1": [0]})
    forward, backward = predict(ways, cluster_from_data(LINKS))
    # 160 bytes one way and 128 the other, half of which counts; each rank has all of its rows in order.
    assert forward == backward == pytest.approx(17e-6 + (160 + 64) * 1e-9)


def test_an_unknown_field_of_links_is_a_warning() -> None:
    """A misspelt field changes nothing, and nobody is told."""
    found = cluster_from_data({**LINKS, "rank_per_node": 4}).warnings
    assert [(one.code.name, one.hint) for one in found] == [
        ("unknown-links-field", "did you mean `ranks_per_node`?")
    ]


def test_links_must_reach_all_ranks() -> None:
    """HP523: what leaves a node is taken to cost nothing."""
    one_node = {name: value for name, value in LINKS.items() if name != "between_nodes"}
    with pytest.raises(InvalidInput) as caught:
        predict(table(), cluster_from_data(one_node))
    assert [one.code.name for one in caught.value.diagnostics] == ["no-link-between-nodes"]


def test_the_command_predicts(hpplan: Runner, tmp_path: Path) -> None:
    """The time is in no format, or the table that has it is refused."""
    links, workload, routes = (tmp_path / name for name in ("links.yaml", "w.yaml", "r.json"))
    links.write_text(dump_yaml(LINKS), encoding="utf-8")
    workload.write_text(dump_yaml(WORKLOAD), encoding="utf-8")
    arguments = ("route", str(workload), "--mesh", "cp=2,tp=2,sp", "--links", str(links))
    shown = hpplan(*arguments)
    assert shown.status == 0
    assert "predicted time" in shown.stdout
    assert hpplan(*arguments, "-o", str(routes)).status == 0
    found = json.loads(routes.read_text(encoding="utf-8"))["traffic"]
    assert (found["predicted_forward_seconds"], found["predicted_backward_seconds"]) == pytest.approx(
        predict(table(), cluster_from_data(LINKS))
    )
    assert hpplan("validate", str(routes), str(links)).status == 0
    changed = json.loads(routes.read_text(encoding="utf-8"))
    changed["traffic"]["predicted_forward_seconds"] *= 2
    routes.write_text(json.dumps(changed), encoding="utf-8")
    assert "routes-differ" in hpplan("validate", str(routes)).stdout
    refused = hpplan(*arguments, "--bandwidth", "25")
    assert (refused.status, "leave out --bandwidth" in refused.stderr) == (2, True)


def test_statistics_have_the_time_there_and_back(hpplan: Runner, tmp_path: Path) -> None:
    """Micro-batches are compared without what links say."""
    links, batches = tmp_path / "links.yaml", tmp_path / "b.yaml"
    links.write_text(dump_yaml(LINKS), encoding="utf-8")
    one = {name: value for name, value in WORKLOAD.items() if name != "buckets"}
    batches.write_text(dump_yaml({"micro_batches": [one, one]}), encoding="utf-8")
    found = hpplan("route", str(batches), "--mesh", "cp=2,tp=2", "--links", str(links), "--format", "json")
    policies = json.loads(found.stdout)["policies"]
    assert policies["lpt"]["predicted_forward_seconds"]["median"] > 0
    assert policies["lpt"]["predicted_backward_seconds"]["median"] > 0
    assert json.loads(found.stdout)["links"] == LINKS


def test_changes_are_priced_in_seconds() -> None:
    """The verdict names a change by bytes where it knows the time."""
    cluster = cluster_from_data(LINKS)
    one = table(feature_width=8192)
    found = verdict(one, Traffic(one, cluster))
    assert found.price.seconds == pytest.approx(sum(predict(one, cluster)))
    assert found.change is not None
    assert found.change.option == "--granularity row"
    row = plan_routes(one.mesh, one.workload, "row")
    assert found.change.price.seconds == pytest.approx(sum(predict(row, cluster)))
