"""events.log: every process's output and every step of the laboratory, timestamped, in order."""

from datetime import UTC, datetime
from pathlib import Path


class Journal:
    """Appends to events.log; follows the logs of running roles. A full disk costs lines, no run."""

    def __init__(self, file: Path) -> None:
        self._stream = file.open("ab", buffering=0)
        self._followed: dict[Path, tuple[str, int]] = {}
        self._lost = 0

    def write(self, source: str, text: str) -> None:
        """One timestamped line for each line of `text`."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lines = text.splitlines()
        if self._lost:
            lines = [f"({self._lost} lines before this could not be stored)", *lines]
        content = "".join(f"{now} {source}: {line}\n" for line in lines)
        try:
            self._stream.write(content.encode(errors="replace"))
            self._lost = 0
        except OSError:
            self._lost += len(lines)

    def follow(self, source: str, log: Path) -> None:
        """From now on `poll` copies what is appended to `log`; one that is followed already goes on
        where it was.
        """
        self._followed.setdefault(log, (source, 0))

    def poll(self) -> None:
        """Copy the whole lines that the followed logs have gained."""
        for log, (source, position) in self._followed.items():
            fresh = _after(log, position)
            whole = fresh[: fresh.rfind(b"\n") + 1]
            if whole:
                self._followed[log] = (source, position + len(whole))
                self.write(source, whole.decode(errors="replace"))

    def unfollow(self, folder: Path) -> None:
        """Copy the last of the followed logs within a folder and forget them."""
        self.poll()
        for log in [each for each in self._followed if each.is_relative_to(folder)]:
            source, position = self._followed.pop(log)
            self.write(source, _after(log, position).decode(errors="replace"))

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _after(log: Path, position: int) -> bytes:
    """Return what a log holds after `position`; a role may have removed it."""
    try:
        with log.open("rb") as stream:
            stream.seek(position)
            return stream.read()
    except OSError:
        return b""
