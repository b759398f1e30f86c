"""A project of a Java user's own takes the client from Maven, by the pom.xml that the tutorial
shows; needs the stage."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
PAGE = (ROOT / "docs/tutorial/java.md").read_text()
TIME_MAX = 300


def shown(name):
    """The reader's own file of this name, as the page shows it."""
    return re.search(rf"^```\w+ name={re.escape(name)}\n(.*?)^```$", PAGE, flags=re.S | re.M)[1]


def home():
    return subprocess.run(
        [ROOT / "tools/find-jdk.sh"], capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def maven(tmp_path):
    """Maven with a repository of its own: what was downloaded once is linked, and nothing is added
    to the user's."""
    if not home() or not shutil.which("mvn") or not (STAGE / "share/java/farcall.jar").exists():
        pytest.skip("no Maven, no Java that is new enough, or no farcall.jar (make build)")
    kept, own = pathlib.Path.home() / ".m2/repository", tmp_path / "repository"
    if kept.exists():
        shutil.copytree(
            kept, own, copy_function=os.symlink, ignore=shutil.ignore_patterns("farcall")
        )

    def run(*words):
        command = ["mvn", "-B", "-ntp", "-q", f"-Dmaven.repo.local={own}", *words]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "JAVA_HOME": home()},
            capture_output=True,
            text=True,
            timeout=TIME_MAX,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return run


def test_a_project_of_ones_own(maven, tmp_path):
    maven(
        "-f",
        ROOT / "clients/java/pom.xml",
        f"-Dfarcall.made={tmp_path / 'made'}",
        "-Dmaven.test.skip=true",
        "install",
    )
    sources = tmp_path / "src/main/java"
    sources.mkdir(parents=True)
    (sources / "Wrong.java").write_text(shown("Wrong.java"))
    (tmp_path / "pom.xml").write_text(shown("pom.xml"))
    maven("compile")
    jar = tmp_path / "repository/org/farcall/farcall/0.1.0/farcall-0.1.0.jar"
    command = [
        f"{home()}/bin/java",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        f"{tmp_path}/target/classes:{jar}",
        "Wrong",
    ]
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("FARCALL_") and name != "LD_LIBRARY_PATH"
    }
    without = subprocess.run(
        command, env=ours, cwd=tmp_path, capture_output=True, text=True, timeout=TIME_MAX
    )
    assert "there is no libfarcall.so.0" in without.stderr and "$FARCALL_LIBRARY" in without.stderr
    ours = {
        **ours,
        "FARCALL_LIBRARY": str(STAGE / "lib/libfarcall.so.0"),
        "PATH": f"{STAGE}/bin:{os.environ['PATH']}",
    }
    done = subprocess.run(
        command, env=ours, cwd=tmp_path, capture_output=True, text=True, timeout=TIME_MAX
    )
    assert done.stdout.startswith("call: a row has 1 items, and the first one 2"), (
        done.stdout + done.stderr
    )
