"""Container images of an experiment, as its manifest lists them."""

from pathlib import Path

from tare.lab.errors import BuildError
from tare.lab.export import oci
from tare.lab.project import build, render, requirements
from tare.lab.project.build import Say
from tare.lab.project.catalog import Loaded


def export(loaded: Loaded, name: str, folder: Path, say: Say) -> Path:
    """Build what the image holds and write its archive into `folder`, which is made.

    Raises Unavailable, BuildError and OSError.
    """
    manifest = loaded.image(name)
    requirements.meet([*manifest.requires, *requirements.of_components(manifest.components)], say)
    built = build.components(manifest.components, say)
    names = build.names(built, None)
    entries: dict[str, oci.Entry] = {}
    for place, template in manifest.files.items():
        where = f"{loaded.folder / 'experiment.toml'}: images.{name}.files.{place}"
        source = Path(render.text(template, names, where))
        try:
            entries.update(oci.tree(place, source))
        except OSError as error:
            raise BuildError(f"{where}: {source}: {error.strerror}") from error
    for place, mode in manifest.folders.items():
        entries[place] = oci.Entry(int(mode, 8))
    for place, link in manifest.links.items():
        entries[place] = oci.Entry(0o777, link=link)
    settings = oci.Settings(
        entrypoint=manifest.entrypoint,
        command=manifest.command,
        user=manifest.user,
        env=manifest.env,
    )
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{loaded.name}-{name}.tar"
    say(f"writing {target} …")
    oci.write(target, reference(loaded.name, name), entries, settings)
    return target


def reference(experiment: str, image: str) -> str:
    """Return the image's name once it is loaded."""
    return f"localhost/tare/{experiment}:{image}"
