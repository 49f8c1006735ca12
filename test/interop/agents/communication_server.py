# Agents of the reference server of the Agent Communication Protocol. PORT is the first argument.
import asyncio
import sys
from collections.abc import AsyncGenerator

from acp_sdk.models import CitationMetadata, Message, MessageAwaitRequest, MessagePart, TrajectoryMetadata
from acp_sdk.server import Context, RunYield, RunYieldResume, Server

Yields = AsyncGenerator[RunYield, RunYieldResume]
server = Server()
state = {"ticks": 0}


def said(messages: list[Message]) -> str:
    return "".join(part.content or "" for message in messages for part in message.parts)


@server.agent(name="echo", description="Answers with one message")
async def echo(input: list[Message], context: Context) -> Yields:
    yield Message(role="agent", parts=[MessagePart(content="echo: " + said(input))])


@server.agent(name="talk", description="Every kind of event")
async def talk(input: list[Message], context: Context) -> Yields:
    yield {"message": "half way", "percent": 50}
    trace = {"message": "adding", "tool_name": "add", "tool_input": {"a": 1}, "tool_output": {"sum": 2}}
    yield MessagePart(content="", metadata=TrajectoryMetadata(**trace))
    yield "one "
    await asyncio.sleep(0.05)
    yield "two"
    yield MessagePart(content="", metadata=CitationMetadata(url="https://example.org/", title="Example"))
    yield MessagePart(name="table.csv", content_type="text/csv", content="a,b\n")
    yield MessagePart(name="table.csv", content_type="text/csv", content="1,2\n")
    yield MessagePart(content_type="application/json", content='{"total": 2}')


@server.agent(name="ask", description="Awaits an answer")
async def ask(input: list[Message], context: Context) -> Yields:
    yield "before "
    question = Message(role="agent", parts=[MessagePart(content="What is your name?")])
    answer = yield MessageAwaitRequest(message=question)
    yield "hello " + said([answer.message])


@server.agent(name="fail", description="Fails")
async def fail(input: list[Message], context: Context) -> Yields:
    yield "partial "
    raise ValueError("out of paper")


@server.agent(name="slow", description="Takes a minute")
async def slow(input: list[Message], context: Context) -> Yields:
    for tick in range(600):
        state["ticks"] += 1
        yield f"{tick} "
        await asyncio.sleep(0.1)


@server.agent(name="ticks", description="How far slow runs came")
async def ticks(input: list[Message], context: Context) -> Yields:
    yield str(state["ticks"])


@server.agent(name="memory", description="How many messages the session has")
async def memory(input: list[Message], context: Context) -> Yields:
    yield str(len([message async for message in context.session.load_history()]))


server.run(host="127.0.0.1", port=int(sys.argv[1]))
