"""Files that a program makes from a table and that are committed: written, or with `--check`
compared."""

import sys


def write_or_compare(folder, texts, program) -> int:
    """Writes the texts, by path below `folder`, that differ from what is there. With `--check` on
    the command line it writes nothing, names them, and returns 1 if there are any."""
    different = 0
    for path, text in texts.items():
        file = folder / path
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        if "--check" in sys.argv[1:]:
            print(f"{file} is not what it is made from; run {program}")
            different = 1
        else:
            file.write_text(text, encoding="utf-8")
    return different
