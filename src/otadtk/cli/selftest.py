"""``otadtk-selftest``: checks this installation offline, in seconds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from otadtk.cli.shared.common_options import add_version
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.errors import OtadtkError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-selftest",
        description="Compare every distance and two encoders with golden values, check "
        "the hashes of bundled files, and list what this machine lacks. Needs no network.",
        epilog=EXIT_CODES,
    )
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from otadtk.selftest import machine, run_checks

    failed = 0
    for check in run_checks():
        print(f"{'ok  ' if check.passed else 'FAIL'}  {check.what}: {check.found}", flush=True)
        failed += not check.passed
    print()
    for line in machine():
        print(f"      {line}")
    if failed:
        raise OtadtkError(f"{failed} check(s) failed; install otadtk again, or report this output.")
    print("\nselftest: all checks passed")


if __name__ == "__main__":
    raise SystemExit(main())
