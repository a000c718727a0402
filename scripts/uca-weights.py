#!/usr/bin/env python3
"""Asks a MariaDB server how characters weigh, and writes the tables of crates/types/src/collation.

    scripts/uca-weights.py --socket=/tmp/mariadb.sock --user=root

Arguments are those of the `mariadb` client. Needed again only for another collation: the tables are in the repository.

`uca400.bin` and `uca520.bin`: for each page of 256 characters, some of which have weights of their own, its number (two
bytes, the higher one first), then for each character how many weights it has (a byte; 255 where they follow from the
character's number) and the weights, two bytes each, the higher one first. `latin1.bin`: for each collation of
`LATIN1`, the weights of the 256 characters, a byte each.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "crates/types/src/collation"
LATIN1 = ("latin1_swedish_ci", "latin1_german1_ci", "latin1_general_ci", "latin1_general_cs")
IMPLICIT = 255


def ask(sql):
    client = ["mariadb", *sys.argv[1:], "--skip-column-names", "--batch", "mysql", "--execute", sql]
    answer = subprocess.run(client, check=True, capture_output=True, text=True).stdout
    return (line.split("\t") for line in answer.splitlines())


def implicit(code):
    """The weights of a character that the collation does not name, as the servers make them."""
    base = 0xFB40 if 0x4E00 <= code <= 0x9FA5 else 0xFB80 if 0x3400 <= code <= 0x4DB5 else 0xFBC0
    return [base + (code >> 15), code & 0x7FFF | 0x8000]


def unicode_table(version, collation, last):
    of_character = (
        f"select seq, hex(weight_string(convert(char(seq using utf32) using utf8mb4) collate {collation}))"
        f" from seq_0_to_{last} where seq not between 0xd800 and 0xdfff"
    )
    pages = {}
    for code, weights in ask(of_character):
        code = int(code)
        weights = [int(weights[at : at + 4], 16) for at in range(0, len(weights), 4)]
        if weights != implicit(code):
            pages.setdefault(code >> 8, {})[code & 0xFF] = weights
    out = bytearray()
    for page, characters in sorted(pages.items()):
        out += page.to_bytes(2, "big")
        for low in range(256):
            weights = characters.get(low)
            out.append(IMPLICIT if weights is None else len(weights))
            for weight in weights or []:
                out += weight.to_bytes(2, "big")
    (FOLDER / f"{version}.bin").write_bytes(out)
    print(version, len(pages), "pages", len(out), "bytes")


def latin1_table():
    out = bytearray()
    for collation in LATIN1:
        of_byte = f"select seq, hex(weight_string(char(seq using latin1) collate {collation})) from seq_0_to_255"
        out += bytes(int(weight, 16) for _, weight in ask(of_byte))
    (FOLDER / "latin1.bin").write_bytes(out)


unicode_table("uca400", "utf8mb4_unicode_ci", 0xFFFF)
unicode_table("uca520", "utf8mb4_unicode_520_ci", 0x10FFFF)
latin1_table()
