"""The subject of a run: an experiment of the project, or a user's own servers."""

import shutil
from pathlib import Path

from tare.lab.errors import TareError
from tare.lab.project import catalog, parts, servers
from tare.lab.project.catalog import Loaded
from tare.lab.run.store import Store, write_json
from tare.model.servers import Servers
from tare.model.trial import Plan

_SERVERS = "servers.json"
_LOG = "replayed.log"
"""A copy, since a log may grow while it is replayed."""


def keep(store: Store, own: Servers) -> None:
    """Store the user's servers, and the log that is replayed, with their run, so that it can be
    resumed. Raises TareError for a log that cannot be copied.
    """
    write_json(store.folder / _SERVERS, own)
    if own.replay is not None:
        try:
            shutil.copyfile(own.replay.file, store.folder / _LOG)
        except OSError as error:
            raise TareError(f"--replay: {own.replay.file} cannot be copied: {error}") from error


def of(store: Store, plan: Plan) -> Loaded:
    """Return what the run measures. Raises TareError."""
    return loaded(plan, own_servers(store))


def own_servers(store: Store) -> Servers | None:
    """Return the user's servers, if the run measures them. Raises TareError."""
    file = store.folder / _SERVERS
    if not file.exists():
        return None
    try:
        own = Servers.model_validate_json(file.read_text())
    except (OSError, ValueError) as error:
        raise TareError(f"{file}: not the servers of a run: {error}") from error
    if own.replay is None:
        return own
    copied = own.replay.model_copy(update={"file": str(store.folder / _LOG)})
    return own.model_copy(update={"replay": copied})


def loaded(plan: Plan, own: Servers | None) -> Loaded:
    """Return what a plan measures, which is `own` if there are any. Raises TareError."""
    return planned(plan) if own is None else servers.loaded(own)


def planned(plan: Plan) -> Loaded:
    """Return the plan's experiment, with its baseline, the user's variants and the exchanged parts.

    Raises TareError.
    """
    outside = Path(plan.variants_dir) if plan.variants_dir else None
    found = catalog.load(plan.experiment, plan.study, outside=outside)
    found.choose(plan.variants)
    if plan.baseline != found.study.baseline:
        found = found.compared_with(plan.baseline)
    return parts.again(found, plan.parts) if plan.parts else found
