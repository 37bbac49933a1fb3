"""Where independent tasks run: in processes of this machine, or on a Ray cluster.

Both take tasks by ``submit``, which gives a :class:`concurrent.futures.Future`, and try a task again whose
process was lost.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import reduction
from typing import Any, Protocol

from hypergraph.errors import InputError, unknown_name

BACKENDS = ("local", "ray")
TRIES = 3

News = tuple[Any, float, str]  # which task, the share of it that is done, a note
_LOST = f"its process was lost {TRIES} times, perhaps for want of memory; run fewer side by side with --jobs."


class Executor(Protocol):
    """What runs tasks."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Start ``function(*args)``, which another process can import, somewhere else."""
        ...

    def news(self) -> Iterator[News]:
        """What tasks have told since the last time."""
        ...


@contextmanager
def executor(
    backend: str, jobs: int, *, threads: int = 1, gpus: int = 0, lock: int | None = None
) -> Iterator[Executor]:
    """Processes for tasks; they end with the ``with`` block, and with this process, whatever they are doing.

    Args:
        backend: ``"local"`` or ``"ray"``.
        jobs: How many run side by side; a cluster that is already there has its own number.
        threads: How many cores a task uses; Ray counts them.
        gpus: How many GPUs a task uses; Ray counts them.
        lock: A descriptor that local processes hold open too.
    """
    check_backend(backend)
    if backend == "ray":
        with _ray(jobs, threads, gpus) as found:
            yield found
        return
    pool = _Pool(jobs, lock)
    try:
        yield pool
    finally:
        pool.close()


def check_backend(name: str) -> None:
    """Refuse a backend that is unknown or not installed."""
    if name not in BACKENDS:
        raise unknown_name("backend", name, BACKENDS)
    if name == "ray":
        _import_ray()


def as_done(
    running: Executor, futures: Mapping[Future[Any], Any], heard: Callable[[Any, float, str], None]
) -> Iterator[Future[Any]]:
    """The futures as they end; in between, what their tasks tell is passed on."""
    left = set(futures)
    while left:
        done, left = wait(left, timeout=0.1, return_when=FIRST_COMPLETED)
        for told in running.news():
            heard(*told)
        yield from done


_told: Any = None  # in a local process: the queue to the one that started it


def tell(task: Any, fraction: float, note: str) -> None:
    """Called by a task: how far it is."""
    if _told is not None:
        _told.put((task, fraction, note))


class _Pool:
    """Processes on this machine, started anew where one of them was lost."""

    def __init__(self, jobs: int, lock: int | None) -> None:
        self._jobs, self._lock = jobs, lock
        # Started anew and not forked: torch's threads do not survive a fork.
        self._context = multiprocessing.get_context("spawn")
        self._turn = threading.Lock()
        self._closed = False
        self._start()

    def _start(self) -> None:
        # Only this process holds the writing end of the pipe. When it closes it, or ends, the workers notice
        # that the pipe is at its end, and end too.
        read, self._alive = self._context.Pipe(duplex=False)
        self._news = self._context.SimpleQueue()
        held = None if self._lock is None else _Descriptor(self._lock)
        self._pool = ProcessPoolExecutor(
            self._jobs, self._context, initializer=_enter, initargs=(read, self._news, held)
        )

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self._try(future, 1, function, args)
        return future

    def _try(self, future: Future[Any], number: int, function: Callable[..., Any], args: Any) -> None:
        with self._turn:
            try:
                with _without_main():
                    inner = self._pool.submit(function, *args)
            except BrokenProcessPool:
                self._pool.shutdown(wait=False)
                self._start()
                with _without_main():
                    inner = self._pool.submit(function, *args)
        inner.add_done_callback(partial(self._settle, future, number, function, args))

    def _settle(
        self, future: Future[Any], number: int, function: Callable[..., Any], args: Any, inner: Future[Any]
    ) -> None:
        if inner.cancelled():  # by close(): the result is not needed any more
            return
        error = inner.exception()
        if error is None:
            future.set_result(inner.result())
        elif not isinstance(error, BrokenProcessPool):
            future.set_exception(error)
        elif self._closed or number == TRIES:
            future.set_exception(InputError(_LOST))
        else:
            # in a new thread: this one belongs to the broken pool, which is about to be replaced
            again = partial(self._try, future, number + 1, function, args)
            threading.Thread(target=again, daemon=True).start()

    def news(self) -> Iterator[News]:
        queue = self._news
        while not queue.empty():
            yield queue.get()

    def close(self) -> None:
        with self._turn:
            self._closed = True
            self._alive.close()
            self._pool.shutdown(wait=True, cancel_futures=True)


class _Descriptor:
    """An open file that a new process gets too."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _opened, (reduction.DupFd(self.number),)


def _opened(copy: Any) -> int:
    number: int = copy.detach()
    return number


def _enter(alive: Any, news: Any, lock: Any) -> None:
    """What a new process does first."""
    global _told
    _told = news
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the process that started this one
    os.dup2(2, 1)  # what a library prints must not be mixed with the results on standard output
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()


def _end_with(alive: Any) -> None:
    try:
        alive.recv()
    except (EOFError, OSError):
        os._exit(1)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module: a new process would run it again, a script without ``if __name__`` too."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError("Ray is not installed; install it with: pip install 'hypergraph[ray]'.") from None
    return ray


@contextmanager
def _ray(jobs: int, threads: int, gpus: int) -> Iterator[_Ray]:
    """Tasks on the cluster that ``RAY_ADDRESS`` names or the program is connected to, else on one of here."""
    ray = _import_ray()
    ours = not ray.is_initialized()
    if ours:
        here = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": jobs * threads}
        try:
            ray.init(log_to_driver=False, include_dashboard=False, logging_level="error", **here)
        except Exception as error:  # Ray raises many types, a plain Exception where it starts too slowly
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError(f"Ray does not start ({reason}); check RAY_ADDRESS, or try again.") from error
    tasks = _Ray(ray, threads, gpus)
    try:
        yield tasks
    finally:
        tasks.cancel()
        if ours:
            ray.shutdown()


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


class _Ray:
    """Tasks of a Ray cluster, which tries again itself what a lost machine was doing."""

    def __init__(self, ray: Any, threads: int, gpus: int) -> None:
        self._ray = ray
        options = {"num_cpus": threads, "num_gpus": gpus, "max_retries": TRIES - 1}
        self._call = ray.remote(_call).options(**options)
        self._references: list[tuple[Any, Future[Any]]] = []

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        reference = self._call.remote(function, *args)
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self._references.append((reference, future))
        reference.future().add_done_callback(partial(self._settle, future))
        return future

    def _settle(self, future: Future[Any], inner: Future[Any]) -> None:
        error = inner.exception()
        if error is None:
            future.set_result(inner.result())
        elif isinstance(error, self._ray.exceptions.RayTaskError):
            future.set_exception(error.cause)
        elif isinstance(error, self._ray.exceptions.RayError):
            future.set_exception(InputError(_LOST))
        else:
            future.set_exception(error)

    def news(self) -> Iterator[News]:
        return iter(())

    def cancel(self) -> None:
        for reference, future in self._references:
            if not future.done():
                self._ray.cancel(reference, force=True)
