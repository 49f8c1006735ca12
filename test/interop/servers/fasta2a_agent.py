"""An agent of fasta2a, of the release that speaks 0.3 or of the one that speaks 1.0.

Usage: fasta2a_agent.py <port> <0.3 | 1.0>. Prints "ready" when it serves. It answers in the history of
the task alone.
"""

import contextlib
import sys
import uuid

import uvicorn
from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage

PORT, VERSION = int(sys.argv[1]), sys.argv[2]


def text_part(text):
    return {"text": text} if VERSION == "1.0" else {"kind": "text", "text": text}


class Echo(Worker):
    async def run_task(self, params):
        task_id = params["id"]
        await self.storage.update_task(task_id, state="working")
        said = "".join(part.get("text", "") for part in params["message"]["parts"])
        if said == "fail":
            await self.storage.update_task(task_id, state="failed")
            return
        message = {
            "role": "agent",
            "parts": [text_part(f"you said {said}")],
            "message_id": str(uuid.uuid4()),
        }
        if VERSION == "0.3":
            message["kind"] = "message"
        await self.storage.update_task(task_id, state="completed", new_messages=[message])

    async def cancel_task(self, params):
        await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history):
        return []

    def build_artifacts(self, result):
        return []


storage, broker = InMemoryStorage(), InMemoryBroker()
worker = Echo(storage=storage, broker=broker)


@contextlib.asynccontextmanager
async def lifespan(app):
    async with app.task_manager, worker.run():
        print("ready", flush=True)
        yield


app = FastA2A(
    storage=storage,
    broker=broker,
    lifespan=lifespan,
    name="fasta2a",
    url=f"http://127.0.0.1:{PORT}",
)
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
