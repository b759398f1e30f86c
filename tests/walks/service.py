"""What systemd does with the unit of `farcall service`, for a user without it: /run, /etc and /var
are folders of a place."""

import re
import shlex
import signal
import subprocess

from walking import PATIENCE, eventually


class Service:
    """A unit that is started, reloaded and stopped."""

    def __init__(self, place, unit):
        self.place, self.unit = place, unit
        self.folder = place.folder / "var/lib/farcall"
        for name in ("run/farcall", "etc/farcall", "var/lib/farcall", "var/cache"):
            (place.folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        words = shlex.split(" ".join(self._values("Environment")))
        self.environment = dict(word.split("=", 1) for word in words)
        self.address = f"unix:{place.folder}/run/farcall/server.sock"
        self.log = place.folder / "server.log"

    def here(self, text):
        """With the place's folders."""
        return re.sub(r"(?<![\w.])/(run|etc|var)\b", rf"{self.place.folder}/\1", text)

    def _values(self, key):
        found = re.findall(rf"^{key}=(.*)$", self.unit, flags=re.M)
        assert found, f"the unit has no {key}"
        return [self.here(one) for one in found]

    def start(self, options=""):
        """`systemctl start`: waits until the server accepts clients."""
        command = f"{self._values('ExecStart')[0]} {options}"
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self._values("WorkingDirectory")[0],
                env={**self.place.environment, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.place.started.append(self.process)
        socket = self.place.folder / "run/farcall/server.sock"
        eventually(lambda: socket.exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def reload(self):
        """`systemctl reload`."""
        return self.place.run(self._values("ExecReload")[0])

    def begin_stop(self):
        """`systemctl stop`, which does not wait here."""
        assert "KillMode=mixed" in self.unit
        self.process.send_signal(signal.SIGTERM)

    def end_stop(self):
        """Waits for the end."""
        self.process.wait(PATIENCE)
        return self.process.returncode

    def command(self, text, **options):
        """A command of an administrator, who is the service's user."""
        return self.place.run(f"{text} --server {self.address}", **options)

    def ca(self, text, **options):
        """A command of `farcall ca`, with the service's folders."""
        return self.place.run(f"XDG_CONFIG_HOME={self.place.folder}/etc {text}", **options)
