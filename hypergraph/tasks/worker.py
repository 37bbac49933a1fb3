"""A process that trains seeds: ``python -m hypergraph.tasks.worker RUN``, seeds in, JSON lines out."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main(path: Path) -> None:
    """Train the seeds that standard input names, one at a time, and tell of it on standard output.

    When the parent is gone, the next word to it fails, and with it this process.
    """
    say = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no message

    def tell(**message: Any) -> None:
        say.write(json.dumps(message) + "\n")
        say.flush()

    from hypergraph.errors import InputError
    from hypergraph.tasks.run import Run
    from hypergraph.tasks.runner import run_seed

    data: Any = None
    for line in sys.stdin:
        seed = int(line)
        told = 0.0

        def report(fraction: float, note: str, seed: int = seed) -> None:
            nonlocal told
            if time.monotonic() - told > 0.1:
                told = time.monotonic()
                tell(seed=seed, fraction=fraction, note=note)

        try:
            if data is None:
                folder = Run.open(path)
                task = folder.kind.load_task()
                loaded = task.load(folder.config)
                folder.check_data(task.fingerprint(loaded))  # it may have changed since the parent read it
                data = loaded
            run_seed(folder, seed, data, report)
        except InputError as error:
            tell(seed=seed, error=str(error))
        except BrokenPipeError:
            return
        except OSError as error:
            tell(seed=seed, error=f"{error.filename or path}: {error.strerror}.")
        else:
            tell(seed=seed, fraction=1.0, note="finished")
            tell(seed=seed, done=True)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
