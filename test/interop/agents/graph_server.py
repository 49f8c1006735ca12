"""A LangGraph server with one graph; what it does is chosen by the first word of the last message."""

import asyncio
import sys
from typing import Annotated, TypedDict

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

TICKS = 0


class State(TypedDict, total=False):
    messages: Annotated[list, add_messages]
    total: int


async def node(state: State):
    global TICKS
    text = str(state["messages"][-1].content)
    if text == "ask":
        name = interrupt({"question": "What is your name?"})
        return {"messages": [AIMessage(f"hello {name}")]}
    if text == "fail":
        raise ValueError("out of paper")
    if text == "count":
        return {"messages": [AIMessage(str(len(state["messages"])))]}
    if text == "ticks":
        return {"messages": [AIMessage(str(TICKS))]}
    if text == "slow":
        while True:
            TICKS += 1
            await asyncio.sleep(0.1)
    if text == "tools":
        call = {"id": "call-1", "name": "add", "args": {"a": 1}}
        return {
            "messages": [
                AIMessage("", tool_calls=[call]),
                ToolMessage("2", tool_call_id="call-1"),
                AIMessage("two"),
            ],
            "total": 2,
        }
    get_stream_writer()({"progress": 0.5, "message": "half way"})
    model = GenericFakeChatModel(messages=iter([AIMessage(f"heard {text}")]))
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(State)
builder.add_node("node", node)
builder.add_edge(START, "node")
builder.add_edge("node", END)
graph = builder.compile()

if __name__ == "__main__":
    from langgraph_api.cli import run_server

    run_server(
        "127.0.0.1",
        int(sys.argv[1]),
        reload=False,
        graphs={"talk": f"{__file__}:graph"},
        open_browser=False,
    )
