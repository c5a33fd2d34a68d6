"""The `hpplan` command group, and the one place where outcomes become exit statuses."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, NoReturn

import click

from hpplan.cli.output import Output
from hpplan.errors import BUG_STATUS, INTERRUPTED_STATUS, HpplanError, UnusableRequest
from hpplan.late import imported
from hpplan.version import __version__

COMMANDS = (
    "freeze",
    "normalize",
    "validate",
    "explain",
    "diff",
    "prove",
    "workload",
    "route",
    "compile",
    "exec",
    "schema",
)
"""One file of `hpplan.cli` each, which defines `command`."""


class LazyGroup(click.Group):
    """A group that imports a command's module only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = imported(f"hpplan.cli.{cmd_name}", "command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is asked for, or fail as click does and suggest the nearest."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from hpplan.nearest import none_of

            ctx.fail(none_of(name, COMMANDS))
        known, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            refuse_repeated(click.Context(command, ctx, name), rest)
        return known, command, rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before the command; `help COMMAND` is what people type for `COMMAND --help`."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        refuse_repeated(ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own
        """Run a command, and keep from click what it would take for something else."""
        output: Output = ctx.obj
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            takes = {"--color": " WHEN", "--config": " FILE", "--no-config": ""}
            option = error.option_name
            if option not in takes:
                raise
            where = f"hpplan {option}{takes[option]} {ctx.invoked_subcommand} …"
            raise click.UsageError(f"{option} goes before the command: {where}", error.ctx) from None
        except KeyboardInterrupt:
            # click ends the line that a terminal shows ^C in, and fails where nobody reads it.
            output.discard()
            output.note("")
            return INTERRUPTED_STATUS
        except OSError as error:
            # click takes every broken pipe for a reader of standard output that has gone away.
            return _unexpected(output, error)


def refuse_repeated(ctx: click.Context, args: list[str]) -> None:
    """Raise a usage error for an option of a command that takes one value and is given several.

    click keeps the last of them. Options that are `multiple` take all.
    """
    try:
        order = ctx.command.make_parser(ctx).parse_args(list(args))[2]
    except click.UsageError:
        return  # the command's own parsing is about to say so
    options = [parameter for parameter in order if isinstance(parameter, click.Option)]
    if any(option.is_eager for option in options):
        return  # --help and --version are all the same
    for option in options:
        takes_one = not option.multiple and (not option.is_flag or option.secondary_opts)
        if takes_one and options.count(option) > 1:
            names = "/".join([*option.opts[:1], *option.secondary_opts])
            times = {2: "twice"}.get(options.count(option), f"{options.count(option)} times")
            raise click.UsageError(f"{names} is given {times}; give it once", ctx)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 all well; 1 the answer is no; 2 the question could not be asked; "
    "3 execution broke off; 70 a bug in hpplan; 130 interrupted.",
)
@click.version_option(__version__, prog_name="hpplan", message="%(prog)s %(version)s")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour what people read. 'auto' colours a terminal, unless NO_COLOR is set or, without "
    "FORCE_COLOR, it is dumb; only 'always' colours a pipe.",
)
@click.option(
    "--config",
    type=click.Path(path_type=str, readable=False),
    metavar="FILE",
    help="Configuration file of all plans. Default: of each plan, the nearest hpplan.toml, or pyproject.toml "
    "with a table [tool.hpplan], in its folder or above.",
)
@click.option("--no-config", is_flag=True, help="Look for no configuration file.")
@click.pass_obj
def cli(output: Output, color: str, config: str | None, *, no_config: bool) -> None:
    """Compile, check, preview and run distributed-training plans."""
    from hpplan.validation.configurations import Configurations

    if config is not None and no_config:
        raise click.UsageError(
            "--config names a configuration file, and --no-config wants none; give one of them"
        )
    output.color = color
    output.configurations = Configurations(output.sources, config, off=no_config)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with the status that belongs to its outcome."""
    output = Output()
    status = _run(output, arguments)
    output.close()
    sys.exit(status)


def _run(output: Output, arguments: list[str] | None) -> int:
    """Run the command line, write its results, and return its exit status."""
    try:
        with output.taking_prints():
            status = _status(arguments, output)
        output.flush()
    except HpplanError as error:
        output.discard()
        output.error(error)
        return error.exit_status
    except click.ClickException as error:
        output.discard()
        text = io.StringIO()
        error.show(text)
        output.complain(text.getvalue())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.discard()
        return INTERRUPTED_STATUS
    except Exception as error:  # noqa: BLE001 - whatever else arrives here is our bug, or the environment's
        return _unexpected(output, error)
    return status


def _status(arguments: list[str] | None, output: Output) -> int:
    try:
        return cli.main(arguments, prog_name="hpplan", standalone_mode=False, obj=output) or 0
    except SystemExit as stop:
        # A shell that completes.
        return int(stop.code or 0)


def _unexpected(output: Output, error: Exception) -> int:
    output.discard()
    lacking = _lacking(error)
    if lacking is not None:
        # The frames hold what filled the memory.
        error.__traceback__ = error.__context__ = None
        output.note(f"Error: {lacking}")
        return UnusableRequest.exit_status
    import traceback

    output.note("".join(traceback.format_exception(error)).rstrip())
    output.note(
        f"hpplan {__version__}: this is a bug in hpplan, not in your input. "
        "Please report it with the text above and the command line."
    )
    return BUG_STATUS


def _lacking(error: Exception) -> str | None:
    """Say what the environment lacks, where an error is its fault and not ours."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "There is not enough memory for this."
    if isinstance(error, ImportError) and not (error.name or "").startswith("hpplan"):
        return f"A package that hpplan needs cannot be imported: {str(error).partition(chr(10))[0]}."
    if isinstance(error, FileNotFoundError):
        try:
            os.getcwd()  # noqa: PTH109 - pathlib takes longer to import
        except FileNotFoundError:
            return "The current folder is gone; change to another one."
    return None
