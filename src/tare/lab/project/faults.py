"""A fault that pydantic found in a table, in words: what was found, what was expected."""

from pydantic_core import ErrorDetails


def field(problem: ErrorDetails) -> str:
    """Return the path of the field."""
    return ".".join(str(part) for part in problem["loc"])


def expected(problem: ErrorDetails) -> str:
    """Return what was expected there; of a check of our own, its message."""
    return problem["msg"].removeprefix("Input should be ").removeprefix("Value error, ")


def in_words(problem: ErrorDetails) -> str:
    """Return what is wrong with the field."""
    match problem["type"]:
        case "extra_forbidden":
            return "unknown field; remove it or correct its name"
        case "missing":
            return "missing; expected a value"
        case _:
            return f"found {problem['input']!r}, expected {expected(problem)}"
