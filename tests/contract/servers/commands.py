"""Commands on the small server of these tests, as a user calls them."""

import shutil
import sys
from pathlib import Path

from commandline import Done, call

SERVER = Path(__file__).with_name("server.py")
GOOD = f"{sys.executable} {SERVER} {{port}}"
ATTEMPTS = 5
_NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    server { SERVER }
}
"""


def nginx_conf(server: str) -> str:
    """A configuration of nginx with one server, as its user would write it for tare."""
    return _NGINX.replace("SERVER", server)


def tare(folder: Path, *arguments: str) -> Done:
    """Call a command in the folder; again if other work of the machine disturbed its duels: their
    gate is right, and not the matter.
    """
    done = call(folder, *arguments)
    for _ in range(1, ATTEMPTS):
        if done.returncode != 1 or "undisturbed, wanted" not in done.stderr:
            break
        shutil.rmtree(folder / "runs")
        done = call(folder, *arguments)
    return done
