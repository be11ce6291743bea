"""Options of tare duel and tare calibrate that would say nothing where they are."""

import click
import pytest
from click.testing import CliRunner

from tare.cli.main import tare
from tare.cli.own_servers import _allowed
from tare.lab.errors import TareError
from tare.lab.paths import ROOT

URLS = ("http://127.0.0.1:1/", "http://127.0.0.1:2/")


def test_the_name_of_an_allowed_header_may_be_written_as_in_the_answer() -> None:
    assert _allowed(["header:X-More", "body"]) == {"header:x-more", "body"}


@pytest.mark.parametrize("word", ["headers:x", "header", "header:", "Status", "x-more", ""])
def test_a_difference_that_there_cannot_be_is_refused(word: str) -> None:
    with pytest.raises(click.BadParameter, match="expected status, body or header:NAME"):
        _allowed([word])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("duel", *URLS, "--ready-within", "5s"), "--ready-within: the servers run already"),
        (("calibrate", "--blocks", "30"), "--blocks: expected --of beside it"),
        (("calibrate", "--show", "--of", "x"), "--show and --of: expected one of them"),
        (("test", "--nope"), "No such option '--nope'"),
    ],
)
def test_an_option_without_effect_is_refused(arguments: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(tare, list(arguments))
    assert done.exit_code == 2 and said in done.output, done.output


def test_a_run_of_another_study_calibrates_nothing() -> None:
    done = CliRunner().invoke(tare, ["calibrate", "--of", str(ROOT / "record" / "echo-rate")])
    assert isinstance(done.exception, TareError)
    assert str(done.exception).endswith("a run of echo/rate, expected one of calibration/cpu")


@pytest.mark.parametrize(("blocks", "most"), [("5", "none"), ("7", "no more than equivalent")])
def test_a_dry_run_says_which_verdicts_so_few_blocks_allow(blocks: str, most: str) -> None:
    done = CliRunner().invoke(tare, ["run", "calibration/cpu", "--dry-run", "--blocks", blocks])
    assert done.exit_code == 0, done.output
    lack = f"{blocks} blocks cannot show a difference among 4 comparisons: it takes 8"
    assert f"  verdicts   {most}: {lack}\n" in done.stdout


def test_a_dry_run_promises_no_equivalence_of_slopes() -> None:
    chosen = ["--variants", "c-module,wasm2c", "--blocks", "6", "--dry-run"]
    done = CliRunner().invoke(tare, ["run", "filters/price", *chosen])
    assert done.exit_code == 0, done.output
    lack = "6 blocks cannot show a difference among 2 comparisons"
    assert f"  verdicts   none: {lack}" in done.stdout
