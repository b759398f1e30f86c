# Calls the C and the Fortran routine from Python.
import farcall
import numpy as np

with farcall.connect() as server:
    rod = np.array([0.0, 100.0, 0.0, 0.0, 0.0])
    print(server.heat(2, rod).u)

    x = np.linspace(0, np.pi, 1001)
    print(round(server.area(x, np.sin(x)).total, 5))
