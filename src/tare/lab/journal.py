"""events.log: every process's output and every step of the laboratory, timestamped, in order."""

from datetime import UTC, datetime
from pathlib import Path


class Journal:
    """Appends to events.log; follows the logs of running roles."""

    def __init__(self, file: Path) -> None:
        self._stream = file.open("a", encoding="utf-8", errors="replace")
        self._followed: dict[Path, tuple[str, int]] = {}

    def say(self, source: str, text: str) -> None:
        """One timestamped line for each line of `text`."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self._stream.write("".join(f"{now} {source}: {line}\n" for line in text.splitlines()))
        self._stream.flush()

    def follow(self, source: str, log: Path) -> None:
        """From now on `poll` copies what is appended to `log`."""
        self._followed[log] = (source, 0)

    def poll(self) -> None:
        """Copy what the followed logs have gained."""
        for log, (source, position) in self._followed.items():
            with log.open("rb") as stream:
                stream.seek(position)
                fresh = stream.read()
            if fresh:
                self._followed[log] = (source, position + len(fresh))
                self.say(source, fresh.decode(errors="replace"))

    def unfollow(self) -> None:
        """Copy the last of the followed logs and forget them."""
        self.poll()
        self._followed.clear()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
