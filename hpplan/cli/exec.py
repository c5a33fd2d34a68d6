"""`hpplan exec`: run the routes with real collectives, and prove that every row arrives."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from hpplan.cli.inputs import refuse_overwriting
from hpplan.cli.names import DTYPE
from hpplan.cli.options import INPUT, PATH, Command, output_option
from hpplan.cli.route_inputs import read_links, read_routes
from hpplan.cli.routing_options import FiniteFloat, RouteOptions, routing_options
from hpplan.documents.disk.descriptors import prints_aside

if TYPE_CHECKING:
    from hpplan.cli.output import Output
    from hpplan.errors import HpplanError
    from hpplan.job.settings import Settings
    from hpplan.job.worker import Outcome
    from hpplan.routing.routes import RoutingTable
    from hpplan.watch.launched import Job


_OF_SETTINGS = ("backend", "device", "dtype", "iterations", "warmup", "timeout", "calibrate")


@click.command("exec", cls=Command, short_help="Run the routes under torchrun, and verify every row.")
@click.argument("path", type=INPUT, metavar="[INPUT]", required=False)
@routing_options
@click.option(
    "--backend",
    type=click.Choice(["auto", "gloo", "nccl", "hccl"]),
    default="auto",
    show_default=True,
    help="Whose collectives. 'auto' goes with the device.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda", "npu"]),
    default="auto",
    show_default=True,
    help="Where features are. 'auto' takes an accelerator where there is one.",
)
@click.option(
    "--dtype",
    type=DTYPE,
    help="Of the features, instead of the workload's.",
)
@click.option(
    "--iters",
    "iterations",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Timed iterations.",
)
@click.option(
    "--warmup", type=click.IntRange(min=0), default=3, show_default=True, help="Iterations before those."
)
@click.option("--no-backward", is_flag=True, help="Leave the gradients out.")
@click.option("--no-verify", is_flag=True, help="Measure only.")
@click.option(
    "--timeout",
    type=FiniteFloat(min=1.0, max=86400.0),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds after which all ranks end when one is lost or hangs.",
)
@click.option(
    "--report",
    type=PATH,
    metavar="FILE",
    help="Write what was found and measured as JSON to FILE; - prints it instead of the table.",
)
@click.option(
    "--launch",
    type=click.IntRange(min=1),
    metavar="N",
    help="Start N workers on this machine, without torchrun.",
)
@click.option(
    "--links",
    type=INPUT,
    metavar="FILE",
    help="What the ranks are connected with, as --calibrate measures it: predicted times stand beside the "
    "measured ones.",
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure what the ranks are connected with, for --links, instead of running routes. Takes less than "
    "a minute, and no INPUT.",
)
@output_option("Write the links that --calibrate measured to FILE, as YAML; JSON where that is its name.")
@click.pass_obj
def command(
    output: Output,
    /,
    path: str | None,
    report: str | None,
    launch: int | None,
    output_file: str | None,
    links: str | None,
    **options: Any,  # noqa: ANN401 - fields of Settings and RouteOptions
) -> int:
    """Run the exchange of INPUT for real: a routing table, or what `hpplan route` takes.

    Run it under torchrun, one process a rank of the mesh, on one host or many:

        torchrun --nproc-per-node 4 -m hpplan exec routes.json

    or with --launch on this machine. Every row gets a fingerprint; contents, order, positions and
    gradients are compared on every rank. Rank 0 prints the table. Each rank ends with status 0, 1
    (something is not as the routing table says), 2, or 3 (a peer was lost or disagrees); torchrun
    itself ends with 1 whatever the status of its workers was, and names theirs.

    With --calibrate the same ranks measure their links:

        hpplan exec --calibrate -o links.yaml --launch 4
    """
    from hpplan.job.settings import Settings
    from hpplan.job.worker import require_torch
    from hpplan.watch.launched import job_from

    job = job_from(os.environ)
    settings = Settings(
        backward=not options.pop("no_backward"),
        verify=not options.pop("no_verify"),
        **{name: options.pop(name) for name in _OF_SETTINGS},
    )
    routing = RouteOptions(**options)
    if settings.calibrate:
        return _calibrate(output, job, settings, launch, (path, report, links, *routing.given()), output_file)
    if path is None:
        raise click.UsageError("Missing argument 'INPUT': a routing table, or what `hpplan route` takes.")
    if output_file is not None:
        raise click.UsageError("-o is for --calibrate; the report goes to --report FILE")
    refuse_overwriting([report], (path, routing.workload_file, links), "--report")
    if launch is not None:
        _check_launch(job)
        return _launch(output, path, routing, launch, settings.timeout)
    if job is None:
        raise _outside(output, path, routing)
    require_torch()
    return _work(output, job, settings, path, routing, links, report)


def _work(
    output: Output,
    job: Job,
    settings: Settings,
    path: str,
    routing: RouteOptions,
    links: str | None,
    report: str | None,
) -> int:
    from hpplan.documents.disk.files import check_writable
    from hpplan.job.worker import Callbacks, Task, run_worker
    from hpplan.reports.terminal.progress import progress_bar

    def load() -> Task:
        if job.rank == 0 and report is not None and report != "-":
            check_writable(report)
        routes = _read(output, job, path, routing)
        if links is None:
            return Task(routes)
        cluster = read_links(output, links, told=job.rank == 0)
        cluster.check_reach(routes.mesh.world_size)
        return Task(routes, cluster)

    def publish(data: dict[str, Any]) -> None:
        from hpplan.documents.writer import dump_json
        from hpplan.reports.execution import table as exec_table

        if report is not None:
            output.write(report, dump_json(data))
        if report != "-":
            output.result(exec_table.render(data, screen))

    screen = output.screen()
    bar_of_rank = progress_bar("exchanging", shown=job.rank == 0, color=output.use_color(sys.stderr))
    with bar_of_rank as bar, prints_aside():
        outcome = run_worker(
            job, settings, Callbacks(load, lambda error: _spelled(output, error), bar.reach, publish)
        )
    return _tell(output, outcome, path)


def _calibrate(
    output: Output,
    job: Job | None,
    settings: Settings,
    launch: int | None,
    beside: tuple[str | None, ...],
    output_file: str | None,
) -> int:
    """Measure the links of this job's ranks, or start the ranks that do."""
    from hpplan.errors import UnusableRequest
    from hpplan.job.launch import launch as start
    from hpplan.job.worker import Callbacks, Task, require_torch, run_worker
    from hpplan.reports.terminal.progress import progress_bar
    from hpplan.signals import interruptible

    other = next((one for one in beside if one is not None), None)
    if other is not None:
        raise click.UsageError(f"--calibrate runs no routes; leave out {other}")
    require_torch()
    if launch is not None:
        _check_launch(job)
        arguments = ["--color", output.color, *output.configurations.arguments, "exec", *_own_arguments()]
        with interruptible():
            return start(arguments, launch, settings.timeout, None)
    if job is None:
        raise UnusableRequest(
            "links are measured by the ranks of a job. On this machine, type\n"
            "    hpplan exec --calibrate -o links.yaml --launch N\n"
            "or, on the hosts of a cluster, with torchrun's options for where they meet,\n"
            "    torchrun --nproc-per-node N -m hpplan exec --calibrate -o links.yaml"
        )

    def load() -> Task:
        from hpplan.documents.disk.files import check_writable

        if job.rank == 0 and output_file not in {None, "-"}:
            check_writable(output_file)
        return Task()

    def publish(data: dict[str, Any]) -> None:
        output.write(output_file, _links_text(data, output_file))

    shown = progress_bar("measuring links", shown=job.rank == 0, color=output.use_color(sys.stderr))
    with shown as bar, prints_aside():
        outcome = run_worker(
            job, settings, Callbacks(load, lambda error: _spelled(output, error), bar.reach, publish)
        )
    return _tell(output, outcome, "links")


def _links_text(data: dict[str, Any], path: str | None) -> str:
    from hpplan.documents.writer import dump_json, dump_yaml
    from hpplan.routing.cluster import KEY_ORDER

    return dump_json(data) if path is not None and path.endswith(".json") else dump_yaml(data, KEY_ORDER)


def _tell(output: Output, outcome: Outcome, path: str) -> int:
    """Say what this rank has to say, and return its status, or end here where torch could hold it up."""
    if outcome.error is not None:
        output.error(outcome.error)
    elif outcome.message is not None:
        output.note(f"Error: {outcome.message}")
    if outcome.report is not None and outcome.report["mismatch_count"]:
        _show_mismatches(output, outcome.report, path)
    if not outcome.whole:
        output.close()
        os._exit(outcome.status)
    return outcome.status


def _read(output: Output, job: Job, path: str, routing: RouteOptions) -> RoutingTable:
    """Read INPUT on a rank; usage errors become what all ranks can hear of."""
    from hpplan.cli.options import as_bad_parameter
    from hpplan.errors import UnusableArgument, UnusableRequest

    if path == "-" and job.store_path is None and job.world_size > 1:
        raise UnusableRequest("the workers of torchrun cannot share standard input; give INPUT as a file")
    try:
        return read_routes(output, path, routing)
    except UnusableArgument as error:
        raise UnusableRequest(as_bad_parameter(error).format_message()) from None
    except click.ClickException as error:
        raise UnusableRequest(error.format_message()) from None


def _check_launch(job: Job | None) -> None:
    if job is not None:
        raise click.UsageError(
            "--launch starts a job, and this is a worker of one; leave it out under torchrun"
        )


def _launch(output: Output, path: str, routing: RouteOptions, workers: int, timeout: float) -> int:
    """Start this very command on `workers` ranks; what is wrong with INPUT is said once, here."""
    from hpplan.documents.disk.streams import STDIN_NAME
    from hpplan.job.launch import launch
    from hpplan.job.worker import check_size, require_torch
    from hpplan.signals import interruptible

    require_torch()
    check_size(read_routes(output, path, routing), workers)
    piped = output.sources.get(STDIN_NAME)
    arguments = ["--color", output.color, *output.configurations.arguments, "exec", *_own_arguments()]
    with interruptible():
        return launch(arguments, workers, timeout, None if piped is None else piped.text.encode())


def _own_arguments() -> list[str]:
    """Return the arguments of this command as they were given, less --launch, for its workers."""
    context = click.get_current_context()
    given = [
        parameter
        for parameter in context.command.params
        if parameter.name != "launch"
        and context.get_parameter_source(parameter.name or "") is click.core.ParameterSource.COMMANDLINE
    ]
    arguments: list[str] = []
    for option in (parameter for parameter in given if isinstance(parameter, click.Option)):
        value = context.params[option.name or ""]
        name = option.opts[-1]  # the long one: click takes the sign after a short one for a part of the value
        arguments.append(name if option.is_flag else f"{name}={value}")
    return [
        *arguments,
        "--",
        *(context.params[argument.name or ""] for argument in given if isinstance(argument, click.Argument)),
    ]


def _outside(output: Output, path: str, routing: RouteOptions) -> HpplanError:
    """Return what to type instead; the number of ranks is INPUT's, which is read for it."""
    from hpplan.errors import UnusableRequest

    ranks = read_routes(output, path, routing).mesh.world_size
    shown = "INPUT" if path == "-" else path
    mesh = f" --mesh {routing.mesh_text}" if routing.mesh_text else ""
    return UnusableRequest(
        f"exec runs inside a job of {ranks} ranks. On this machine, type\n"
        f"    hpplan exec {shown}{mesh} --launch {ranks}\n"
        "or, on one host or several, with torchrun's options for where they meet,\n"
        f"    torchrun --nproc-per-node {ranks} -m hpplan exec {shown}{mesh}"
    )


def _spelled(output: Output, error: HpplanError) -> str:
    """Render an error of this rank, for another rank to show."""
    from hpplan.errors import InvalidInput

    if isinstance(error, InvalidInput):
        from hpplan.reports.findings.concise import render

        return render(error.diagnostics, output.sources).rstrip()
    return str(error)


def _show_mismatches(output: Output, report: dict[str, Any], path: str) -> None:
    from hpplan.diagnostics import Diagnostic, Place
    from hpplan.documents.disk.streams import document_name
    from hpplan.errors import InvalidInput
    from hpplan.job.codes import CODES

    codes = {code.id: code for code in CODES}
    place = Place(document_name(path))
    told = [
        Diagnostic(codes[mismatch["code"]], mismatch["message"], place) for mismatch in report["mismatches"]
    ]
    output.error(InvalidInput(told))
    if report["mismatch_count"] > len(told):
        output.note(f"… and {report['mismatch_count'] - len(told):,} more")
