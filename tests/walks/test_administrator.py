"""The administrator's day: a server is installed, made a service and given users; who is there, what
it does and what went wrong is found; a call that runs away is stopped, a user revoked, and the
server restarted and upgraded without a call lost."""

import json
import re
import shutil
import socket
import subprocess
import urllib.request

import pytest
from pages import ROOT
from service import Service
from walking import PATIENCE, STAGE, Page, changed, eventually

SERVER = Page("how-to/run-a-server.md")
NETWORK = Page("how-to/serve-on-a-network.md")
# What two groups of users have the site publish.
MODEL = """Module slow;
Globals {
#include <time.h>
}
Define nap(IN double seconds, OUT double slept)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0)
        ;
    *slept = seconds;
}
Define search(IN int from, OUT int found)
{
    volatile int searching = 1;
    while (searching)
        ;
    *found = from;
}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Site:
    """The host of the walk."""

    def __init__(self, place):
        self.place = place
        self.port, self.metrics = free_port(), free_port()
        self.prefix = place.folder / "usr/local"
        place.environment["PATH"] = f"{self.prefix}/bin:{place.environment['PATH']}"

    def install(self):
        """`make install` of what was built."""
        assert "make install" in SERVER.command("make dist")
        install = [ROOT / "tools/install.sh", STAGE, self.prefix]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)

    def user(self, name):
        """The variables of a user whose file the administrator handed over."""
        home = self.place.folder / "home" / name
        home.mkdir(parents=True)
        shutil.copy(self.place.folder / f"etc/farcall/ca/users/{name}.pem", home)
        return f"FARCALL_CREDENTIALS={home}/{name}.pem FARCALL_SERVER=tls://localhost:{self.port}"

    def begin(self, user, command):
        """A command of a user that takes a while."""
        return self.place.begin(
            f"env {user} {command}", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def calls(self):
        """The routines that run, by user."""
        status = json.loads(self.service.command("farcall top --once --json"))
        running = [call for call in status["calls"] if call["stage"] == "running"]
        return {call["principal"]: call["routine"] for call in running}


@pytest.fixture
def site(place):
    """Installed, configured and started, as the page says."""
    site = Site(place)
    site.install()
    site.report = place.run(f"{SERVER.command('farcall doctor')} ")
    model = place.write("slow.idl", MODEL)
    serve = SERVER.command("farcall service lapack").partition(">")[0].replace("fftw", str(model))
    site.service = service = Service(place, place.run(serve))
    text = changed(
        SERVER.file("farcall.toml"),
        ("0.0.0.0:7070", f"127.0.0.1:{site.port}"),
        ('{ who = ["anna"], call = ["*"] }', '{ who = ["anna", "bert"], call = ["*"] }'),
        ('audit_file = "audit.log"', 'audit_file = "audit.log"\nexecutables_max = 2'),
    )
    (place.folder / "etc/farcall/farcall.toml").write_text(service.here(text))
    for shown in ("farcall ca init --server HOST", "farcall ca user anna"):
        command = SERVER.command(f"sudo -u farcall env XDG_CONFIG_HOME=/etc {shown}")
        service.ca(command.partition("/etc ")[2].replace("HOST", "localhost"))
    service.ca(NETWORK.command("farcall ca user bert"))
    metrics = SERVER.command("farcall serve --metrics").split()[3]
    site.start_options = f"--metrics {metrics.replace('9464', str(site.metrics))}"
    service.start(site.start_options)
    site.anna, site.bert = site.user("anna"), site.user("bert")
    return site


def logged(site, **facts):
    """The lines of the log that say this."""
    lines = [json.loads(line) for line in site.service.log.read_text().splitlines()]
    return [one for one in lines if facts.items() <= one.items()]


def solve(site, user):
    """The page's first call of a user: what it prints."""
    command = NETWORK.command("farcall call dgesv").partition(" --server")[0]
    return site.place.run(f"env {user} {command}")


def watch(site):
    """Who is connected, and what do they do? Bert's call runs."""
    shown = site.service.command(SERVER.command("farcall top --once"))
    assert re.search(r"^anna +lapack/dgesv +1 ", shown, flags=re.M), shown
    assert re.search(r"\bbert +slow/search +running ", shown), shown
    counted = SERVER.command("curl -s http://127.0.0.1:9464").split()[2]
    with urllib.request.urlopen(counted.replace("9464", str(site.metrics))) as answer:
        metrics = answer.read().decode()
    assert 'returned_total{principal="anna",routine="lapack/dgesv"} 1' in metrics


def stop_one(site, runaway):
    """Ends the call that runs away, and nobody else's."""
    beside = site.begin(site.anna, "farcall call slow/nap 3")
    eventually(lambda: len(site.calls()) == 2)
    status = json.loads(site.service.command("farcall top --once --json"))
    first = next(call["call"] for call in status["calls"] if call["principal"] == "bert")
    cancel = SERVER.command("farcall top --server").split()[4]
    site.service.command(f"farcall top {cancel} {first}")
    said, _ = runaway.communicate(timeout=PATIENCE)
    assert runaway.returncode != 0 and "cancelled the call" in said, said
    said, _ = beside.communicate(timeout=PATIENCE)
    assert beside.returncode == 0 and "slept = 3" in said, said


def revoke(site):
    """Bert does it again, and is revoked."""
    runaway = site.begin(site.bert, "farcall call slow/search 8")
    eventually(lambda: site.calls() == {"bert": "slow/search"})
    site.service.ca(NETWORK.command("farcall ca revoke anna").replace("anna", "bert"))
    said, _ = runaway.communicate(timeout=PATIENCE)
    assert runaway.returncode == 1 and "revoked" in said, said
    eventually(lambda: not site.calls())
    assert "it is revoked" in site.place.run(f"env {site.bert} farcall ls", status=1)


def take_a_right(site):
    """The table of rights is read again."""
    table = site.place.folder / "etc/farcall/farcall.toml"
    table.write_text(changed(table.read_text(), ('call = ["*"]', 'call = ["lapack"]')))
    site.service.reload()
    said = site.place.run(f"env {site.anna} farcall call slow/nap 0.1", status=1)
    assert '"anna" may not call routines of module "slow"' in said, said


def audit(site):
    """Who did what: lines of the audit log."""
    lines = (site.service.folder / "audit.log").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_server_is_installed_watched_and_its_users_are_ruled(site):
    assert re.search(r"^(good|warning|wrong) +open files ", site.report, flags=re.M), site.report
    told = site.service.command("farcall doctor")
    assert re.search(r"^good +server ", told, flags=re.M), told
    assert "1.0  0.5" in solve(site, site.anna)
    runaway = site.begin(site.bert, "farcall call slow/search 7")
    eventually(lambda: site.calls() == {"bert": "slow/search"})
    watch(site)
    stop_one(site, runaway)
    revoke(site)
    assert "1.0  0.5" in solve(site, site.anna)
    take_a_right(site)
    done = {tuple(map(one.get, ("principal", "routine", "outcome"))) for one in audit(site)}
    assert {
        ("anna", "lapack/dgesv", "done"),
        ("anna", "slow/nap", "done"),
        ("anna", "slow/nap", "permission-denied"),
        ("bert", "slow/search", "cancelled"),
    } <= done, done
    assert any(one.get("order") == "reload" for one in audit(site))


def test_a_restart_and_an_upgrade_lose_no_call(site):
    place, service = site.place, site.service
    running = site.begin(site.anna, "farcall call slow/nap 2")
    eventually(site.calls)
    # Of these one runs beside it, and the others wait.
    names = [f"slow/nap {seconds}" for seconds in (1.5, 0.1, 0.2, 0.3)]
    ids = [place.run(f"env {site.anna} farcall submit {name}").strip() for name in names]
    assert "systemctl restart farcall" in (ROOT / "docs" / SERVER.document).read_text()
    # The upgrade: programs that run keep the file that they were started from.
    site.install()
    service.begin_stop()
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0 and "slept = 2" in said, said
    assert service.end_stop() == 0
    service.start(site.start_options)
    for name, one in zip(names, ids):
        said = place.run(f"env {site.anna} farcall fetch {one}")
        assert f"slept = {name.split()[1]}" in said, said
    forget = " ".join(f"--forget {one}" for one in ids)
    place.run(f"env {site.anna} farcall kept {forget}")
    told = service.command(SERVER.command("farcall doctor").partition(" ||")[0])
    assert re.search(r"^good +server ", told, flags=re.M), told
    service.command("farcall drain")
    assert service.end_stop() == 0
    assert not list(place.folder.glob("run/farcall/*")), "nothing is left of the service"
