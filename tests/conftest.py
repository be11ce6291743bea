import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# The same examples on every machine: a test that fails by luck teaches people to ignore it.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

SANDBOXES = "tests/contract/sandbox/"


class Spread(LoadFileScheduling):
    """A file stays in one process, and so do all tests of sandboxes, in turn: the functions of any
    two have the same name, and tests count them.
    """

    def _split_scope(self, nodeid: str) -> str:
        return SANDBOXES if nodeid.startswith(SANDBOXES) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Spread:
    return Spread(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run tests marked thorough, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--thorough"):
        return
    left = [item for item in items if item.get_closest_marker("thorough")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
