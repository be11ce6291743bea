"""The results of the stored runs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tare.cli.output import say
from tare.cli.stored_runs import by_age

if TYPE_CHECKING:
    from tare.model.results import Results


def stored_results(*, newest_first: bool = False) -> "Iterator[Results]":
    """Yield the results of every stored run that has some, oldest first unless asked otherwise; a
    file that cannot be read is named and passed by.
    """
    from tare.report.comparison import stored
    from tare.report.errors import NotARun

    folders = by_age("results.json")
    for folder in reversed(folders) if newest_first else folders:
        try:
            yield stored(folder)
        except NotARun as error:
            say(str(error))
