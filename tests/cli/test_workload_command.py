"""`hpplan workload`: every option, as people call it."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.reports.workload.text import micro_batches_pieces, workload_pieces
from hpplan.workload.micro_batch import MicroBatch, Rows, WorkloadSettings
from hpplan.workload.micro_batches import MICRO_BATCHES_KEY_ORDER
from hpplan.workload.samples import Sample, SampleItem
from hpplan.workload.shape import KEY_ORDER

if TYPE_CHECKING:
    from conftest import Runner

CAT = {"id": "cat", "input_ids": [1, 9, 9, 9, 9, 2], "image_rows": [4]}
TWO = {"id": "two", "input_ids": [9, 9, 1, 9], "image_rows": [2, 1]}
TEXT = {"id": "text", "input_ids": [1, 2, 3]}
CUSTOM = ("--model", "custom", "--image-id", "9")


@pytest.fixture
def batch(tmp_path: Path) -> str:
    """Return the path of a batch file with three samples."""
    path = tmp_path / "batch.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (CAT, TWO, TEXT)))
    return str(path)


def test_one_workload(hpplan: Runner, batch: str) -> None:
    """Three samples are three batch rows of one workload, on standard output; the count is not."""
    result = hpplan(
        "workload", batch, *CUSTOM, "--feature-width", "64", "--dtype", "float32", "--payloads", "2"
    )
    assert result.status == 0
    assert yaml.safe_load(result.stdout) == {
        "feature_width": 64,
        "dtype": "float32",
        "payloads": 2,
        "encoder_cp_size": 1,
        "sequence": {"length": 6, "cp_layout": "contiguous", "pad": True},
        "items": [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 1, "output_rows": 4},
            {"item_id": 1, "batch_index": 1, "decoder_token_start": 0, "output_rows": 2},
            {"item_id": 2, "batch_index": 1, "decoder_token_start": 3, "output_rows": 1},
        ],
    }
    assert result.stderr == "<stdout>: 1 workload of 3 samples with 3 items and 7 rows\n"


def test_standard_input_and_an_array(hpplan: Runner) -> None:
    """`-` reads samples from a pipe, as lines or as one array."""
    lines = "".join(json.dumps(one) + "\n" for one in (CAT, TWO)).encode()
    array = json.dumps([CAT, TWO], indent=1).encode()
    assert (
        hpplan("workload", "-", *CUSTOM, stdin=lines).stdout
        == hpplan("workload", "-", *CUSTOM, stdin=array).stdout
        != ""
    )


def test_several_files_are_one_stream(hpplan: Runner, batch: str) -> None:
    """Files follow one another as if they were one."""
    found = yaml.safe_load(hpplan("workload", batch, batch, *CUSTOM).stdout)
    assert [item["batch_index"] for item in found["items"]] == [0, 1, 1, 3, 4, 4]


def test_micro_batches_and_formats(hpplan: Runner, batch: str, tmp_path: Path) -> None:
    """Two samples each make two workloads; the format follows the file's name, and both say the same."""
    for name in ("out.yaml", "out.json"):
        result = hpplan("workload", batch, *CUSTOM, "--micro-batch", "2", "-o", str(tmp_path / name))
        assert (result.status, result.stdout) == (0, "")
    as_json = json.loads((tmp_path / "out.json").read_text())
    assert yaml.safe_load((tmp_path / "out.yaml").read_text()) == as_json
    assert [len(one["items"]) for one in as_json["micro_batches"]] == [3, 0]
    assert [one["sequence"]["length"] for one in as_json["micro_batches"]] == [6, 3]


def test_packing_for_a_mesh(hpplan: Runner, batch: str) -> None:
    """Zigzag over cp=2 pads documents to multiples of 4: 8 + 4 + 4 are the 16 tokens of one row."""
    result = hpplan(
        "workload", batch, *CUSTOM, "--pack", "16", "--cp-layout", "zigzag", "--mesh", "cp=2,tp=2,sp"
    )
    found = yaml.safe_load(result.stdout)
    assert found["sequence"]["documents"] == [8, 4, 4]
    assert [item["decoder_token_start"] for item in found["items"]] == [1, 8, 11]
    assert found["buckets"] == [[0], [1], [2], []]


def test_packing_for_replicas(hpplan: Runner, batch: str, tmp_path: Path) -> None:
    """Replicas share packed rows, or the documents of one; or the table does not say what was packed."""
    mesh = ("--mesh", "dp=2,cp=2")
    path = str(tmp_path / "w.yaml")
    packing = ("--pack", "12", "--cp-layout", "zigzag", "--replicas")
    assert hpplan("workload", batch, *CUSTOM, *packing, *mesh, "-o", path).status == 0
    found = yaml.safe_load((tmp_path / "w.yaml").read_text())
    assert "documents" not in found["sequence"]
    assert [one["documents"] for one in found["replicas"]] == [[8, 4], [4, 8]]
    assert [len(one["items"]) for one in found["replicas"]] == [3, 0]
    assert hpplan("route", path, *mesh).status == 0
    single = hpplan("workload", batch, *CUSTOM, "--pack", "16", *packing[2:], *mesh)
    assert [one["items"] for one in yaml.safe_load(single.stdout)["replicas"]][1] == []


def test_packs_route_on_any_mesh(hpplan: Runner, batch: str, tmp_path: Path) -> None:
    """A batch that was packed for no mesh is refused by a mesh that its documents do not divide."""
    path = str(tmp_path / "w.yaml")
    assert hpplan("workload", batch, *CUSTOM, "--pack", "16", "--cp-layout", "zigzag", "-o", path).status == 0
    assert yaml.safe_load((tmp_path / "w.yaml").read_text())["sequence"]["documents"] == [6, 4, 3, 3]
    result = hpplan("route", path, "--mesh", "cp=2")
    assert "20 tokens, padded from 16, zigzag, 4 documents; 10 a rank" in result.stdout


def test_packs_that_padding_makes_longer(hpplan: Runner, tmp_path: Path) -> None:
    """Samples packed to 32 tokens are routed as 56, and nobody says so."""
    batch, packs = str(tmp_path / "batch.jsonl"), str(tmp_path / "packs.yaml")
    lines = [json.dumps({"input_ids": [1] * length}) for length in (5, 9, 11, 4, 14, 6)]
    (tmp_path / "batch.jsonl").write_text("\n".join(lines), encoding="utf-8")
    pack = ("workload", batch, *CUSTOM, "--pack", "32", "--cp-layout", "zigzag", "-o", packs)
    assert "add --mesh, or batch rows may outgrow --pack." in hpplan(*pack).stderr
    # Packed are 5 + 9 + 11 + 4 + 3 and 14 + 6 + 12, and with cp=4 each is a multiple of 8.
    padding = "as zigzag pads each document to a multiple of 8"
    says = f":7:15: HP440 warning: a batch row has 56 tokens and not 32, {padding}"
    many, one = (
        hpplan("route", packs, "--mesh", "cp=4"),
        hpplan("route", packs, "--mesh", "cp=4", "--micro-batch", "0"),
    )
    assert f"{says} (1 more of the kind in these micro-batches)\n" in many.stderr
    assert f"{says}\n" in one.stderr
    assert f"{says} [documents-outgrow-length]\n" in hpplan("validate", packs, "--mesh", "cp=4").stdout
    assert hpplan("route", packs, "--mesh", "cp=4", "--cp-layout", "contiguous").stderr == ""
    assert "Note" not in hpplan(*pack, "--mesh", "cp=4").stderr
    assert "HP440" not in hpplan("route", packs, "--mesh", "cp=4").stderr


HUGE = 99999999999999999999999


@pytest.mark.parametrize("family", ["custom", "qwen2_vl", "qwen3_vl", "internvl", "kimi_vl", "llava_next"])
@pytest.mark.parametrize(
    ("sample", "code"),
    [
        ({"text_tokens": HUGE}, "HP450"),
        ({"text_tokens": [HUGE]}, "HP450"),
        ({"text_tokens": 1, "images": [{"width": HUGE, "height": HUGE}]}, "HP452"),
        ({"text_tokens": 1, "image_rows": [HUGE]}, "HP452"),
        ({"text_tokens": 1, "image_rows": [2**52, 2**52]}, "HP450"),
        ({"text_tokens": 1, "image_grid_thw": [[1, HUGE, HUGE]]}, "HP452"),
        ({"text_tokens": 1, "image_grid_hws": [[2**40, 2**40]]}, "HP452"),
        ({"text_tokens": 1, "num_patches": [2**50]}, "HP452"),
        ({"text_tokens": 1, "videos": [{"width": 224, "height": 224, "frames": 10**9}]}, "HP452"),
        pytest.param(
            {"text_tokens": 1, "videos": [{"width": 224, "height": 224, "frames": 10**5}] * 11},
            "HP452",
            marks=pytest.mark.slow,
        ),
        ({"text_tokens": 1, "video_grid_thw": [[10**9, 4, 4]]}, "HP452"),
        ({"text_tokens": 1, "num_frames": [10**9]}, "HP452"),
    ],
)
def test_samples_beyond_all_bounds(hpplan: Runner, family: str, sample: dict[str, Any], code: str) -> None:
    """A number that no sample has fills the memory, or makes a workload that hpplan itself refuses."""
    options = ("--model", family, *(("--set", "rows=1") if family == "custom" else ()))
    result = hpplan("workload", "-", *options, stdin=json.dumps(sample).encode())
    if result.status == 0:
        # A video is one run in some families, however many frames it has.
        assert hpplan("route", "-", "--mesh", "cp=2", stdin=result.stdout.encode()).status == 0
        return
    assert (result.status, result.stdout) == (1, "")
    assert result.stderr.startswith("<stdin>:1:")
    others = ("takes no videos", f"{family} does not read `")
    assert code in result.stderr or any(words in result.stderr for words in others)


def test_images_that_only_another_family_reads(hpplan: Runner, root: Path) -> None:
    """The wrong --model makes workloads without a single image, and nobody notices."""
    batch = root / "sample_plans/batches/qwen3_vl.jsonl"
    result = hpplan("workload", str(batch), "--model", "internvl")
    assert (result.status, result.stdout) == (1, "")
    assert "internvl does not read `image_grid_thw`" in result.stderr
    assert "internvl does not read `video_grid_thw`" in result.stderr
    ways = "take --model qwen2_vl or qwen2_5_vl or qwen3_vl or kimi_k25; give `num_patches`, or sizes"
    assert ways in result.stderr


@pytest.mark.parametrize(
    ("family", "sample", "status"),
    [
        ("internvl", {"image_grid_thw": [[1, 4, 4]]}, 1),
        ("internvl", {"image_grid_thw": [[1, 4, 4]], "num_frames": [2]}, 1),
        ("internvl", {"image_grid_thw": [[1, 4, 4]], "num_patches": [2]}, 0),
        ("internvl", {"image_grid_thw": [[1, 4, 4]], "images": [{"width": 448, "height": 448}]}, 0),
        ("internvl", {"image_grid_thw": []}, 0),
        ("internvl", {"image_grid_thw": None, "num_tiles": [2]}, 0),
        ("kimi_vl", {"image_grid_hws": [[4, 4]], "video_grid_thw": [[1, 4, 4]]}, 1),
        ("llava_next", {"image_rows": [4]}, 1),
        ("qwen2_5_vl", {"image_grid_thw": [[1, 4, 4]]}, 0),
    ],
)
def test_fields_of_other_families(hpplan: Runner, family: str, sample: dict[str, Any], status: int) -> None:
    """A field of another family is ignored where images are lost with it, or refused where none is."""
    sample = {"text_tokens": 3, **sample}
    result = hpplan("workload", "-", "--model", family, stdin=json.dumps(sample).encode())
    assert result.status == status, result.stderr
    assert ("HP450" in result.stderr) == bool(status)


def test_a_file_without_a_single_record(hpplan: Runner, tmp_path: Path) -> None:
    """A YAML file that is taken for a batch gives a finding for each of its lines."""
    path = tmp_path / "w.yaml"
    path.write_text("sequence:\n  length: 8\nitems:\n- {item_id: 0}\n")
    result = hpplan("workload", str(path), *CUSTOM)
    assert (result.status, result.stdout) == (1, "")
    assert result.stderr.count(str(path)) == 1
    assert "one JSON object a line" in result.stderr


def test_custom_without_ids(hpplan: Runner, batch: str) -> None:
    """Somebody who did not know of the ids is told of one of them, sample after sample."""
    result = hpplan("workload", batch, "--model", "custom")
    assert result.status == 1
    assert "give --image-id and --video-id" in result.stderr


def test_sizes_of_a_custom_family(hpplan: Runner) -> None:
    """The size is named twice, and what to give instead of it is not."""
    sample = {"text_tokens": 3, "images": [{"width": 64, "height": 48}]}
    result = hpplan("workload", "-", "--model", "custom", stdin=json.dumps(sample).encode())
    assert result.status == 1
    assert "image 1, size 64x48: its rows do not follow from its size; " in result.stderr
    assert "give them as `image_rows`, or with --set rows=N" in result.stderr
    assert result.stderr.count("64x48") == 1


def test_encoder_ranks_and_policy(hpplan: Runner, batch: str) -> None:
    """Buckets are filled for so many encoder ranks by the policy that is named."""
    result = hpplan("workload", batch, *CUSTOM, "--encoder-ranks", "2", "--assign", "round-robin")
    assert yaml.safe_load(result.stdout)["buckets"] == [[0, 2], [1]]
    result = hpplan("workload", batch, *CUSTOM, "--encoder-ranks", "4", "--encoder-cp-size", "2")
    assert yaml.safe_load(result.stdout)["buckets"] == [[0], [1, 2]]


def test_replicas(hpplan: Runner, batch: str) -> None:
    """With --replicas each data-parallel replica has samples of its own."""
    result = hpplan("workload", batch, *CUSTOM, "--mesh", "dp=3,cp=2", "--micro-batch", "1", "--replicas")
    found = yaml.safe_load(result.stdout)
    assert [len(one["items"]) for one in found["replicas"]] == [1, 2, 0]
    assert [one["buckets"] for one in found["replicas"]] == [[[0], []], [[1], [2]], [[], []]]


def test_what_it_writes_can_be_routed(hpplan: Runner, batch: str, tmp_path: Path) -> None:
    """The point of it all: `hpplan route` takes the workload as it is, padding included."""
    path = str(tmp_path / "w.yaml")
    hpplan("workload", batch, *CUSTOM, "--cp-layout", "zigzag", "-o", path)
    result = hpplan("route", path, "--mesh", "cp=2,tp=2,sp", "--format", "json")
    assert result.status == 0
    assert sum(map(sum, json.loads(result.stdout)["parents"][0]["matrix"])) > 0


def test_bad_lines_are_all_reported_and_nothing_is_written(hpplan: Runner, tmp_path: Path) -> None:
    """File, line and column of each bad line; the output stays as it was."""
    path, out = tmp_path / "bad.jsonl", tmp_path / "out.yaml"
    out.write_text("old\n")
    path.write_text('{"input_ids": [9], "image_rows": [2]}\n{"a" 1}\n{"input_ids": [1]}\n{}\n')
    result = hpplan("workload", str(path), *CUSTOM, "-o", str(out))
    assert (result.status, result.stdout, out.read_text()) == (1, "", "old\n")
    found = [line.split(" error")[0] for line in result.stderr.splitlines() if "HP" in line]
    assert found == [f"{path}:1:35: HP451", f"{path}:2:6: HP003", f"{path}:4:1: HP450"]


def test_bad_samples_of_an_array(hpplan: Runner) -> None:
    """Positions in an array are those in the file, however many lines it has."""
    result = hpplan("workload", "-", *CUSTOM, stdin=b'[{"input_ids": [1]},\n {"input_ids": []}]')
    assert result.stderr.startswith("<stdin>:2:16: HP450 error: sample 2")


@pytest.mark.parametrize("content", ["", "\n \n", "[]"])
def test_a_file_without_samples(hpplan: Runner, content: str) -> None:
    """An empty file is most often the wrong file."""
    result = hpplan("workload", "-", *CUSTOM, stdin=content.encode())
    assert result.status == 1
    assert "HP454" in result.stderr


def test_sequence_length(hpplan: Runner, batch: str) -> None:
    """A fixed length pads shorter samples and refuses longer ones."""
    found = yaml.safe_load(hpplan("workload", batch, *CUSTOM, "--seq-length", "64", "--no-pad").stdout)
    assert found["sequence"] == {"length": 64, "cp_layout": "contiguous"}
    result = hpplan("workload", batch, *CUSTOM, "--seq-length", "5")
    assert result.status == 1
    assert f"{batch}:1:1: HP453 error: sample 'cat' has 6 tokens, and the sequence 5" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "qwen2vl"], "did you mean 'qwen2_vl'?"),
        ([*CUSTOM, "--set", "row=1"], "did you mean 'rows'?"),
        ([*CUSTOM, "--set", "rows"], "no NAME=VALUE"),
        ([*CUSTOM, "--set", "rows=x"], "no NAME=VALUE"),
        (["--model", "qwen2_vl", "--set", "patch_size=0"], "at least 1, not 0"),
        ([*CUSTOM, "--dtype", "bf16"], "none of bfloat16"),
        ([*CUSTOM, "--cp-layout", "zag"], "none of contiguous, zigzag"),
        ([*CUSTOM, "--assign", "lpt"], "needs --encoder-ranks or --mesh"),
        ([*CUSTOM, "--assign", "local", "--encoder-ranks", "2"], "needs --mesh"),
        ([*CUSTOM, "--assign", "best", "--encoder-ranks", "2"], "none of lpt"),
        ([*CUSTOM, "--mesh", "cp=2", "--encoder-ranks", "2"], "leave out --encoder-ranks"),
        ([*CUSTOM, "--mesh", "cp=2", "--encoder-cp-size", "4"], "does not divide the 2 ranks"),
        ([*CUSTOM, "--pack", "9", "--micro-batch", "2"], "leave out --micro-batch"),
        ([*CUSTOM, "--pack", "9", "--seq-length", "9"], "leave out --seq-length"),
        ([*CUSTOM, "--replicas"], "needs a --mesh"),
        ([*CUSTOM, "--set", "feature_width=7", "--feature-width", "9"], "by --feature-width and --set"),
        ([*CUSTOM, "--set", "rows=7", "--set", "rows=9"], "by --set twice"),
        (["--model", "custom", "--image-id", "-1"], "--image-id"),
        ([*CUSTOM, "--video-id", "9"], "same placeholder, 9"),
        (["--model", "qwen2_vl", "--video-id", "151655"], "same placeholder, 151655"),
        ([*CUSTOM, "--seq-length", "99999999999999999999999"], "--seq-length"),
        ([*CUSTOM, "--pack", "99999999999999999999999"], "--pack"),
        ([*CUSTOM, "--feature-width", "99999999999999999999999"], "--feature-width"),
        ([*CUSTOM, "--set", "payloads=99999999999999999999999"], "at most 2^53 - 1"),
        (["--model", "internvl", "--set", "max_tiles=1000000"], "max_tiles must be at most 1000"),
        (["--model", "llava_next", "--set", "view_pixels=7"], "view_pixels must be at least patch_size, 14"),
        (["--model", "llava_next", "--set", f"pinpoints=1x{'9' * 5000}"], "is not height x width"),
        ([*CUSTOM, "--encoder-ranks", "99999999999"], "--encoder-ranks"),
        ([*CUSTOM, "--replicas", "--mesh", "dp=2"], "needs --micro-batch"),
    ],
)
def test_usage(hpplan: Runner, batch: str, arguments: list[str], words: str) -> None:
    """A command line that makes no sense says so, and what to type instead, with status 2."""
    result = hpplan("workload", batch, *arguments)
    assert (result.status, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.split())


def test_bad_meshes_and_missing_files(hpplan: Runner, batch: str) -> None:
    """A mesh that is none, and a file that is not there: questions that cannot be asked."""
    assert hpplan("workload", batch, *CUSTOM, "--mesh", "cp2").status == 2
    assert hpplan("workload", "/nowhere/batch.jsonl", *CUSTOM).status == 2
    assert hpplan("workload", "-", "-", *CUSTOM).status == 2


def test_help_lists_the_families(hpplan: Runner) -> None:
    """Families, their fields and their rows can be read off the help."""
    text = hpplan("workload", "--help").stdout
    for words in ("qwen3_vl", "image_grid_thw", "llava_next", "image_sizes", "kimi_vl", "image_grid_hws"):
        assert words in text


ITEMS = {
    "qwen3_vl.jsonl": ("qwen3_vl", 6, 48 + 48 + 48 + 4 * 20 + 2 * 4 + 16),
    "image_sizes.jsonl": ("internvl", 23, None),
    "video_sizes.jsonl": ("qwen3_vl", 4, None),
}


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_sample_batches(hpplan: Runner, root: Path, name: str) -> None:
    """The batches that come with hpplan are read as they are."""
    model, items, rows = ITEMS[name]
    result = hpplan("workload", str(root / "sample_plans" / "batches" / name), "--model", model)
    assert result.status == 0
    found = yaml.safe_load(result.stdout)["items"]
    assert len(found) == items
    assert rows is None or sum(item["output_rows"] for item in found) == rows


def micro_batch(items: int, *, replicas: int | None = None, buckets: bool = False) -> MicroBatch:
    """Return a micro-batch of one sample with so many images, every third of them in two runs."""
    place: Any = None
    spans = [((4 * n, 1), (4 * n + 2, 1)) if n % 3 == 0 else ((4 * n, 2),) for n in range(items)]
    sample = Sample("s", place, 4 * items + 1, tuple(SampleItem("image", one) for one in spans), "s")
    batches = [Rows() for _ in range(replicas or 1)]
    for rows in batches:
        rows.add(sample)
    found = MicroBatch(WorkloadSettings({"feature_width": 8, "dtype": "float32"}, replicas=replicas), batches)
    if buckets:
        found.buckets = [[list(range(items)), []] for _ in batches]
    return found


@pytest.mark.parametrize("buckets", [False, True])
@pytest.mark.parametrize("items", [0, 1, 2, 999, 1000, 1001, 2500])
def test_pieces_are_the_canonical_text(items: int, *, buckets: bool) -> None:
    """Writing piece by piece gives the bytes of writing at once, wherever the pieces meet."""
    one = micro_batch(items, buckets=buckets)
    assert "".join(workload_pieces(one, "yaml")) == dump_yaml(one.to_data(), KEY_ORDER)
    assert "".join(workload_pieces(one, "json")) == dump_json(one.to_data())


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 70])
def test_pieces_of_many_workloads(count: int) -> None:
    """The same for a document of many workloads."""
    many = [micro_batch(number % 3, replicas=2 if number % 2 else None) for number in range(count)]
    data: dict[str, Any] = {"micro_batches": [one.to_data() for one in many]}
    assert "".join(micro_batches_pieces(many, "yaml")) == dump_yaml(data, MICRO_BATCHES_KEY_ORDER)
    assert "".join(micro_batches_pieces(many, "json")) == dump_json(data)


def peak_memory(hpplan: Runner, path: Path, samples: int) -> int:
    """Return the peak of Python's memory in bytes while a batch file of so many samples is read."""
    with path.open("w") as stream:
        stream.writelines(json.dumps(CAT | {"id": str(number)}) + "\n" for number in range(samples))
    tracemalloc.start()
    try:
        assert hpplan("workload", str(path), *CUSTOM, "--micro-batch", "8", "-o", f"{path}.yaml").status == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_stays_flat(hpplan: Runner, tmp_path: Path) -> None:
    """Ten times the samples take no more than the one MiB in which output is copied; all would be 5 MB."""
    peak_memory(hpplan, tmp_path / "warm.jsonl", 100)
    few = peak_memory(hpplan, tmp_path / "few.jsonl", 1_500)
    many = peak_memory(hpplan, tmp_path / "many.jsonl", 15_000)
    assert many - few < 1_500_000


def test_the_way_out_of_a_length_is_one_that_workload_has(hpplan: Runner, batch: str) -> None:
    """Somebody is told to set a field of a document that is not there yet."""
    result = hpplan("workload", batch, *CUSTOM, "--no-pad", "--mesh", "cp=7")
    assert result.status == 1
    assert "leave out --no-pad" in result.stderr
    assert "pad: true" not in result.stderr


def test_full_temporary_folder(batch: str, tmp_path: Path) -> None:
    """A full disk under TMPDIR is taken for a standard output that cannot be written."""
    Path(batch).write_text(Path(batch).read_text(encoding="utf-8") * 40, encoding="utf-8")
    out = tmp_path / "out.yaml"
    command = f"ulimit -f 1; exec {sys.executable} -m hpplan workload {batch} {' '.join(CUSTOM)} -o {out}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: cannot keep the workload in ")
    assert "set TMPDIR" in done.stderr
    assert not out.exists()
