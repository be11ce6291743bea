"""report.html: one file, no script, nothing fetched."""

import re
from functools import partial

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tare.model.results import Results
from tare.report import overview, slopes, slower
from tare.report.charts import palette
from tare.report.configs import configs
from tare.report.flame import flame
from tare.report.folder import RunFolder
from tare.report.gates import gates
from tare.report.matrix import matrices
from tare.report.notes import notes
from tare.report.numbers import NONE, figure, glued, relative, signed
from tare.report.sentence import caution, distrust, of_scenarios
from tare.report.titles import beside, label_title
from tare.report.views import views
from tare.report.why import changed, seen_in
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import two_digits

_COUNTED = ("valid",)
_HYPHENATED = re.compile(r"(\S*\w-\w\S*)")


def template(name: str) -> Template:
    """A page's template, in which nothing undefined is passed by."""
    environment = Environment(
        loader=PackageLoader("tare.report", "page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["whole"] = whole
    environment.globals["dark"] = palette.DARK
    return environment.get_template(name)


def whole(text: object) -> Markup:
    """Return a text as HTML in which no line may end within a figure, nor within a name at one of
    its hyphens.
    """
    found = Markup("")
    for number, part in enumerate(_HYPHENATED.split(glued(str(text)))):
        found += Markup('<span class="whole">{}</span>').format(part) if number % 2 else part
    return found


def render(folder: RunFolder, results: Results) -> str:
    """The whole page."""
    trials = [trial for trial in folder.trials if not trial.is_other_side]
    return template("page.html.j2").render(
        results=results,
        plan=folder.plan,
        environment=results.environment,
        scenarios=views(folder, results),
        summary=_summary(results),
        alarm=distrust(results),
        caution=caution(results),
        common=of_scenarios(results)[1],
        notes=notes(results),
        configs=configs(folder),
        gates=gates(trials),
        refused={
            scenario.name: [
                trial
                for trial in trials
                if trial.scenario == scenario.name and trial.status not in _COUNTED
            ]
            for scenario in results.scenarios
        },
        made={
            scenario.name: sum(trial.scenario == scenario.name for trial in trials)
            for scenario in results.scenarios
        },
        none_such=NONE,
        control=CONTROL,
        slopes=slopes,
        figure=figure,
        signed=signed,
        changed=changed,
        seen_in=seen_in,
        slower=slower.table,
        flame=partial(flame, folder),
        relative=relative,
        two_digits=two_digits,
        side_by_side=partial(overview.of, results),
        nameless=overview.nameless,
        matrices=partial(matrices, results),
        label_title=partial(label_title, results),
        beside=partial(beside, results),
    )


def _summary(results: Results) -> object:
    if len(results.scenarios) < 2:
        return None
    from tare.report import drawing  # takes a second to import
    from tare.report.charts.summary import summary
    from tare.report.views import Drawn

    chart = summary(results)
    return chart and Drawn(drawing.markup(chart), "All scenarios at a glance")
