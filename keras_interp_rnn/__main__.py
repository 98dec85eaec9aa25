"""python -m keras_interp_rnn reproduce: the papers' tables; tune: settings for them (`--help` says how)."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def main() -> int:
    """The package's commands."""
    command, arguments = sys.argv[1:2], sys.argv[2:]
    if command not in (["reproduce"], ["tune"]):
        print("usage: python -m keras_interp_rnn {reproduce,tune} [--help]", file=sys.stderr)
        return 2
    from keras_interp_rnn.reproduce import cli

    return cli.main(arguments) if command == ["reproduce"] else cli.tune(arguments)


if __name__ == "__main__":
    sys.exit(main())
