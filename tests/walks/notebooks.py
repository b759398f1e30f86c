"""A notebook without a browser: a real kernel, to which cells are sent as Jupyter does."""

import re
import time

from jupyter_client.manager import KernelManager
from walking import PATIENCE

# What a terminal would show in color.
COLORS = re.compile(r"\x1b\[[0-9;]*m")


class Cell:
    """What a cell put out."""

    def __init__(self, messages):
        self.printed = "".join(one["text"] for kind, one in messages if kind == "stream")
        shown = [one["data"] for kind, one in messages if kind == "execute_result"]
        self.shown = shown[-1] if shown else {}
        errors = [one for kind, one in messages if kind == "error"]
        self.error = errors[0]["ename"] if errors else None
        lines = errors[0]["traceback"] if errors else []
        self.traceback = COLORS.sub("", "\n".join(lines))

    def text(self):
        """What stands below it as text."""
        assert self.error is None, self.traceback
        return self.shown.get("text/plain", "")

    def html(self):
        """What stands below it in a browser."""
        assert self.error is None, self.traceback
        return self.shown["text/html"]


class Notebook:
    """A kernel in a user's folder."""

    def __init__(self, place):
        self.kernel = KernelManager(connection_file=str(place.folder / "kernel.json"))
        self.kernel.start_kernel(cwd=str(place.folder), env=place.environment)
        self._meet()

    def _meet(self):
        self.client = self.kernel.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    def begin(self, code):
        """Starts a cell."""
        return self.client.execute(code)

    def end(self, cell):
        """Waits for one that was started."""
        messages, until = [], time.monotonic() + PATIENCE
        while True:
            message = self.client.get_iopub_msg(timeout=until - time.monotonic())
            if message["parent_header"].get("msg_id") != cell:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return Cell(messages)
            messages.append((kind, content))

    def run(self, code):
        """A cell from its start to its end."""
        return self.end(self.begin(code))

    def _reply(self, request):
        until = time.monotonic() + PATIENCE
        while True:
            message = self.client.get_shell_msg(timeout=until - time.monotonic())
            if message["parent_header"].get("msg_id") == request:
                return message["content"]

    def tab(self, code):
        """What Tab offers behind this."""
        return self._reply(self.client.complete(code, len(code)))["matches"]

    def help(self, code):
        """What `code?` shows."""
        reply = self._reply(self.client.execute(f"{code}?"))
        return COLORS.sub("", reply["payload"][0]["data"]["text/plain"])

    def interrupt(self):
        """*Interrupt the kernel*."""
        self.kernel.interrupt_kernel()

    def restart(self):
        """*Restart the kernel*."""
        self.client.stop_channels()
        self.kernel.restart_kernel()
        self._meet()

    def pid(self):
        """Of the kernel."""
        return self.kernel.provisioner.pid

    def close(self):
        """Shuts the kernel down."""
        self.client.stop_channels()
        self.kernel.shutdown_kernel(now=True)
