"""`tare show`: what an experiment or a variant is."""

import click

from tare.cli.output import json_option, print_json
from tare.lab.project import catalog


@click.command()
@click.argument("target", metavar="EXPERIMENT[/VARIANT]")
@json_option
def command(target: str, as_json: bool) -> None:
    """Show an experiment's parameters, factors and outcomes, or a variant's roles and needs.

    \b
    tare show filters
    tare show filters/c-module
    """
    name, variant = catalog.split_target(target)
    loaded = catalog.load(name)
    if variant is None:
        if as_json:
            print_json(loaded.experiment)
        else:
            _experiment(loaded)
        return
    loaded.choose([variant])
    if as_json:
        print_json(loaded.variants[variant])
    else:
        _variant(loaded, variant)


def _experiment(loaded: catalog.Loaded) -> None:
    experiment = loaded.experiment
    click.echo(f"{loaded.name}: {experiment.question}\n")
    click.echo("variants (baseline first)")
    for name in loaded.choose(None):
        click.echo(f"  {name:18} {loaded.variants[name].title}")
    click.echo("\nparameters (set with --duration, --connections, …, or -p NAME=VALUE)")
    for key, value in experiment.parameters.items():
        click.echo(f"  {key:18} {value}")
    click.echo("\nfactors and levels")
    for key, factor in experiment.factors.items():
        click.echo(f"  {key:18} {', '.join(factor.levels)}   {factor.about}")
    click.echo("\noutcomes (* gets a verdict)")
    for key, outcome in experiment.outcomes.items():
        mark = "*" if outcome.judged else " "
        click.echo(f" {mark}{key:24} {outcome.title}, {outcome.unit}, {outcome.better} is better")


def _variant(loaded: catalog.Loaded, name: str) -> None:
    variant = loaded.variants[name]
    click.echo(f"{loaded.name}/{name}: {variant.title}\n")
    if variant.summary:
        click.echo(f"{variant.summary}\n")
    click.echo(f"components  {', '.join(variant.components) or 'none'}")
    for role, item in variant.roles.items():
        if item.argv:
            click.echo(f"role        {role} on the {item.cpus}'s CPUs: {' '.join(item.argv)}")
    for need in variant.requires:
        kinds = (need.debian, need.command, need.path, need.cpu, need.pci)
        click.echo(f"requires    {next(filter(None, kinds))}")
    for factor, settings in variant.differences.items():
        click.echo(f"\nwhat differs by {factor}")
        for setting, levels in settings.items():
            click.echo(f"  {setting}")
            for level, what in levels.items():
                click.echo(f"    {level:12} {what}")
        click.echo()
    click.echo(f"read more   {loaded.variant_folder(name) / 'README.md'}")
