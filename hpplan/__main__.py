"""`python -m hpplan`, and what the command `hpplan` runs."""

import sys


def run() -> None:
    """Run the command line; Ctrl-C ends it quietly with status 130, during its imports too."""
    try:
        from hpplan.signals import leave_on_interrupt

        leave_on_interrupt()
        from hpplan.cli.main import main
    except KeyboardInterrupt:
        sys.exit(130)
    except MemoryError:
        sys.stderr.write("Error: There is not enough memory for this.\n")
        sys.exit(2)
    main()


if __name__ == "__main__":
    run()
