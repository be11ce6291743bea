"""The JSON Schema of results.json: `python -m tare.report.schema > docs/results.schema.json`."""

import json

from tare.model.results import Results


def text() -> str:
    """The schema as it is committed."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(dialect | Results.model_json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")
