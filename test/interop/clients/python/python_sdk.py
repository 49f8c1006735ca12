"""The official Python SDK (`mcp`)."""

import asyncio

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CreateMessageResult, ElicitResult, Implementation, ToolListChangedNotification

from line_protocol import answer_next, emit, has_answers, serve

MODERN = "2026-07-28"


class Session:
    def __init__(self, client):
        self.client = client
        self.protocol_version = client.protocol_version

    async def list(self):
        tools, cursor = [], None
        while True:
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            tools += page.tools
            cursor = page.next_cursor
            if not cursor:
                return tools

    async def call(self, request, on_progress):
        async def progress(progress, total, message):
            on_progress(progress=progress, total=total, message=message)

        return await self.client.call_tool(request["name"], request["arguments"], progress_callback=progress)

    async def read(self, uri):
        return await self.client.read_resource(uri)


async def connect(stack, params):
    async def elicit(context, asked):
        return ElicitResult(**answer_next(params, "elicitation/create", "elicitation", asked))

    async def sample(context, asked):
        return CreateMessageResult(**answer_next(params, "sampling/createMessage", "sampling", asked))

    client = await stack.enter_async_context(
        Client(
            await transport_to(stack, params),
            client_info=Implementation(name=params["name"], version="1"),
            message_handler=on_message,
            mode=params["mode"],
            elicitation_callback=elicit if has_answers(params, "elicitation") else None,
            sampling_callback=sample if has_answers(params, "sampling") else None,
        )
    )
    if client.protocol_version == MODERN:
        subscription = await stack.enter_async_context(client.listen(tools_list_changed=True))
        watcher = asyncio.create_task(watch(subscription))
        stack.callback(watcher.cancel)
    return Session(client)


async def transport_to(stack, params):
    if "url" not in params:
        return StdioServerParameters(**{name: params[name] for name in ("command", "args", "env", "cwd")})
    headers = {"authorization": f"Bearer {params['key']}"}
    http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
    return streamable_http_client(params["url"], http_client=http)


async def on_message(message):
    if isinstance(message, ToolListChangedNotification):
        emit(event="tools_changed")


async def watch(subscription):
    async for _ in subscription:
        emit(event="tools_changed")


asyncio.run(serve(connect))
