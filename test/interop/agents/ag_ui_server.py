"""An AG-UI agent of Pydantic AI, on a model that is a function."""

import sys

import uvicorn
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.routing import Route


async def stream(messages, info):
    parts = [part for message in messages for part in message.parts]
    returned = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    asked = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    if asked[-1] == "fail":
        raise ValueError("out of paper")
    if asked[-1] == "tools" and not returned:
        yield {0: DeltaToolCall(name="add", json_args='{"x": 1, "y": 2}', tool_call_id="call-1")}
        return
    if asked[-1] == "count":
        yield str(len(asked))
        return
    for word in ["heard ", asked[-1], *(f" {value}" for value in returned)]:
        yield word


agent = Agent(FunctionModel(stream_function=stream))


@agent.tool_plain
def add(x: int, y: int) -> int:
    return x + y


async def run(request):
    return await AGUIAdapter.dispatch_request(request, agent=agent)


app = Starlette(routes=[Route("/", run, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
