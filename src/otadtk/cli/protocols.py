"""``otadtk-protocols list | show NAME``: what protocols there are, and what each pins."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from otadtk.cli.shared.common_options import add_version
from otadtk.cli.shared.execute import EXIT_CODES, execute


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-protocols",
        description="Protocols for otadtk --protocol: one file each, which pins encoder, audio, "
        "metrics and constants.",
        epilog=EXIT_CODES,
    )
    commands = parser.add_subparsers(dest="action", required=True, metavar="list | show NAME")
    commands.add_parser("list", help="every protocol, with its results")
    show = commands.add_parser("show", help="the file of a protocol")
    show.add_argument("name", metavar="NAME|FILE")
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from otadtk.evaluation.protocols.protocol import load_protocol, protocol_names

    if options.action == "show":
        print(load_protocol(options.name).text.rstrip())
        return
    for name in protocol_names():
        protocol = load_protocol(name)
        print(f"{name} (version {protocol.version}): {protocol.title}")
        print(f"  {', '.join(result.name for result in protocol.results)}")


if __name__ == "__main__":
    raise SystemExit(main())
