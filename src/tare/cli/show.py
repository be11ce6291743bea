"""`tare show`: what an experiment or a variant is."""

from pathlib import Path

import click

from tare.cli.completion import targets
from tare.cli.hanging import echo
from tare.cli.output import json_option, print_json
from tare.cli.variants_dir import variants_dir_option
from tare.lab.errors import UnknownName, no_such
from tare.lab.project import catalog, index, parts


@click.command()
@click.argument(
    "target",
    metavar="EXPERIMENT[/STUDY|/VARIANT]",
    shell_complete=targets(studies=True, variants=True),
)
@variants_dir_option
@json_option
def command(target: str, variants_dir: Path | None, as_json: bool) -> None:
    """Show an experiment's studies and variants, a study's factors and outcomes, or a variant's
    roles and requirements.

    \b
    tare show filters
    tare show filters/price
    tare show filters/c-module
    """
    name, part = catalog.split_target(target)
    loaded = catalog.load(name, outside=variants_dir)
    if part is None:
        if as_json:
            print_json(loaded.experiment)
        else:
            _experiment(loaded)
    elif part in index.study_names(loaded.folder):
        asked = catalog.load(name, part)
        if as_json:
            print_json(asked.study)
        else:
            _study(asked)
    else:
        if part not in loaded.variants:
            known = [*index.study_names(loaded.folder), *loaded.listed()]
            raise UnknownName(no_such(f"study or variant of {name}", part, known))
        if as_json:
            print_json(loaded.variants[part])
        else:
            _variant(loaded, part)


def _experiment(loaded: catalog.Loaded) -> None:
    echo(f"{loaded.name}: ", f"{loaded.experiment.question}\n")
    click.echo("studies (* measured by default)")
    for name in index.study_names(loaded.folder):
        mark = "*" if name in loaded.experiment.studies else " "
        question = catalog.load(loaded.name, name).study.question
        echo(f" {mark}{name:18} ", question)
    click.echo()
    echo("variants ", "(baseline first; + measured only if named by --variants)")
    for name in loaded.choose(loaded.listed()):
        mark = "+" if loaded.variants[name].extended else " "
        echo(f" {mark}{name:18} ", loaded.variants[name].title)
    if names := parts.names(loaded):
        click.echo("\nparts that your own file may replace")
    for name in names:
        variants = loaded.variants.items()
        having = {each: variant.parts[name] for each, variant in variants if name in variant.parts}
        about = next(part.about for part in having.values())
        echo(f"  --{name.replace('_', '-') + ' FILE':16} ", f"{about} (of {', '.join(having)})")


def _study(loaded: catalog.Loaded) -> None:
    study = loaded.study
    echo(f"{loaded.title}: ", f"{study.question}\n")
    echo("parameters ", "(set with --duration, --connections, …, or -p NAME=VALUE)")
    for key, value in study.parameters.items():
        echo(f"  {key:18} ", str(value))
    click.echo("\nfactors and levels")
    for key, factor in study.factors.items():
        echo(f"  {key:18} ", f"{', '.join(factor.levels)}   {factor.about}")
    click.echo("\noutcomes (* gets a verdict)")
    outcomes = loaded.outcomes
    for key in study.reported:
        mark, outcome = "*" if key in study.judged else " ", outcomes[key]
        echo(f" {mark}{key:24} ", f"{outcome.title}, {outcome.unit}, {outcome.better} is better")


def _variant(loaded: catalog.Loaded, name: str) -> None:
    variant = loaded.variants[name]
    echo(f"{loaded.name}/{name}: ", f"{variant.title}\n")
    if variant.summary:
        echo("", f"{variant.summary}\n")
    echo("components  ", ", ".join(variant.components) or "none")
    for role, item in variant.roles.items():
        if item.argv:
            echo("role        ", f"{role} on the {item.cpus}'s CPUs: {' '.join(item.argv)}")
    for need in variant.requires:
        kinds = (need.debian, need.command, need.path, need.cpu, need.pci)
        echo("requires    ", next(filter(None, kinds), "root"))
    for key, part in variant.parts.items():
        echo("part        ", f"--{key.replace('_', '-')} FILE: {part.about}")
    for rule in variant.levels:
        if rule.unsupported:
            echo("not where   ", f"{rule.when}: {rule.unsupported}")
    for factor, settings in variant.differences.items():
        click.echo(f"\nwhat differs by {factor}")
        for setting, levels in settings.items():
            click.echo(f"  {setting}")
            for level, what in levels.items():
                echo(f"    {level:12} ", str(what))
        click.echo()
    echo("read more   ", f"{loaded.variant_folder(name) / 'README.md'}")
