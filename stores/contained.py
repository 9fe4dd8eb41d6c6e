"""A tool's function, kept from ending anything but its own call."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextvars import copy_context
from threading import Thread
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, Tool

from graph.errors import ToolError


def runnable(tool: BaseTool) -> BaseTool:
    """Return a LangChain tool as it is run: it ends its own call alone, a plain function on a thread of its own."""
    if isinstance(tool, StructuredTool | Tool):
        if tool.coroutine:
            return tool.model_copy(update={"coroutine": contained_async(tool.coroutine)})
        if tool.func:
            function = contained(tool.func)
            return tool.model_copy(update={"func": function, "coroutine": on_own_thread(function)})
        return tool
    inherited = type(tool)._arun is BaseTool._arun  # noqa: SLF001 - what a subclass is to define
    # Of the tool itself and not of the copy, so that what it keeps is kept.
    run = on_own_thread(contained(tool._run)) if inherited else contained_async(tool._arun)  # noqa: SLF001 - the same

    @functools.wraps(run)
    async def _arun(_: BaseTool, *args: Any, **kwargs: Any) -> Any:
        if inherited and (manager := kwargs.get("run_manager")):
            kwargs["run_manager"] = manager.get_sync()
        return await run(*args, **kwargs)

    copy = tool.model_copy()
    copy.__class__ = type(type(tool).__name__, (type(tool),), {"_arun": _arun, "__module__": type(tool).__module__})
    return copy


def contained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what is no `Exception`, such as the end of the program that a `main()` calls for, from ending ours."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
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
            return await function(*args, **kwargs)
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
            return [each async for each in result]
        return await result if inspect.isawaitable(result) else result  # an async function behind a plain decorator

    return call


def _settle(future: Future[Any], work: Callable[[], Any]) -> None:
    try:
        result = work()
        if inspect.isgenerator(result):
            result = list(result)
    except StopIteration as error:  # no future can hold it
        future.set_exception(RuntimeError(f"The tool raised {error!r}."))
    except BaseException as error:  # noqa: BLE001 - it goes to whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)


def _ended(ended: BaseException) -> ToolError:
    return ToolError(f"The tool ended without a result: it raised {ended!r}.")
