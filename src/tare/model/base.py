"""The base of every record: closed, frozen, validated."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A validated record that refuses unknown fields and does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)
