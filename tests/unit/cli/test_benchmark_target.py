"""Where `tare run` puts its results in Google Benchmark's format."""

from pathlib import Path

import click
import pytest

from tare.cli import benchmark_out


def test_without_it_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCHMARK_OUT", raising=False)
    assert benchmark_out.target() is None
    benchmark_out.write(None, [])


def test_a_file_in_a_folder_that_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHMARK_OUT", "out.json")
    monkeypatch.setenv("BENCHMARK_OUT_FORMAT", "json")
    assert benchmark_out.target() == tmp_path / "out.json"


@pytest.mark.parametrize(
    ("name", "form", "said"),
    [
        ("out.json", "console", "BENCHMARK_OUT_FORMAT: found 'console', expected 'json'"),
        ("nowhere/out.json", "json", "cannot be written: make its folder"),
        (".", "json", "is a folder, expected a file"),
    ],
)
def test_what_could_not_be_written_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, form: str, said: str
) -> None:
    monkeypatch.setenv("BENCHMARK_OUT", str(tmp_path / name))
    monkeypatch.setenv("BENCHMARK_OUT_FORMAT", form)
    with pytest.raises(click.UsageError, match=said):
        benchmark_out.target()
