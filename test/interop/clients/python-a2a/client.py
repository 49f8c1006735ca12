"""The official Python client against one agent, over one binding. Prints what it saw as JSON."""

import asyncio
import json
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, create_client
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState


def request(text, message_id=None, task_id=""):
    message = Message(
        role=Role.ROLE_USER,
        message_id=message_id or str(uuid.uuid4()),
        parts=[Part(text=text)],
        task_id=task_id,
    )
    return SendMessageRequest(message=message)


async def follow(client, sent):
    """The kinds of updates, the last state, and the task they are about."""
    kinds, state, task_id = [], None, None
    async for item in client.send_message(sent):
        kind = item.WhichOneof("payload")
        kinds.append(kind)
        if kind == "task":
            task_id, state = item.task.id, item.task.status.state
        if kind == "status_update":
            state = item.status_update.status.state
    return {"kinds": kinds, "state": TaskState.Name(state), "task_id": task_id}


async def main(url, binding):
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
    config = ClientConfig(
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[binding],
    )
    client = await create_client(card, client_config=config)
    done = await follow(client, request("hello"))
    asked = await follow(client, request("x", f"tck-input-required-{uuid.uuid4()}"))
    answered = await follow(client, request("yes", task_id=asked["task_id"]))
    await client.close()
    print(json.dumps({"done": done, "asked": asked, "answered": answered}))


asyncio.run(main(*sys.argv[1:]))
