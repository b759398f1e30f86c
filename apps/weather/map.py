"""Draws mean and spread of an ensemble: `map.py PREFIX FILE.png` takes PREFIX-mean.npy and
PREFIX-spread.npy of forecast.c."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)
import numpy as np  # noqa: E402
from matplotlib import ticker  # noqa: E402

# Of streamlines; the wind is strong where they are close.
CONTOURS = 15
MILLION = 1e6


def around(field):
    """The field with the first meridian again behind the last one, so that no gap is seen."""
    return np.concatenate([field, field[:, :1]], axis=1) / MILLION


def draw(mean, spread, path, words):
    """The northern hemisphere from above the pole, and the whole earth; both projections keep
    areas."""
    rows, columns = mean.shape
    latitude = -90 + 180 * (np.arange(rows) + 0.5) / rows
    longitude = np.radians(360 * (np.arange(columns + 1) + 0.5) / columns)
    levels = ticker.MaxNLocator(10).tick_values(0, max(spread.max() / MILLION, 1e-12))
    figure = plt.figure(figsize=(12, 5.2), layout="constrained")
    figure.suptitle(f"Stream function: {words}")
    polar = figure.add_subplot(1, 2, 1, projection="polar")
    world = figure.add_subplot(1, 2, 2, projection="mollweide")

    north = latitude > 0
    # Lambert's azimuthal projection: areas are true.
    radius = np.sqrt(2) * np.sin(np.radians(90 - latitude[north]) / 2)
    polar.set_theta_zero_location("S")
    shades = polar.contourf(longitude, radius, around(spread)[north], levels, cmap="YlOrRd")
    polar.contour(
        longitude, radius, around(mean)[north], CONTOURS, colors="#16365c", linewidths=0.8
    )
    polar.set_rticks(
        [np.sqrt(2) * np.sin(np.radians(angle) / 2) for angle in (30, 60)],
        ["60°N", "30°N"],
        fontsize=7,
    )
    polar.set_rlabel_position(22)
    polar.set_thetagrids(
        range(0, 360, 45),
        [f"{a}°E" if a < 180 else f"{360 - a}°W" if a > 180 else "180°" for a in range(0, 360, 45)],
        fontsize=7,
    )
    polar.set_rmax(1.0)
    polar.set_title("northern hemisphere", fontsize=10)

    # Mollweide's map goes from -180 to 180 degrees.
    half = columns // 2
    east = np.concatenate([longitude[half:-1] - 2 * np.pi, longitude[:half]])
    rolled = lambda field: np.roll(field, half, axis=1) / MILLION  # noqa: E731
    world.contourf(east, np.radians(latitude), rolled(spread), levels, cmap="YlOrRd")
    world.contour(
        east, np.radians(latitude), rolled(mean), CONTOURS, colors="#16365c", linewidths=0.8
    )
    world.set_xticklabels([])
    world.tick_params(axis="y", labelsize=7)
    for axes in (polar, world):
        axes.grid(color="grey", linewidth=0.4, alpha=0.6)
    world.set_title("the earth", fontsize=10)
    bar = figure.colorbar(shades, ax=[polar, world], shrink=0.8, pad=0.02)
    bar.set_label("spread (standard deviation) in 10$^6$ m$^2$/s")
    figure.text(
        0.5, 0.01, "lines: ensemble mean; solid above zero, dashed below", ha="center", fontsize=8
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: map.py PREFIX FILE.png")
    prefix, target = sys.argv[1:]
    draw(
        np.load(f"{prefix}-mean.npy"),
        np.load(f"{prefix}-spread.npy"),
        target,
        "ensemble mean and spread",
    )
