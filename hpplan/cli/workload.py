"""`hpplan workload`: make workloads from the samples that a data loader has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hpplan.cli.inputs import only_one_standard_input, refuse_overwriting
from hpplan.cli.names import CP_LAYOUT, DTYPE, FAMILY, POLICY
from hpplan.cli.options import PATH, Command, format_option, output_option
from hpplan.cli.output import Output
from hpplan.cli.routing_options import POOL, NumberOrAll
from hpplan.documents.limits import LARGEST_NUMBER

if TYPE_CHECKING:
    from hpplan.documents.source import Format
    from hpplan.routing.buckets import Encoders
    from hpplan.routing.mesh import Mesh
    from hpplan.workload.families.base import Family
    from hpplan.workload.sample_files import SampleFiles
    from hpplan.workload.samples import Sample


class _Count(click.IntRange):
    """A whole number from 1 to a bound so far off that help need not name it."""

    def __init__(self, most: int, spelled: str) -> None:
        super().__init__(min=1)
        self._most = most
        self._spelled = spelled

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's own
        """Return the number, or fail as click does."""
        number = int(super().convert(value, param, ctx))
        if number > self._most:
            self.fail(f"{number} is more than {self._spelled}.", param, ctx)
        return number


POSITIVE = _Count(LARGEST_NUMBER, "2^53 - 1")
"""What a workload can hold."""

RANKS = _Count(2**22, f"the {2**22:,} ranks of the largest mesh")

TOKEN = click.IntRange(min=0)


class _Options(NamedTuple):
    family_name: str
    image_id: int | None
    video_id: int | None
    settings: tuple[str, ...]
    feature_width: int | None
    dtype: str | None
    payloads: int | None
    micro_batch: int | None
    pack: int | None
    seq_length: int | None
    cp_layout: str | None
    pad: bool
    encoder_ranks: int | None
    mesh_text: str | None
    encoder_cp_size: int
    policy: str | None
    replicas: bool
    pool: int | str | None
    split_videos: int | str | None
    output_file: str | None
    format_name: Format | None


class _Command(Command):
    """A command whose help ends with the table of families."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each family with its grids and rows."""
        from hpplan.workload.families import FAMILIES

        with formatter.section("Families"):
            formatter.write_dl(
                [(family.name, f"{family.summary} ({', '.join(family.grid_fields)})") for family in FAMILIES]
            )


@click.command("workload", cls=_Command, short_help="Make workloads from the samples that a data loader has.")
@click.argument("batch_files", nargs=-1, required=True, type=PATH, metavar="BATCH...")
@click.option(
    "--model", "family_name", type=FAMILY, required=True, metavar="FAMILY", help="Model family; see below."
)
@click.option("--image-id", type=TOKEN, metavar="ID", help="Placeholder token of an image.")
@click.option("--video-id", type=TOKEN, metavar="ID", help="Placeholder token of a video.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another number than the family's published one, as --set max_pixels=1003520. Repeatable.",
)
@click.option("--feature-width", type=POSITIVE, metavar="N", help="Columns of a feature row.")
@click.option("--dtype", type=DTYPE, help="Of the features. Default: the family's.")
@click.option("--payloads", type=POSITIVE, metavar="N", help="Tensors that travel on the same routes.")
@click.option("--micro-batch", type=POSITIVE, metavar="N", help="Samples of a micro-batch. Default: all.")
@click.option(
    "--pack",
    type=POSITIVE,
    metavar="LENGTH",
    help="Pack samples as documents into one batch row of LENGTH tokens a micro-batch. With zigzag each is "
    "padded for --mesh.",
)
@click.option("--seq-length", type=POSITIVE, metavar="N", help="Tokens of a batch row. Default: the longest.")
@click.option(
    "--cp-layout", type=CP_LAYOUT, help="How a sequence is dealt out to CP ranks. Default: the first."
)
@click.option(
    "--pad/--no-pad",
    default=True,
    show_default=True,
    help="Whether routing may round the sequence length up to what a mesh needs.",
)
@click.option("--encoder-ranks", type=RANKS, metavar="N", help="Fill buckets for N encoder ranks.")
@click.option("--mesh", "mesh_text", metavar="SPEC", help="Fill buckets for this mesh: dp=2,cp=2,tp=4,sp.")
@click.option("--encoder-cp-size", type=RANKS, default=1, metavar="N", help="Ranks that encode one bucket.")
@click.option(
    "--assign", "policy", type=POLICY, metavar="POLICY", help="How buckets are filled; as in hpplan route."
)
@click.option("--replicas", is_flag=True, help="Give each data-parallel replica of --mesh its own samples.")
@POOL
@click.option(
    "--split-videos",
    type=NumberOrAll("number of rows", 1, other="slices"),
    is_flag=False,
    flag_value="slices",
    metavar="[ROWS]",
    help="Make an item of each temporal slice of a video, or of as many as have ROWS rows, where the encoder "
    "keeps them apart.",
)
@output_option()
@format_option("Default: by the name of FILE, else YAML.")
@click.pass_obj
def command(output: Output, /, batch_files: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401 - the fields of _Options
    """Make workloads from samples: JSONL, one sample a line, or a JSON array.

    A sample has its tokens as `input_ids`, with the placeholders expanded, or
    as a number `text_tokens`; and its images as the grids of the family's
    processor, or as `images: [{width, height}]` and `videos: [{width, height,
    frames, fps}]`. Other fields are ignored, but not where images or videos are
    only in those of another family.

    Where only sizes are known, images stand before videos, `text_tokens` are
    shared out evenly before, between and after them, and the family's own
    markup comes on top. A list of `text_tokens` gives the text before each of
    them and after the last. A video whose frames were taken from a longer one
    has that one's number of frames as `source_frames`, and `fps` is its rate.

    Sizes become rows as in transformers 5.24. What other versions and
    checkpoints do is an option of the family, given with --set: for Qwen3-VL
    cap_pixels_per_frame=1 (as qwen-vl-utils does) and outer_markers=0 (before
    transformers 5). A Qwen2.5-VL checkpoint without a configuration of its
    video processor takes the bounds of images for videos:
    video_min_pixels=3136, video_max_pixels=12845056.

    A BATCH that is a folder stands for the *.jsonl files in it and below, a
    pattern such as 'batches/*.json' for what matches.

    Items are numbered as encoders get them: the images of all samples, then
    the videos; with --replicas through all of them. Several micro-batches make
    one document with a workload each under `micro_batches`, of which `hpplan
    route` makes statistics.

    With --pool or --split-videos items also say which sample they are of, and
    the rows of their inputs, as `pixel_values` has them.
    """
    from hpplan.cli.workload_writer import WorkloadWriter
    from hpplan.documents.source import format_of_name
    from hpplan.routing.mesh import parse_mesh
    from hpplan.workload.grouping import grouped, packed
    from hpplan.workload.layouts import LAYOUTS, layout_named
    from hpplan.workload.micro_batch import WorkloadSettings
    from hpplan.workload.sample_files import SampleFiles

    asked = _Options(**options)
    only_one_standard_input(batch_files)
    _check_options(asked)
    files = SampleFiles(batch_files)
    refuse_overwriting([asked.output_file], files.paths)
    family = _family(asked)
    mesh = None if asked.mesh_text is None else parse_mesh(asked.mesh_text)
    layout = LAYOUTS[0] if asked.cp_layout is None else layout_named(asked.cp_layout)
    fields: dict[str, Any] = {
        "feature_width": family.feature_width,
        "dtype": family.dtype,
        "payloads": family.payloads,
        "encoder_cp_size": asked.encoder_cp_size,
        "cp_layout": layout.name,
        "pad": asked.pad,
    }
    replicas = mesh.dp if asked.replicas and mesh is not None else None
    pooled = asked.pool not in {None, 1}
    if pooled:
        fields |= {"encoder_pool": asked.pool, "input_width": family.input_width or 1}
    described = pooled or asked.split_videos is not None
    settings = WorkloadSettings(fields, asked.seq_length, replicas, described)
    writer = WorkloadWriter(output, files, _encoders(asked, mesh))
    samples = _samples(output, files, family, asked.split_videos)
    if asked.pack is None:
        micro_batches = grouped(samples, settings, asked.micro_batch, files.problems)
    else:
        multiple = 1 if mesh is None or not layout.inside_documents else layout.multiple(mesh.cp)
        micro_batches = packed(samples, settings, asked.pack, files.problems, multiple)
    format_name = asked.format_name or format_of_name(asked.output_file or "-") or "yaml"
    writer.write(micro_batches, asked.output_file, format_name)
    if asked.pack is not None and mesh is None and layout.inside_documents:
        output.note(
            f"Note: samples were packed as they are, and {layout.name} pads each to what a mesh needs; "
            "add --mesh, or batch rows may outgrow --pack."
        )


def _samples(
    output: Output, files: SampleFiles, family: Family, split_videos: int | str | None
) -> Iterator[Sample]:
    from hpplan.reports.terminal.progress import progress_bar
    from hpplan.workload.samples import Splitting

    rows = split_videos if isinstance(split_videos, int) else None
    splitting = None if split_videos is None else Splitting(rows)

    color = output.use_color(sys.stderr)
    with progress_bar("reading samples", files.size, in_bytes=True, color=color) as bar:
        yield from files.read(family, bar.advance, splitting)


def _check_options(asked: _Options) -> None:
    if asked.encoder_ranks is not None and asked.mesh_text is not None:
        raise click.UsageError("--mesh says how many ranks encode; leave out --encoder-ranks")
    if asked.policy is not None and asked.encoder_ranks is None and asked.mesh_text is None:
        raise click.UsageError("--assign fills buckets, and needs --encoder-ranks or --mesh")
    if asked.replicas and asked.mesh_text is None:
        raise click.UsageError("--replicas needs a --mesh with dp")
    if asked.replicas and asked.micro_batch is None and asked.pack is None:
        raise click.UsageError("--replicas needs --micro-batch, the samples of each replica, or --pack")
    if asked.pool not in {None, 1} and not asked.replicas:
        raise click.UsageError(
            "--pool shares encoder work between replicas; add --replicas, so that each has samples"
        )
    if asked.pack is not None:
        for value, option in ((asked.micro_batch, "--micro-batch"), (asked.seq_length, "--seq-length")):
            if value is not None:
                raise click.UsageError(f"--pack makes batch rows of its own; leave out {option}")


def _family(asked: _Options) -> Family:
    """Return the family with its options set."""
    from hpplan.workload.family_options import family_with

    options = ("image_id", "video_id", "feature_width", "dtype", "payloads")
    given = {name: value for name in options if (value := getattr(asked, name)) is not None}
    names = [setting.partition("=")[0] for setting in asked.settings]
    for name in names:
        if name in given or names.count(name) > 1:
            twice = f"--{name.replace('_', '-')} and --set" if name in given else "--set twice"
            raise click.UsageError(f"{name} is given by {twice}; give it once")
    return family_with(asked.family_name, given, asked.settings)


def _encoders(asked: _Options, mesh: Mesh | None) -> Encoders | None:
    """Return who encodes, None where no buckets are wanted."""
    from hpplan.routing.assignment import DEFAULT_POLICY, policy_named
    from hpplan.routing.buckets import Encoders

    policy = policy_named(asked.policy or DEFAULT_POLICY)
    ranks = asked.encoder_ranks if mesh is None else mesh.pooled(asked.pool or 1).parent_size
    cp_size = asked.encoder_cp_size
    if ranks is None:
        return None
    if policy.looks_at_owners and mesh is None:
        raise click.UsageError(f"--assign {policy.name} needs --mesh, to know where the rows are needed")
    if ranks % cp_size:
        message = f"{cp_size} does not divide the {ranks} ranks that encode"
        raise click.BadParameter(message, param_hint="'--encoder-cp-size'")
    return Encoders(policy.name, ranks // cp_size, mesh)
