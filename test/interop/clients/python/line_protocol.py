"""Drives one MCP client by JSON lines: a request per line on stdin, answers on stdout.

The first request is `connect`. `list`, `call` and `read` run side by side; `cancel` ends one of
them. Every answer carries the id of its request: any number of `progress` lines, then one of
`result`, `error` or `cancelled`. An `asked` line shows a question that the client received; it
answers with the next of the answers that `connect` brought.
"""

import asyncio
import json
import sys
import traceback
from contextlib import AsyncExitStack


def emit(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def to_json(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def answer_next(params, method, kind, asked):
    """Shows a question, and takes the next answer to it."""
    emit(event="asked", asked={"method": method, "params": to_json(asked)})
    return params["answers"][kind].pop(0)


def has_answers(params, kind):
    return kind in params.get("answers", {})


async def serve(connect):
    """`connect(stack, params)` returns the session: `protocol_version`, `list`, `call`, `read`."""
    lines = await open_stdin()
    async with AsyncExitStack() as stack:
        request = json.loads(await lines.readline())
        session = await connect(stack, request)
        emit(id=request["id"], result={"protocol_version": session.protocol_version})
        tasks = {}
        while line := await lines.readline():
            request = json.loads(line)
            if request["op"] == "cancel":
                tasks[request["target"]].cancel()
            else:
                tasks[request["id"]] = asyncio.create_task(answer(session, request))
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values())


async def answer(session, request):
    id = request["id"]
    try:
        if request["op"] == "list":
            result = {"tools": [to_json(tool) for tool in await session.list()]}
        elif request["op"] == "read":
            result = to_json(await session.read(request["uri"]))
        else:
            result = to_json(await session.call(request, lambda **progress: emit(id=id, progress=progress)))
        emit(id=id, result=result)
    except asyncio.CancelledError:
        emit(id=id, cancelled=True)
    except Exception as error:  # every failure of the client is an answer
        traceback.print_exc()
        details = getattr(error, "error", None)
        emit(id=id, error={"code": getattr(details, "code", None), "message": str(error)})


async def open_stdin():
    reader = asyncio.StreamReader(limit=64 * 1024 * 1024)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader
