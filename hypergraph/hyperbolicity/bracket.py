"""What is certain so far, and the threads that make it more."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Quadruple = tuple[int, int, int, int]
# The places of a team's shared array.
STOP, LOWER = 0, 1


@dataclass
class Bracket:
    """Twice the bounds of delta, and of the diameter; they only ever close, and hold at any moment.

    ``witness`` is four nodes whose three sums show ``lower``.
    """

    lower: int
    upper: int
    witness: Quadruple
    diameter_lower: int = 0
    diameter_upper: int = 0
    stage: str = "starting"
    remark: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def raise_lower(self, lower: int, witness: Quadruple) -> None:
        with self._lock:
            if lower > self.lower:
                self.lower, self.witness = lower, witness

    def cap_upper(self, upper: int) -> None:
        with self._lock:
            self.upper = max(self.lower, min(self.upper, upper))

    def read(self) -> tuple[int, int, Quadruple]:
        with self._lock:
            return self.lower, max(self.lower, self.upper), self.witness


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Team:
    """Threads that share a stop flag and a lower bound. The kernels they call hold no interpreter lock."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.shared: NDArray[np.int64] = np.zeros(2, np.int64)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="delta") if threads > 1 else None

    def stop(self) -> None:
        self.shared[STOP] = 1

    @property
    def stopped(self) -> bool:
        return bool(self.shared[STOP])

    def raise_lower(self, lower: int) -> None:
        self.shared[LOWER] = max(int(self.shared[LOWER]), lower)

    def run(self, job: Callable[[int, int], None], total: int, chunk: int) -> bool:
        """Call ``job(first, last)`` on the chunks of range(total); whether all of them were reached."""
        chunks = iter([(i, min(i + chunk, total)) for i in range(0, total, chunk)])
        if self._pool is None or total <= chunk:
            self._work(job, chunks)
        else:
            guarded = _Guarded(chunks)
            for future in [self._pool.submit(self._work, job, guarded) for _ in range(self.threads)]:
                future.result()
        return not self.stopped

    def _work(self, job: Callable[[int, int], None], chunks: Iterator[tuple[int, int]]) -> None:
        for first, last in chunks:
            if self.stopped:
                return
            job(first, last)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False)


class _Guarded(Iterator[tuple[int, int]]):
    """An iterator that several threads may draw from."""

    def __init__(self, source: Iterator[tuple[int, int]]) -> None:
        self._source = source
        self._lock = threading.Lock()

    def __next__(self) -> tuple[int, int]:
        with self._lock:
            return next(self._source)


def supervise(
    work: Callable[[], None],
    team: Team,
    deadline: float | None,
    report: Callable[[], None],
) -> str:
    """Run ``work`` in a thread of its own until it ends, the deadline passes or Ctrl-C comes.

    The caller's thread stays free for both: a kernel that is being compiled for the first time cannot be
    interrupted, so it is left to end by itself. Returns why it stopped early, or "".
    """
    failure: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failure.append(error)
        finally:
            team.close()

    worker = threading.Thread(target=guarded, name="delta-search")
    reason = ""
    try:
        worker.start()
        while worker.is_alive():
            left = 0.1 if deadline is None else min(0.1, deadline - time.monotonic())
            if left <= 0:
                reason = "time limit"
                break
            worker.join(left)
            report()
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        # Also when ``report`` fails: nothing goes on working unseen.
        team.stop()
    if reason and worker.ident is not None:
        worker.join(0.4)
    if failure:
        raise failure[0]
    return reason
