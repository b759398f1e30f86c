"""Shows how far a routine is: a bar in a terminal or a notebook. Usage: anneal.py [STEPS]"""

import pathlib
import sys

import farcall

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
with farcall.connect(files=[pathlib.Path(__file__).with_name("anneal.idl")]) as server:
    print(server.anneal.anneal(steps, progress=True))
