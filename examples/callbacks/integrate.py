"""Passes functions to a routine that integrates them. Usage: integrate.py"""

import math
import pathlib

import farcall

with farcall.connect(files=[pathlib.Path(__file__).with_name("integrate.idl")]) as server:
    print(round(server.trapezoid(0.0, math.pi, 100, math.sin).integral, 3))
    print(round(server.trapezoid(0.0, 1.0, 100, lambda x: x * x).integral, 3))
