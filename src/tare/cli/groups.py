"""Groups of commands whose help cuts no sentence."""

import click

_WHOLE = 1000
"""Characters of a sentence that is not cut."""


class Group(click.Group):
    """A group that lists each command's whole first sentence, in the order of `list_commands`."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command's whole first sentence, which click would cut at the line's end."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(limit=_WHOLE)) for name, each in found if each]
            )
