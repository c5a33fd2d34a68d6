"""`hpplan workload`: make workloads from the samples that a data loader has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hpplan.cli.names import CP_LAYOUT, DTYPE, FAMILY, POLICY, none_of
from hpplan.cli.options import PATH
from hpplan.cli.overwriting import only_one_standard_input, refuse_overwriting
from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.errors import Failures, UnusableRequest

if TYPE_CHECKING:
    from hpplan.cli.output import Output
    from hpplan.documents.source import Format
    from hpplan.routing.buckets import Encoders
    from hpplan.routing.mesh import Mesh
    from hpplan.workload.families.base import Family


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


class _Command(click.Command):
    """A command whose help ends with the table of families."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each family with its grids and rows."""
        del ctx
        from hpplan.workload.families import FAMILIES

        with formatter.section("Families"):
            formatter.write_dl(
                [(one.name, f"{one.summary} ({', '.join(one.grid_fields)})") for one in FAMILIES]
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
@click.option("--dtype", type=DTYPE, metavar="T", help="bfloat16, float16, float32 or float64.")
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
    "--cp-layout",
    type=CP_LAYOUT,
    default="contiguous",
    metavar="LAYOUT",
    help="contiguous (default) or zigzag.",
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
@click.option("-o", "--output", "output_file", type=PATH, metavar="FILE", help="Write to FILE.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["yaml", "json"]),
    help="Default: by the name of FILE, else YAML.",
)
@click.pass_obj
def command(
    output: Output,
    batch_files: tuple[str, ...],
    family_name: str,
    image_id: int | None,
    video_id: int | None,
    settings: tuple[str, ...],
    feature_width: int | None,
    dtype: str | None,
    payloads: int | None,
    micro_batch: int | None,
    pack: int | None,
    seq_length: int | None,
    cp_layout: str,
    encoder_ranks: int | None,
    mesh_text: str | None,
    encoder_cp_size: int,
    policy: str | None,
    output_file: str | None,
    format_name: Format | None,
    *,
    pad: bool,
    replicas: bool,
) -> None:
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
    the videos. Several micro-batches make one document with a workload each
    under `micro_batches`, of which `hpplan route` makes statistics.
    """
    _check_options(
        batch_files, micro_batch, pack, seq_length, encoder_ranks, mesh_text, policy, replicas=replicas
    )
    failures = Failures()
    batch_files = _batches(batch_files, failures)
    refuse_overwriting([output_file], batch_files)
    from hpplan.cli.workload_run import WorkloadRun
    from hpplan.workload.grouping import grouped, packed
    from hpplan.workload.layouts import layout_named
    from hpplan.workload.micro_batch import WorkloadSettings

    given = {"image_id": image_id, "video_id": video_id, "feature_width": feature_width, "dtype": dtype}
    family = _family(family_name, settings, {**given, "payloads": payloads})
    mesh = _mesh(mesh_text)
    layout = layout_named(cp_layout)
    fields = {
        "feature_width": family.feature_width,
        "dtype": family.dtype,
        "payloads": family.payloads,
        "encoder_cp_size": encoder_cp_size,
        "cp_layout": layout.name,
        "pad": pad,
    }
    common = WorkloadSettings(fields, seq_length, mesh.dp if replicas and mesh is not None else None)
    encoders = _encoders(policy, mesh, encoder_ranks, encoder_cp_size)
    run = WorkloadRun(output, family, encoders, failures)
    samples = run.samples(batch_files)
    if pack is None:
        micro_batches = grouped(samples, common, micro_batch, run.problems)
    else:
        inside = mesh is not None and layout.inside_documents
        multiple = layout.multiple(mesh.cp) if inside and mesh is not None else 1
        micro_batches = packed(samples, common, pack, run.problems, multiple)
    by_name: Format = "json" if output_file is not None and output_file.endswith(".json") else "yaml"
    run.write(micro_batches, output_file, format_name or by_name)
    if pack is not None and mesh is None and layout.inside_documents:
        output.note(
            f"Note: samples were packed as they are, and {layout.name} pads each to what a mesh needs; "
            "add --mesh, or batch rows may outgrow --pack."
        )


def _batches(arguments: tuple[str, ...], failures: Failures) -> tuple[str, ...]:
    """Return the batch files that are named, and those in folders."""
    import os

    from hpplan.documents.disk.folder import SAMPLES, files_in, named

    paths: list[str] = []
    for argument in arguments:
        with failures:
            for path in named([argument]):
                found = files_in(path, SAMPLES) if os.path.isdir(path) else [path]  # noqa: PTH112 - pathlib takes longer to import
                if not found:
                    raise UnusableRequest(f"There is no batch in {path}: no name there ends in .jsonl.")
                paths += found
    return tuple(paths)


def _check_options(
    batch_files: tuple[str, ...],
    micro_batch: int | None,
    pack: int | None,
    seq_length: int | None,
    encoder_ranks: int | None,
    mesh_text: str | None,
    policy: str | None,
    *,
    replicas: bool,
) -> None:
    only_one_standard_input(batch_files)
    if encoder_ranks is not None and mesh_text is not None:
        raise click.UsageError("--mesh says how many ranks encode; leave out --encoder-ranks")
    if policy is not None and encoder_ranks is None and mesh_text is None:
        raise click.UsageError("--assign fills buckets, and needs --encoder-ranks or --mesh")
    if replicas and mesh_text is None:
        raise click.UsageError("--replicas needs a --mesh with dp")
    if replicas and micro_batch is None and pack is None:
        raise click.UsageError("--replicas needs --micro-batch, the samples of each replica, or --pack")
    if pack is not None:
        for given, option in ((micro_batch, "--micro-batch"), (seq_length, "--seq-length")):
            if given is not None:
                raise click.UsageError(f"--pack makes batch rows of its own; leave out {option}")


def _family(name: str, settings: tuple[str, ...], given: dict[str, object]) -> Family:
    """Return the family with its options set."""
    from hpplan.workload.families import family_named
    from hpplan.workload.shape import DTYPES

    family = family_named(name)
    options = family.options()
    values: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    for setting in settings:
        option, equals, text = setting.partition("=")
        if option not in options:
            raise _bad_setting(none_of(option, options))
        if option in values:
            own = f"--{option.replace('_', '-')}"
            twice = f"{own} and --set" if given.get(option) is not None else "--set twice"
            raise click.UsageError(f"{option} is given by {twice}; give it once")
        try:
            values[option] = options[option](text)
        except ValueError:
            equals = ""
        if not equals:
            raise _bad_setting(f"'{setting}' is no NAME=VALUE with a number")
    try:
        made = family(**values)
    except ValueError as error:
        raise _bad_setting(str(error)) from None
    if made.dtype not in DTYPES:
        raise _bad_setting(none_of(made.dtype, DTYPES))
    shared = family.image_id == family.video_id >= 0
    if made.image_id == made.video_id >= 0 and not shared:
        raise click.UsageError(
            f"images and videos of {family.name} cannot have the same placeholder, {made.image_id}"
        )
    return made


def _bad_setting(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="'--set'")


def _mesh(text: str | None) -> Mesh | None:
    from hpplan.routing.mesh import parse_mesh

    return None if text is None else parse_mesh(text)


def _encoders(
    policy: str | None, mesh: Mesh | None, encoder_ranks: int | None, encoder_cp_size: int
) -> Encoders | None:
    """Return who encodes, None where no buckets are wanted."""
    from hpplan.routing.assignment import POLICIES
    from hpplan.routing.buckets import Encoders

    ranks = encoder_ranks if mesh is None else mesh.parent_size
    if ranks is None:
        return None
    if policy == "local" and mesh is None:
        raise click.UsageError("--assign local needs --mesh, to know where the rows are needed")
    if ranks % encoder_cp_size:
        raise click.BadParameter(
            f"{encoder_cp_size} does not divide the {ranks} ranks that encode",
            param_hint="'--encoder-cp-size'",
        )
    return Encoders(policy or POLICIES[0].name, ranks // encoder_cp_size, mesh)
