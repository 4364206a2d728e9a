"""Seconds spent inside chosen methods of a run, without touching the code that is measured."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from inspect import isgeneratorfunction
from unittest.mock import patch


class Stopwatch:
    """`seconds` add up while the outermost of the watched calls runs; a generator counts only while it is asked."""

    def __init__(self) -> None:
        self.seconds, self._depth = 0.0, 0

    @contextmanager
    def watch(self, *methods: tuple[type, str]) -> Iterator[None]:
        """Time these methods, given as (class, name), until the block ends."""
        with ExitStack() as stack:
            for owner, name in methods:
                timed = self._generator if isgeneratorfunction(getattr(owner, name)) else self._plain
                stack.enter_context(patch.object(owner, name, timed(getattr(owner, name))))
            yield

    @contextmanager
    def running(self) -> Iterator[None]:
        self._depth += 1
        start = time.perf_counter()
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self.seconds += time.perf_counter() - start

    def _plain(self, method: Callable) -> Callable:
        def timed(*args: object, **kwargs: object) -> object:
            with self.running():
                return method(*args, **kwargs)

        return timed

    def _generator(self, method: Callable) -> Callable:
        def timed(*args: object, **kwargs: object) -> Iterator:
            source = method(*args, **kwargs)
            while True:
                with self.running():
                    try:
                        item = next(source)
                    except StopIteration:
                        return
                yield item

        return timed
