"""The reference of the commands: one page of Markdown for each argument parser."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
SCRIPT = re.compile(r'^(otadtk[\w-]*) = "otadtk_audio:(\w+)"$', re.MULTILINE)


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of every installed command, by the name of the command."""
    scripts = SCRIPT.findall(PROJECT.read_text(encoding="utf-8"))
    return {
        script: importlib.import_module(f"otadtk.cli.{module}")._parser()
        for script, module in scripts
    }


def command_page(parser: argparse.ArgumentParser) -> str:
    """The page of one command: what it is for, how it is called, and every option."""
    lines = [f"# {parser.prog}", "", parser.description or "", ""]
    lines += ["```text", _usage(parser), "```", ""]
    lines += _groups(parser, 2)
    for name, sub in _subcommands(parser):
        lines += [f"## {sub.prog}", "", _help_of(parser, name), ""]
        lines += ["```text", _usage(sub), "```", "", *_groups(sub, 3)]
    if parser.epilog:
        lines += ["## Exit codes", "", "See [exit codes](../exit-codes.md).", ""]
    return "\n".join(lines)


def commands_index() -> str:
    """The list of all commands, each with its first sentence."""
    lines = [
        "# Commands",
        "",
        "Every command and all of its options, read from the program itself.",
    ]
    lines += ["`COMMAND --help` prints the same.", "", "| command | what it does |", "|---|---|"]
    for name, parser in parsers().items():
        lines.append(f"| [`{name}`]({name}.md) | {_cell(parser.description or '')} |")
    return "\n".join(lines) + "\n"


def _groups(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    for group in parser._action_groups:
        actions = [
            action
            for action in group._group_actions
            if action.help is not argparse.SUPPRESS
            and not isinstance(action, argparse._SubParsersAction)
        ]
        if not actions:
            continue
        title = group.title or "options"
        yield from (f"{'#' * level} {title[0].upper()}{title[1:]}", "")
        if group.description:
            yield from (group.description, "")
        for action in actions:
            yield from (f"{'#' * (level + 1)} {_term(parser, action)}", "")
            yield from (_text(parser, action), "")


def _term(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The heading of an option, with an anchor; as a heading it is found first by the search."""
    names = ", ".join(action.option_strings) or action.metavar or action.dest
    anchor = max(action.option_strings, key=len) if action.option_strings else action.dest
    return f"`{names}` {{ #{_slug(parser.prog)}-{_slug(anchor)} }}"


def _text(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """What an option is called with, and what it does."""
    formatter = parser._get_formatter()
    words = formatter._expand_help(action) if action.help else ""
    words = re.sub(r"([<>*_|\[\]])", r"\\\1", words)
    called = formatter._format_action_invocation(action).rpartition(", ")[2]
    return f"`{called}`: {words}" if " " in called else words


def _usage(parser: argparse.ArgumentParser) -> str:
    return parser.format_usage().removeprefix("usage: ").rstrip().replace("\n       ", "\n")


def _subcommands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _help_of(parser: argparse.ArgumentParser, name: str) -> str:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                if choice.dest == name:
                    return (choice.help or "").capitalize()
    return ""


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
