"""What goes wrong, and how a program takes it."""

import farcall
import numpy as np

with farcall.connect() as server:
    try:
        server.dgesw(np.eye(2), np.ones(2))
    except farcall.NotFound as error:
        print("no such routine:", error.advice)

    try:
        server.dgesv(np.eye(2), np.ones(3))
    except ValueError as error:  # farcall.InvalidArgument is one
        print(error)

    try:
        server.ep.ep(40, timeout=0.2)
    except TimeoutError as error:  # farcall.TimedOut is one
        print(error)

    # A failed call harms nothing else.
    print(server.dgesv(np.eye(2), np.ones(2)).b)
