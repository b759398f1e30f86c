"""An ensemble forecast from Python: `forecast.py [--members N] [--days D] [--server ADDRESS] [--map
FILE.png]`.

The experiment of every centre for weather prediction, in an idealised atmosphere (Ninf-G2, section
4.3). What the weather will be is computed from a state that the forecaster does not know: his
analysis of it has errors. Besides the forecast from the analysis he computes many others, from
states that differ from it by as much, and takes their mean. It is better than each; and where they
differ, it cannot be trusted. forecast.c does the same in C, with the same numbers.
"""

import argparse
import pathlib
import sys
import time

import farcall
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STATES_A_DAY = 4
WIDTH = 40
MASK = 2**64 - 1


def uniform(seed):
    """Numbers from -1 to 1 (xorshift64*: Vigna 2016), the same in every language."""
    x = (seed + 1) * 0x9E3779B97F4A7C15 & MASK
    while True:
        x ^= x >> 12
        x ^= x << 25 & MASK
        x ^= x >> 27
        yield (x * 0x2545F4914F6CDD1D & MASK) / 2**63 - 1


def perturbed(state, truncation, seed, amplitude):
    """The state with an error: each harmonic's is smaller the smaller its scale is."""
    state, numbers, place = state.copy(), uniform(seed), 0
    for m in range(truncation + 1):
        for n in range(m, truncation + 1):
            for _ in range(2 if m else 1):
                if n > 0:
                    state[place] += amplitude * next(numbers) / n
                place += 1
    return state


def show(done, total, begin, is_end=False):
    """A bar on a terminal."""
    if sys.stderr.isatty():
        filled = done * WIDTH // total
        print(
            f"\r[{'#' * filled}{'-' * (WIDTH - filled)}] {done} of {total} forecasts, "
            f"{time.monotonic() - begin:.1f} s ",
            end="\n" if is_end else "",
            file=sys.stderr,
            flush=True,
        )


def forecasts(server, states, options):
    """All forecasts, as [state, time, coefficient]; None for what failed."""
    settings = {
        "truncation": options.truncation,
        "count": options.days * STATES_A_DAY,
        "hours": 24 / STATES_A_DAY,
    }
    results, begin = [None] * len(states), time.monotonic()
    with server.executor() as executor:
        calls = [executor.submit(server.weather.forecast, state, **settings) for state in states]
        for call in calls:
            call.add_done_callback(
                lambda _: show(sum(call.done() for call in calls), len(calls), begin)
            )
        for number, call in enumerate(calls):
            try:
                results[number] = call.result().states
            except farcall.Error as error:
                print(f"forecast: number {number} failed and is skipped: {error}", file=sys.stderr)
    show(len(calls), len(calls), begin, is_end=True)
    return results


def ensemble(server, options):
    """Prints how wrong the forecasts are day by day, and gives the maps of the last day: mean and
    spread."""
    truncation = options.truncation
    truth = server.weather.idealised(truncation=truncation).state
    analysis = perturbed(truth, truncation, 0, options.amplitude)
    members = [
        perturbed(analysis, truncation, seed, options.amplitude)
        for seed in range(1, options.members + 1)
    ]
    real, single, *many = forecasts(server, [truth, analysis, *members], options)
    many = [states for states in many if states is not None]
    if real is None or single is None or not many:
        raise SystemExit("forecast: too many forecasts failed")
    print(f"ensemble of {len(many)}, T{truncation}: errors of the wind in m/s")
    print(" day   single     mean   spread")
    for day in range(1, options.days + 1):
        now = day * STATES_A_DAY - 1
        size = {"rows": 1, "columns": 1} if day < options.days else {}
        alone = server.weather.ensemble(
            single[now][None], real[now], truncation=truncation, rows=1, columns=1
        )
        together = server.weather.ensemble(
            np.stack([states[now] for states in many]), real[now], truncation=truncation, **size
        )
        print(f"{day:4d} {alone.error:8.3f} {together.error:8.3f} {together.spread:8.3f}")
    return together.mean_psi, together.spread_psi


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument(
        "--members", type=int, default=50, help="forecasts of the ensemble (%(default)s)"
    )
    parser.add_argument("--days", type=int, default=10, help="how far they go (%(default)s)")
    parser.add_argument(
        "--truncation",
        type=int,
        default=20,
        help="largest degree of the spherical harmonics (%(default)s)",
    )
    parser.add_argument(
        "--amplitude",
        type=float,
        default=2e-7,
        help="of the errors of the analysis, in 1/s (%(default)s)",
    )
    parser.add_argument(
        "--server", help="where weather.idl is published (default: $FARCALL_SERVER)"
    )
    parser.add_argument("--map", type=pathlib.Path, help="where to draw the map of the last day")
    options = parser.parse_args(arguments)
    if min(options.members, options.days, options.truncation) < 1:
        parser.error("--members, --days and --truncation are at least 1")
    if options.map and (options.map.suffix != ".png" or not options.map.parent.is_dir()):
        parser.error(f"--map wants a file .png in a folder that exists, not {options.map}")
    with farcall.connect(options.server) as server:
        mean, spread = ensemble(server, options)
    if options.map:
        # Matplotlib is needed here alone.
        from map import draw

        draw(mean, spread, options.map, f"{options.members} forecasts, day {options.days}")


if __name__ == "__main__":
    try:
        main()
    except farcall.Error as error:
        sys.exit(f"forecast: {error}")
