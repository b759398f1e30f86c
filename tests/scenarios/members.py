"""A metaserver that publishes nothing of a program's, and servers that joined it, for tests of
programs that know one server."""

import json
import pathlib
import subprocess
import time

COMES = 60


class Members:
    """They end with the block. `address` is the metaserver's, `members` are the others'."""

    def __init__(self, program, folder, files, count=2, env=None):
        self.program, self.env = str(program), env
        self.folder, self.files, self.count = pathlib.Path(folder), list(map(str, files)), count
        self.processes, self.members = [], []

    def __enter__(self):
        try:
            nothing = self.folder / "nothing.idl"
            nothing.write_text("Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n")
            self.address = self.start("meta", nothing)
            for index in range(self.count):
                self.members.append(self.start(f"m{index}", "--join", self.address, *self.files))
            self.await_members()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(COMES)
            process.stdout.close()

    def start(self, name, *arguments):
        """A server of this name: its address."""
        address = f"unix:{self.folder}/{name}"
        process = subprocess.Popen(
            [self.program, "serve", "--listen", address, *arguments],
            stdout=subprocess.PIPE,
            stderr=(self.folder / f"{name}.log").open("wb"),
            env=self.env,
        )
        self.processes.append(process)
        assert process.stdout.readline().strip() == address.encode(), name
        return address

    def said(self, address, *words):
        command = [self.program, *words, "--server", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMES, env=self.env)
        return done.stdout

    def routines(self, address):
        return {one["full_name"] for one in json.loads(self.said(address, "ls", "--json"))}

    def await_members(self):
        """The interfaces of a server come one report after the other."""
        wanted = self.routines(self.members[0])
        end = time.monotonic() + COMES
        while time.monotonic() < end:
            known = json.loads(self.said(self.address, "servers", "--json"))
            whole = {one["name"] for one in known if one["routines"] >= len(wanted)}
            if set(self.members) <= whole and wanted <= self.routines(self.address):
                return
            time.sleep(0.1)
        raise AssertionError(f"not all have come: {known}")
