"""The `fastmcp` client."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    Implementation,
    ReadResourceResult,
    ToolListChangedNotification,
)

from line_protocol import answer_next, emit, has_answers, serve


class Session:
    def __init__(self, client):
        self.client = client
        self.protocol_version = client.protocol_version

    async def list(self):
        return await self.client.list_tools(cache_mode="bypass")

    async def call(self, request, on_progress):
        async def progress(progress, total, message):
            on_progress(progress=progress, total=total, message=message)

        return await self.client.call_tool_mcp(request["name"], request["arguments"], progress_handler=progress)

    async def read(self, uri):
        return ReadResourceResult(contents=await self.client.read_resource(uri))


async def connect(stack, params):
    async def elicit(message, response_type, asked, context):
        return ElicitResult(**answer_next(params, "elicitation/create", "elicitation", asked))

    async def sample(messages, asked, context):
        return CreateMessageResult(**answer_next(params, "sampling/createMessage", "sampling", asked))

    client = Client(
        transport_to(params),
        client_info=Implementation(name=params["name"], version="1"),
        message_handler=on_message,
        mode=params["mode"],
        elicitation_handler=elicit if has_answers(params, "elicitation") else None,
        sampling_handler=sample if has_answers(params, "sampling") else None,
    )
    return Session(await stack.enter_async_context(client))


def transport_to(params):
    if "url" in params:
        return StreamableHttpTransport(params["url"], headers={"authorization": f"Bearer {params['key']}"})
    return StdioTransport(**{name: params[name] for name in ("command", "args", "env", "cwd")})


async def on_message(message):
    if isinstance(message, ToolListChangedNotification):
        emit(event="tools_changed")


asyncio.run(serve(connect))
