"""The subject of a run: an experiment of the project, or a user's own servers."""

from tare.lab.errors import TareError
from tare.lab.project import catalog, servers
from tare.lab.project.catalog import Loaded
from tare.lab.run.store import Store, write_json
from tare.model.servers import Servers
from tare.model.trial import Plan

_SERVERS = "servers.json"


def keep(store: Store, own: Servers) -> None:
    """Store the user's servers with their run, so that it can be resumed."""
    write_json(store.folder / _SERVERS, own)


def of(store: Store, plan: Plan) -> Loaded:
    """Return what the run measures. Raises TareError."""
    file = store.folder / _SERVERS
    if not file.exists():
        return catalog.load(plan.experiment, plan.study)
    try:
        return servers.loaded(Servers.model_validate_json(file.read_text()))
    except (OSError, ValueError) as error:
        raise TareError(f"{file}: not the servers of a run: {error}") from error
