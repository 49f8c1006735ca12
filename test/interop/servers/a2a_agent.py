"""An agent of the Python SDK of A2A, over every binding and both versions.

Usage: a2a_agent.py <http port> <grpc port> <grpc port of 0.3>. Prints "ready" when it serves.
What it does is chosen by the first word of the message.
"""

import asyncio
import sys

import grpc
import uvicorn
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Task,
    TaskState,
    TaskStatus,
    a2a_pb2_grpc,
)
from starlette.applications import Starlette

HOST = "127.0.0.1"
HTTP_PORT, GRPC_PORT, OLD_GRPC_PORT = (int(port) for port in sys.argv[1:4])


class Worker(AgentExecutor):
    def __init__(self):
        self.cancelled = 0
        self.remembered = {}

    async def execute(self, context, queue):
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            ids = {"id": context.task_id, "context_id": context.context_id}
            await queue.enqueue_event(Task(**ids, status=status, history=[context.message]))
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        text = context.get_user_input()
        if context.current_task is not None:
            await updater.complete(new_text_message(f"you said {text}"))
            return
        verb, _, rest = text.partition(" ")
        await updater.start_work(new_text_message("working"))
        await self.work(verb, rest, context, updater)

    async def work(self, verb, rest, context, updater):
        if verb == "stream":
            words = rest.split(" ")
            for index, word in enumerate(words):
                last = index == len(words) - 1
                more = {"artifact_id": "answer", "append": index > 0, "last_chunk": last}
                await updater.add_artifact([Part(text=word)], **more)
            await updater.complete()
        elif verb == "ask":
            await updater.requires_input(new_text_message("Which city?"))
        elif verb == "fail":
            await updater.failed(new_text_message("no such city"))
        elif verb == "hang":
            await asyncio.sleep(600)
        elif verb == "remember":
            self.remembered[context.context_id] = rest
            await updater.complete(new_text_message("remembered"))
        elif verb == "recall":
            known = self.remembered.get(context.context_id, "nothing")
            await updater.complete(new_text_message(known))
        else:
            await updater.complete(new_text_message(str(self.cancelled)))

    async def cancel(self, context, queue):
        self.cancelled += 1
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def interfaces():
    for version, grpc_port in (("1.0", GRPC_PORT), ("0.3", OLD_GRPC_PORT)):
        for binding, url in (
            ("JSONRPC", f"http://{HOST}:{HTTP_PORT}/rpc"),
            ("HTTP+JSON", f"http://{HOST}:{HTTP_PORT}/rest"),
            ("GRPC", f"{HOST}:{grpc_port}"),
        ):
            yield AgentInterface(url=url, protocol_binding=binding, protocol_version=version)


async def main():
    card = AgentCard(
        name="python",
        description="An agent of the Python SDK",
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="work", name="Work", description="Works", tags=["test"])],
        supported_interfaces=list(interfaces()),
    )
    handler = DefaultRequestHandler(
        agent_executor=Worker(), task_store=InMemoryTaskStore(), agent_card=card
    )
    old = {"request_handler": handler, "enable_v0_3_compat": True}
    app = Starlette(
        routes=[
            *create_agent_card_routes(agent_card=card),
            *create_jsonrpc_routes(rpc_url="/rpc", **old),
            *create_rest_routes(path_prefix="/rest", **old),
        ]
    )
    current, older = grpc.aio.server(), grpc.aio.server()
    current.add_insecure_port(f"{HOST}:{GRPC_PORT}")
    older.add_insecure_port(f"{HOST}:{OLD_GRPC_PORT}")
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), current)
    a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), older)
    await asyncio.gather(current.start(), older.start())
    server = uvicorn.Server(uvicorn.Config(app, host=HOST, port=HTTP_PORT, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.05)
    print("ready", flush=True)
    await serving


asyncio.run(main())
