"""A tool's function, kept from ending anything but its own call."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from contextvars import copy_context
from itertools import islice
from threading import Thread
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, Tool

from ricordo.common.errors import ToolError

_MOST_VALUES = 100_000
"""Of a tool that is a generator: one without an end would fill the memory long after its call was given up."""
DONE = "Done."
_PLAIN = (StructuredTool, Tool)
"""LangChain's tools that are made of a function."""


def runnable(tool: BaseTool) -> BaseTool:
    """Return a LangChain tool as it is run: it ends its own call alone, a plain function on a thread of its own."""
    runs, arun = type(tool)._run, type(tool)._arun  # noqa: SLF001 - what a subclass is to define
    if isinstance(tool, _PLAIN) and any(runs is kind._run and arun is kind._arun for kind in _PLAIN):  # noqa: SLF001
        if tool.coroutine:
            return tool.model_copy(update={"coroutine": contained_async(tool.coroutine)})
        if tool.func:
            function = contained(tool.func)
            return tool.model_copy(update={"func": function, "coroutine": on_own_thread(function)})
    inherited = any(arun is kind._arun for kind in (BaseTool, *_PLAIN))  # noqa: SLF001 - as above
    # Of the tool itself and not of the copy, so that what it keeps is kept.
    run = on_own_thread(contained(tool._run)) if inherited else contained_async(tool._arun)  # noqa: SLF001 - as above

    @functools.wraps(run)
    async def _arun(_: BaseTool, *args: Any, **kwargs: Any) -> Any:
        if inherited and (manager := kwargs.get("run_manager")):
            kwargs["run_manager"] = manager.get_sync()
        return await run(*args, **kwargs)

    # `run` is bound, and `_arun` will be bound again: LangChain looks for the parameters behind the first one.
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature = inspect.Signature([first, *inspect.signature(run).parameters.values()])
    vars(_arun)["__signature__"] = signature  # as `inspect` documents it
    # Without a coroutine, LangChain's tools of functions do not come to `_arun`.
    copy = tool.model_copy(update={"coroutine": run} if isinstance(tool, _PLAIN) else {})
    copy.__class__ = type(type(tool).__name__, (type(tool),), {"_arun": _arun, "__module__": type(tool).__module__})
    return copy


def contained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what is no `Exception`, such as the end of the program that a `main()` calls for, from ending ours."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
            return _said(_bounded(islice(result, _MOST_VALUES + 1)) if inspect.isgenerator(result) else result)
        except CancelledError as ended:  # of a future of the tool's own: whoever waits would take it for the turn's end
            raise _ended(ended) from ended
        except Exception:
            raise
        except BaseException as ended:  # on a thread, where neither Ctrl-C nor a cancellation ever arrives
            raise _ended(ended) from ended

    return call


def contained_async(function: Callable[..., Awaitable[Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Do the same for a coroutine; a cancellation of the turn passes."""

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return _said(await function(*args, **kwargs))
        except (Exception, KeyboardInterrupt, GeneratorExit):
            raise
        except asyncio.CancelledError as ended:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            raise _ended(ended) from ended
        except BaseException as ended:
            raise _ended(ended) from ended

    return call


def on_own_thread(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Make a coroutine function of a function: it runs on a thread of its own, which nobody waits for at the end.

    The event loop's threads are few, and they are waited for: a call that never returns would hold up the end of the
    program, and a handful of them everything that needs such a thread.
    """

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        work = functools.partial(copy_context().run, function, *args, **kwargs)
        Thread(target=_settle, args=(future, work), name=f"tool {function.__name__}", daemon=True).start()
        result = await asyncio.wrap_future(future)
        if inspect.isasyncgen(result):
            return await contained_async(lambda: _listed(result))()
        if inspect.isawaitable(result):  # an async function behind a plain decorator
            return await contained_async(lambda: result)()
        return result

    return call


async def _listed(items: AsyncIterable[Any]) -> list[Any]:
    found = []
    async for each in items:
        found.append(each)
        if len(found) > _MOST_VALUES:
            break
    return _bounded(found)


def _bounded(values: Iterable[Any]) -> list[Any]:
    if len(found := list(values)) > _MOST_VALUES:
        raise ToolError(
            f"The tool yields more than {_MOST_VALUES:,} values, maybe without an end. Let it return fewer."
        )
    return found


def _said(result: Any) -> Any:
    """Return a tool's result; one without, which the model would read as `null`, is done."""
    if isinstance(result, tuple) and len(result) == 2 and result[0] is None:  # noqa: PLR2004 - content and artifact
        return (DONE, result[1])
    return DONE if result is None else result


def _settle(future: Future[Any], work: Callable[[], Any]) -> None:
    try:
        result = work()
    except StopIteration as error:  # no future can hold it
        future.set_exception(RuntimeError(f"The tool raised {error!r}."))
    except BaseException as error:  # noqa: BLE001 - it goes to whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)


def _ended(ended: BaseException) -> ToolError:
    return ToolError(f"The tool ended without a result: it raised {ended!r}.")
