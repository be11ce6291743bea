"""Copies of variants, outside the project, for a user to change."""

import re
import shutil
from pathlib import Path

from tare.lab.errors import TareError, UnknownName
from tare.lab.paths import ROOT
from tare.lab.project.catalog import Loaded
from tare.lab.project.index import study_names
from tare.model.fields import NAME
from tare.stats.plan_order import CONTROL


def copy(loaded: Loaded, source: str, name: str, into: Path) -> Path:
    """Copy the variant `source` as `name` to the user's folder, and return the copy's folder.

    Nothing else need be changed: the copy is measured as its source is. Raises UnknownName for a
    source or name that cannot be, and TareError.
    """
    loaded.choose([source])
    if re.fullmatch(NAME, name) is None or name in (CONTROL, *study_names(loaded.folder)):
        raise UnknownName(
            f"{name!r}: expected lower-case letters, digits and -, and neither {CONTROL} nor the "
            f"name of a study of {loaded.name}"
        )
    if name in loaded.variants:
        raise UnknownName(f"{loaded.name} has a variant {name!r}; choose another name")
    if into.is_relative_to(ROOT):
        raise TareError(
            f"{into} lies in the project; name a folder outside with --into (CONTRIBUTING.md says "
            "how a variant is added to the project)"
        )
    own = loaded.variant_folder(source)
    if crates := sorted(own.rglob("Cargo.toml")):
        raise TareError(
            f"{loaded.name}/{source} is built from {crates[0].relative_to(own)}, a member of the "
            "project's Cargo workspace, and cannot be copied out of it; CONTRIBUTING.md says how a "
            "variant is added to the project"
        )
    target = into / loaded.name / name
    if target.exists():
        raise TareError(f"{target} is there already; choose another name, or remove it")
    shutil.copytree(own, target, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = target / "variant.toml"
    manifest.write_text(_adapted(manifest.read_text(), source, name))
    (target / "README.md").write_text(
        f"# {name}\n\nA copy of {loaded.name}/{source}. Say here how it differs.\n"
    )
    return target


def _adapted(manifest: str, source: str, name: str) -> str:
    """Return the manifest of a copy: its editor's schema, its title, and what it is a copy of."""
    schema = ROOT / "docs" / "schema" / "variant.json"
    text = re.sub(r"^#:schema .*", lambda _: f"#:schema {schema}", manifest)
    text = re.sub(r'^title = "(.*)"$', rf'title = "\1 ({name})"', text, count=1, flags=re.MULTILINE)
    text = re.sub(r"^(hidden|extended) = true\n", "", text, flags=re.MULTILINE)
    if re.search(r"^from = ", text, re.MULTILINE):
        return text
    return re.sub(r"^schema = 1$", f'schema = 1\nfrom = "{source}"', text, count=1, flags=re.M)
