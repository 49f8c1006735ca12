# An agent on fasta2a 0.5.0, the library of Agent Zero's A2A face. PORT is the first argument.
import asyncio
import contextlib
import sys
import uuid

import uvicorn
from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage
from starlette.applications import Starlette
from starlette.routing import Mount

port = int(sys.argv[1])
storage, broker = InMemoryStorage(), InMemoryBroker()


class Agent(Worker):
    async def run_task(self, params):
        await self.storage.update_task(params["id"], state="working")
        text = "".join(part.get("text", "") for part in params["message"]["parts"])
        if text.startswith("slow"):
            await asyncio.sleep(3)
        if text.startswith("fail"):
            await self.storage.update_task(params["id"], state="failed")
            return
        part = {"kind": "text", "text": "echo: " + text}
        message = {"role": "agent", "kind": "message", "parts": [part], "message_id": str(uuid.uuid4())}
        await self.storage.update_task(params["id"], state="completed", new_messages=[message])

    async def cancel_task(self, params):
        await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history):
        return []

    def build_artifacts(self, result):
        return []


worker = Agent(storage=storage, broker=broker)


app = FastA2A(storage=storage, broker=broker, name="fast", url="http://elsewhere.invalid")


@contextlib.asynccontextmanager
async def lifespan(_):
    async with app.task_manager, worker.run():
        yield


# Agent Zero has it below /a2a, beside its other interfaces.
mounted = Starlette(routes=[Mount("/a2a", app)], lifespan=lifespan)
uvicorn.run(mounted, host="127.0.0.1", port=port, log_level="warning")
