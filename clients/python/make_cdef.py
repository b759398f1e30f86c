#!/usr/bin/env python3
"""Makes src/farcall/_cdef.h, the declarations that cffi reads, from the C headers. `--check`:
compares instead.

cffi in ABI mode knows no preprocessor and no functions with variable arguments of ours; all else
stays as it is.
"""

import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("-numbers", "", "-data", "-transactions", "-map", "-places", "-executable")
NAMES = [f"farcall{part}.h" for part in PARTS]
HEADERS = [HERE.parent / "c/include" / name for name in NAMES]
RESULT = HERE / "src/farcall/_cdef.h"
FIRST_LINE = (
    "/* Made from the headers of clients/c/include by clients/python/make_cdef.py, for cffi. */\n"
)


def declarations(header: str) -> str:
    """The headers, one behind the other, without comments, preprocessor lines, C++ braces and
    variadic functions."""
    constant = dict(re.findall(r"^#define (FARCALL_RANK_MAX) (\d+)$", header, flags=re.M))
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    code = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", code, flags=re.M | re.S)
    code = re.sub(r"^#.*\n", "", code, flags=re.M)
    code = re.sub(r"^int \w+\([^;]*\.\.\.\);\n", "", code, flags=re.M)
    for name, value in constant.items():
        code = code.replace(name, value)
    # Each declaration is filled up to the width of a line.
    ends = re.compile(r"^(?:[^{}]*?|[^{}]*?\{(?:[^{}]|\{[^{}]*\})*\}[^{};]*);", flags=re.M)
    fill = textwrap.TextWrapper(100, break_on_hyphens=False, break_long_words=False).fill
    lines = (fill(" ".join(one.split())) for one in ends.findall(code))
    return FIRST_LINE + "\n".join(lines) + "\n"


def main() -> int:
    wanted = declarations("".join(header.read_text(encoding="utf-8") for header in HEADERS))
    if "--check" in sys.argv[1:]:
        return 0 if RESULT.read_text(encoding="utf-8") == wanted else 1
    RESULT.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
