"""`python -m hpplan`, and what the command `hpplan` runs."""

import os
import sys
from contextlib import suppress


def run() -> None:
    """Run the command line; Ctrl-C ends it quietly with status 130, during its imports too."""
    try:
        from hpplan.signals import leave_on_interrupt

        leave_on_interrupt()
        from hpplan.cli.main import main
    except KeyboardInterrupt:
        sys.exit(130)
    except (ImportError, MemoryError) as error:
        if (getattr(error, "name", None) or "").startswith("hpplan"):
            raise
        told = str(error) or "there is not enough memory"
        with suppress(OSError):
            os.write(2, f"Error: hpplan cannot start: {told}.\n".encode())
        sys.exit(2)
    main()


if __name__ == "__main__":
    run()
