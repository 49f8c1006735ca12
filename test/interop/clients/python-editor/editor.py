"""An editor by the Python SDK of the Agent Client Protocol: one prompt in a folder, with files of its own."""

import asyncio
import json
import sys
from pathlib import Path

import acp
from acp.schema import ClientCapabilities, FileSystemCapabilities

command, folder, prompt = sys.argv[1:4]
seen: dict = {"updates": [], "asked": [], "diffs": []}


class Editor(acp.Client):
    async def session_update(self, session_id, update, **kwargs):
        seen["updates"].append(update.session_update)
        for part in getattr(update, "content", None) or []:
            if getattr(part, "type", "") == "diff":
                seen["diffs"].append([part.old_text, part.new_text])

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        seen["asked"].append(tool_call.title)
        outcome = {"outcome": "selected", "optionId": options[0].option_id}
        return acp.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def read_text_file(self, session_id, path, line=None, limit=None, **kwargs):
        return acp.ReadTextFileResponse(content="unsaved: " + Path(path).read_text())

    async def write_text_file(self, session_id, path, content, **kwargs):
        Path(path).write_text(content)
        return acp.WriteTextFileResponse()

    def on_connect(self, conn):
        pass


async def main():
    program, *args = json.loads(command)
    async with acp.spawn_agent_process(Editor(), program, *args, cwd=folder) as (agent, _):
        offered = ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=True, write_text_file=True)
        )
        info = await agent.initialize(acp.PROTOCOL_VERSION, client_capabilities=offered)
        session = await agent.new_session(cwd=folder, mcp_servers=[])
        answer = await agent.prompt(session.session_id, [acp.text_block(prompt)])
        seen["agent"] = info.agent_info.name
        seen["modes"] = [mode.id for mode in session.modes.available_modes]
        seen["stop"] = answer.stop_reason
    print(json.dumps(seen))


asyncio.run(main())
