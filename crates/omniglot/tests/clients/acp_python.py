"""A client made with the protocol's Python library, moved by a test: calls come as JSON lines on stdin, and
what the library makes of the agent's messages goes to stdout.

Usage: python acp_python.py COMMAND [ARGUMENT...]
"""

import asyncio
import json
import os
import sys

import acp
from acp import schema


def tell(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def plain(value):
    """What the library understood, as the protocol writes it."""
    if value is None:
        return None
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


class Client:
    """Asks the test whatever the agent asks."""

    def __init__(self):
        self.asked = []

    async def ask(self, method, answer, **params):
        number = len(self.asked)
        future = asyncio.get_running_loop().create_future()
        self.asked.append(future)
        tell({"kind": "ask", "ask": number, "method": method, "params": params})
        value = await future
        return answer.model_validate(value) if answer else value

    async def session_update(self, session_id, update, **_):
        tell({"kind": "update", "params": {"sessionId": session_id, "update": plain(update)}})

    async def request_permission(self, options, session_id, tool_call, **_):
        return await self.ask(
            "session/request_permission",
            schema.RequestPermissionResponse,
            sessionId=session_id,
            toolCall=plain(tool_call),
            options=[plain(option) for option in options],
        )

    async def read_text_file(self, path, session_id, limit=None, line=None, **_):
        params = {"sessionId": session_id, "path": path, "line": line, "limit": limit}
        return await self.ask("fs/read_text_file", schema.ReadTextFileResponse, **params)

    async def write_text_file(self, content, path, session_id, **_):
        params = {"sessionId": session_id, "path": path, "content": content}
        await self.ask("fs/write_text_file", None, **params)

    async def create_terminal(self, command, session_id, args=None, cwd=None, env=None, **_):
        params = {"sessionId": session_id, "command": command, "args": args, "cwd": cwd}
        params["env"] = [plain(variable) for variable in env or []]
        return await self.ask("terminal/create", schema.CreateTerminalResponse, **params)

    async def terminal_output(self, session_id, terminal_id, **_):
        params = {"sessionId": session_id, "terminalId": terminal_id}
        return await self.ask("terminal/output", schema.TerminalOutputResponse, **params)

    async def wait_for_terminal_exit(self, session_id, terminal_id, **_):
        params = {"sessionId": session_id, "terminalId": terminal_id}
        return await self.ask("terminal/wait_for_exit", schema.WaitForTerminalExitResponse, **params)

    async def kill_terminal(self, session_id, terminal_id, **_):
        await self.ask("terminal/kill", None, sessionId=session_id, terminalId=terminal_id)

    async def release_terminal(self, session_id, terminal_id, **_):
        await self.ask("terminal/release", None, sessionId=session_id, terminalId=terminal_id)

    async def create_elicitation(self, message, mode, **_):
        answers = {"accept": schema.AcceptElicitationResponse, "decline": schema.DeclineElicitationResponse,
                   "cancel": schema.CancelElicitationResponse}
        value = await self.ask("elicitation/create", None, message=message, **plain(mode))
        return answers[value["action"]].model_validate(value)

    async def ext_method(self, method, params):
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method, params):
        tell({"kind": "other", "method": method, "params": params})

    def on_connect(self, conn):
        pass


def snake(params):
    """The library takes parameters under Python's names."""
    names = {"sessionId": "session_id", "mcpServers": "mcp_servers", "modeId": "mode_id", "configId": "config_id",
             "protocolVersion": "protocol_version", "clientCapabilities": "client_capabilities",
             "clientInfo": "client_info"}
    typed = {"client_capabilities": schema.ClientCapabilities, "client_info": schema.Implementation}
    found = {names.get(name, name): value for name, value in params.items()}
    return {name: typed[name].model_validate(value) if name in typed else value for name, value in found.items()}


BLOCKS = {"text": schema.TextContentBlock, "image": schema.ImageContentBlock,
          "resource_link": schema.ResourceContentBlock, "resource": schema.EmbeddedResourceContentBlock}


async def call(connection, number, method, params):
    calls = {
        "initialize": connection.initialize,
        "session/new": connection.new_session,
        "session/load": connection.load_session,
        "session/resume": connection.resume_session,
        "session/list": connection.list_sessions,
        "session/fork": connection.fork_session,
        "session/close": connection.close_session,
        "session/set_mode": connection.set_session_mode,
        "session/set_config_option": connection.set_config_option,
        "session/prompt": connection.prompt,
    }
    try:
        params = snake(params)
        if "prompt" in params:
            params["prompt"] = [BLOCKS[block["type"]].model_validate(block) for block in params["prompt"]]
        tell({"kind": "result", "call": number, "value": plain(await calls[method](**params))})
    except acp.RequestError as error:
        tell({"kind": "error", "call": number, "code": error.code, "message": str(error), "data": error.data})


async def main():
    client = Client()
    lines = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    tasks = set()
    agent = acp.spawn_agent_process(client, *sys.argv[1:], env=dict(os.environ), use_unstable_protocol=True)
    async with agent as (connection, process):
        while line := await lines.readline():
            order = json.loads(line)
            if "call" in order:
                task = asyncio.ensure_future(call(connection, order["call"], order["method"], order["params"]))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            elif "notify" in order:
                assert order["notify"] == "session/cancel", order
                await connection.cancel(session_id=order["params"]["sessionId"])
            elif "error" in order:
                error = order["error"]
                client.asked[order["answer"]].set_exception(acp.RequestError(error["code"], error["message"]))
            else:
                client.asked[order["answer"]].set_result(order["value"])
    tell({"kind": "left", "code": process.returncode})


asyncio.run(main())
