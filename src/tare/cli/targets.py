"""Find the running instances that a command names."""

from tare.lab.errors import TareError, UnknownName, no_such
from tare.lab.paths import ROOT
from tare.lab.project.catalog import split_target
from tare.lab.project.index import experiment_names, variant_files
from tare.lab.run import instances
from tare.lab.run.instances import Instance


def chosen(target: str | None) -> list[Instance]:
    """The variant named, or everything that is up. Raises TareError when it is not up."""
    known = instances.all_instances()
    if target is None:
        return known
    name, variant = split_target(target)
    found = [each for each in known if each.experiment == name and variant in (None, each.variant)]
    if not found:
        if name not in experiment_names():
            raise UnknownName(no_such("experiment", name, experiment_names()))
        variants = [file.parent.name for file in variant_files(ROOT / "experiments" / name)]
        # One of the user's own folder is known only by its logs.
        if variant not in (None, *variants) and not instances.kept_logs(name, variant or ""):
            raise UnknownName(no_such(f"variant of {name}", str(variant), variants))
        up = ", ".join(each.name for each in known) or "nothing"
        wanted = target if variant else f"{target}/VARIANT"
        raise TareError(f"{target} is not up; up is: {up}. Start it with: tare up {wanted}")
    return found


def the_one(target: str | None) -> Instance:
    """The variant named, or the only one that is up. Raises TareError."""
    found = chosen(target)
    if not found:
        raise TareError("nothing is up; start a variant with: tare up EXPERIMENT/VARIANT")
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise TareError(f"several variants are up, name one of: {names}")
    return found[0]
