"""Java programs as owners of Ninf-G have them: trees of `old/` are copied, made by their own
Makefiles with javac, and run, without any edit."""

import os
import pathlib
import select
import shutil
import socket
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
JAR = STAGE / "share/java/farcall.jar"
OLD = pathlib.Path(__file__).parent / "old"


def jdk():
    found = subprocess.run([ROOT / "tools/find-jdk.sh"], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else ""


JDK = jdk()
pytestmark = pytest.mark.skipif(
    not (JDK and JAR.exists()), reason="there is no JDK 22 or newer, or no farcall.jar"
)


def tree(release, folder):
    copied = folder / release
    shutil.copytree(OLD / release, copied)
    copied.chmod(0o700)
    return copied


def environment_of(folder, variables):
    environment = {
        **os.environ,
        "NG_DIR": str(STAGE / "ng"),
        "NINF_DIR": str(STAGE / "ng"),
        # What ng_gen names its lists after, and the configuration files name.
        "NG_HOSTNAME": "here.test",
        "XDG_RUNTIME_DIR": str(folder),
        "CLASSPATH": f"{JAR}:.",
        "FARCALL_LIBRARY": str(STAGE / "lib/libfarcall.so.0"),
        "PATH": f"{JDK}/bin:{STAGE / 'ng/bin'}:{STAGE / 'bin'}:{os.environ['PATH']}",
        **variables,
    }
    for name in ("FARCALL_SERVER", "NG_CONFIG_FILE", "NINF_SERVER", "NINF_SERVER_PORT"):
        if name not in variables:
            environment.pop(name, None)
    return environment


def run(folder, *command, **variables):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment_of(folder, variables),
        capture_output=True,
        text=True,
        timeout=240,
    )
    return done


def made(folder, *command, **variables):
    done = run(folder, *command, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def java(folder, *words, **variables):
    return made(folder, "java", "--enable-native-access=ALL-UNNAMED", *words, **variables)


def passed(done):
    """How many checks a program made, all of which passed."""
    count, _, failed = done.stdout.split("\n")[-2].partition(" passed, ")
    assert failed == "0 failed", done.stdout + done.stderr
    return int(count)


def test_of_ninf_g_2(tmp_path):
    folder = tree("ninf-g-2", tmp_path)
    made(folder, "make", "-s")
    done = java(folder, "Sample")
    assert passed(done) >= 39
    # Its log level is 1, which leaves out all warnings.
    assert done.stderr == ""


def test_of_ninf_g_4_and_5(tmp_path):
    folder = tree("ninf-g-5", tmp_path)
    made(folder, "make", "-s")
    for configuration, unused, in_c in (
        (
            "client.conf",
            ["jobmanager", "the type GT4py"],
            ["save_sessionInfo", "argument_transfer"],
        ),
        (
            "client-4.conf",
            [
                "refresh_credential",
                "MDS_SERVER",
                "the type GT4py",
                "job_queue",
                "heartbeat_timeoutCountOnTransfer",
            ],
            [],
        ),
    ):
        done = java(folder, "Trials", configuration)
        assert passed(done) >= 114
        # It is activated twice; each time what has no effect is said once, and what has one in C
        # alone in one line.
        said = [line for line in done.stderr.split("\n") if line.startswith("farcall: Warning")]
        for words in unused:
            line = f"{words} has no effect"
            assert sum(line in one for one in said) == 2, (line, done.stderr)
        assert len(said) == 2 * len(unused) + (2 if in_c else 0), done.stderr
        own = [line for line in said if "no effect on calls from Java" in line]
        assert all(name in line for line in own for name in in_c)
    assert " of trials/bytes begins" in (folder / "comm.log").read_text()


def test_of_the_first_ninf(tmp_path):
    folder = tree("ninf-1", tmp_path)
    made(folder, "make", "-s")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [STAGE / "ng/bin/ninf_serv_tcp", "-port", port, "ninf.conf"],
            cwd=folder,
            env=environment_of(folder, {"FARCALL_TOKEN_FILE": ""}),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            ready, _, _ = select.select([server.stdout], [], [], 60)
            assert ready and server.stdout.readline().strip().endswith(f":{port}")
            words = [f"-Dport={port}", "Client", "-server", "localhost", "-port", port, "rest"]
            done = java(folder, *words, FARCALL_TOKEN_FILE="")
            assert passed(done) >= 21
            # The server may as well be the environment's.
            words = [f"-Dport={port}", "Client", "-debug", "rest"]
            done = java(
                folder,
                *words,
                FARCALL_TOKEN_FILE="",
                NINF_SERVER="localhost",
                NINF_SERVER_PORT=port,
            )
            assert passed(done) >= 21
        finally:
            server.terminate()
            server.wait(30)
            server.stdout.close()
