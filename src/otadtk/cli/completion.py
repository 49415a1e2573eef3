"""``otadtk-completion SHELL``: a script by which bash, zsh or fish complete all commands.

It is made from the parsers, so it knows every command and option. It holds the names of models,
metrics and protocols as they are now, and starts no Python when a key is pressed.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from otadtk.cli.shared.common_options import add_version
from otadtk.cli.shared.execute import EXIT_CODES, execute

_USE = """put one of these lines into the file that your shell reads when it starts:
bash, ~/.bashrc: eval "$(otadtk-completion bash)";
zsh, ~/.zshrc: eval "$(otadtk-completion zsh)" after compinit;
fish, ~/.config/fish/config.fish: otadtk-completion fish | source"""
_OF_MODELS = frozenset({"model", "models", "fetch", "verify"})
_FILES = ("FILE", "DIR", "CSV", "HTML", "PATH", "FILE.otadpack")


@dataclass(frozen=True)
class Option:
    """An option as a shell has to know it."""

    flags: tuple[str, ...]
    help: str
    words: tuple[str, ...]
    """What may follow; empty for anything."""
    takes_value: bool
    takes_file: bool


@dataclass(frozen=True)
class Command:
    """A command: its options, and the words that its first argument may be."""

    name: str
    options: tuple[Option, ...]
    first: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-completion",
        description="Print a script by which a shell completes commands, options, models and files.",
        epilog=f"{_USE}. {EXIT_CODES}",
    )
    parser.add_argument("shell", choices=tuple(_SCRIPTS))
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    print(_SCRIPTS[options.shell](list(commands())), end="")


def commands() -> Iterator[Command]:
    """All commands, from their parsers."""
    import otadtk.cli

    for module in pkgutil.iter_modules(otadtk.cli.__path__):
        if module.ispkg:
            continue
        name = "otadtk" if module.name == "score" else f"otadtk-{module.name.replace('_', '-')}"
        parser = importlib.import_module(f"otadtk.cli.{module.name}")._parser()
        options, first = _options(parser)
        unique = {option.flags: option for option in options}
        yield Command(name, tuple(unique.values()), first)


def _options(parser: argparse.ArgumentParser) -> tuple[list[Option], tuple[str, ...]]:
    """(the options, those of subcommands among them; the words of the first argument)."""
    found: list[Option] = []
    first: tuple[str, ...] = ()
    positional = 0
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            first = tuple(action.choices)
            for inner in action.choices.values():
                found += _options(inner)[0]
        elif not action.option_strings:
            positional += 1
            if positional == 1:
                first = _words(action)
        else:
            metavar = action.metavar if isinstance(action.metavar, str) else ""
            takes_value = action.nargs != 0
            found.append(
                Option(
                    tuple(action.option_strings),
                    " ".join((action.help or "").replace("%%", "%").split()),
                    _words(action),
                    takes_value,
                    takes_value and (action.type is Path or metavar in _FILES),
                )
            )
    return found, first


def _words(action: argparse.Action) -> tuple[str, ...]:
    """What an option or argument may be, as far as that is known."""
    from otadtk.encoders import list_models
    from otadtk.evaluation.protocols.protocol import protocol_names
    from otadtk.metrics.registry import metric_names

    if action.choices is not None:
        return tuple(map(str, action.choices))
    if action.dest in _OF_MODELS or action.dest == "inputs":
        return tuple(list_models())
    if action.dest == "metrics":
        return tuple(metric_names())
    return tuple(protocol_names()) if action.dest == "protocol" else ()


def bash_script(known: Sequence[Command]) -> str:
    """The script for bash. Where it offers no words, bash offers files."""
    lines = [
        "_otadtk() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '  local command="${COMP_WORDS[0]##*/}" options="" words=""',
        '  case "$command" in',
    ]
    for command in known:
        flags = " ".join(flag for option in command.options for flag in option.flags)
        lines += [f"    {command.name})", f"      options={shlex.quote(flags)}"]
        lines += ['      case "$before" in']
        for option in command.options:
            if option.takes_value:
                words = " ".join(option.words)
                lines.append(f"        {'|'.join(option.flags)}) words={shlex.quote(words)} ;;")
        first = " ".join(command.first)
        lines += [
            f'        *) [ "$COMP_CWORD" = 1 ] && words={shlex.quote(first)} ;;',
            "      esac ;;",
        ]
    lines += [
        "  esac",
        '  case "$word" in',
        '    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;',
        '    *) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;',
        "  esac",
        "}",
        f"complete -o default -F _otadtk {' '.join(command.name for command in known)}",
    ]
    return "\n".join(lines) + "\n"


def zsh_script(known: Sequence[Command]) -> str:
    """The script for zsh, which understands that of bash."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(known)


def fish_script(known: Sequence[Command]) -> str:
    """The script for fish, with the help of every option."""
    lines = []
    for command in known:
        start = f"complete -c {command.name}"
        if command.first:
            words = _fish(" ".join(command.first))
            lines.append(f"{start} -n __fish_is_first_token -a {words}")
        for option in command.options:
            flags = [
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in option.flags
            ]
            takes = ""
            if option.words:
                files = "-r" if option.takes_file else "-x"
                takes = f" {files} -a {_fish(' '.join(option.words))}"
            elif option.takes_value:
                takes = " -r -F" if option.takes_file else " -x"
            lines.append(f"{start} {' '.join(flags)}{takes} -d {_fish(option.help)}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    """A text in the quotes of fish."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_SCRIPTS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}


if __name__ == "__main__":
    raise SystemExit(main())
