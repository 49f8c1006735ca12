"""The `fastmcp` client."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp_types import Implementation, ReadResourceResult, ToolListChangedNotification

from line_protocol import emit, serve


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
    client_info = Implementation(name=params["name"], version="1")
    client = Client(transport_to(params), client_info=client_info, message_handler=on_message)
    return Session(await stack.enter_async_context(client))


def transport_to(params):
    if "url" in params:
        return StreamableHttpTransport(params["url"], headers={"authorization": f"Bearer {params['key']}"})
    return StdioTransport(**{name: params[name] for name in ("command", "args", "env", "cwd")})


async def on_message(message):
    if isinstance(message, ToolListChangedNotification):
        emit(event="tools_changed")


asyncio.run(serve(connect))
