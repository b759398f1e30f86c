/* forecast.c: an ensemble forecast in C: forecast.py says what it is about, and prints the same
 * numbers.
 *
 * All forecasts are started at once; the server runs as many at a time as it has room for. */
#include <farcall.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STATES_A_DAY = 4,
    ROWS = 90,
    COLUMNS = 180,
    MEMBERS_MAX = 10000,
    DAYS_MAX = 1000,
    TRUNCATION_MAX = 170
};

static struct {
    int members, days, truncation;
    double amplitude;
    const char *server, *maps;
} options = {50, 10, 20, 2e-7, NULL, NULL};

/* A forecast: [time][coefficient], after the state that it begins with. */
typedef struct forecast {
    double *initial, *states;
    farcall_call *call;
    int is_good;
} forecast;

static farcall_client *client;

/* Ends the program if something went wrong. */
static void check(const char *what, farcall_error *error)
{
    if (!error)
        return;
    fprintf(stderr, "forecast: %s: %s\n", what, farcall_error_message(error));
    exit(1);
}

/* Zeros; without memory the program ends. */
static void *memory(size_t count)
{
    double *numbers = calloc(count, sizeof *numbers);
    if (!numbers) {
        fprintf(stderr, "forecast: no memory for %zu numbers\n", count);
        exit(1);
    }
    return numbers;
}

/* A number from -1 to 1 (xorshift64*: Vigna 2016), the same in every language. */
static double uniform(uint64_t *x)
{
    *x ^= *x >> 12;
    *x ^= *x << 25;
    *x ^= *x >> 27;
    return (double) (*x * 0x2545F4914F6CDD1DU) / 0x1p63 - 1;
}

/* The state with an error: each harmonic's is smaller the smaller its scale is. */
static void perturb(const double *from, uint64_t seed, double *to)
{
    uint64_t x = (seed + 1) * 0x9E3779B97F4A7C15U;
    for (int m = 0; m <= options.truncation; m++)
        for (int n = m; n <= options.truncation; n++)
            for (int part = 0; part < (m ? 2 : 1); part++, from++, to++)
                *to = n > 0 ? *from + options.amplitude * uniform(&x) / n : *from;
}

/* A bar on a terminal. */
static void show(int done, int total)
{
    int filled = done * 40 / total;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r[%.*s%.*s] %d of %d forecasts %s", filled,
            "########################################", 40 - filled,
            "----------------------------------------", done, total, done == total ? "\n" : "");
}

/* Makes all forecasts; those that fail are said, and left out. */
static void run(forecast *all, int total, size_t size)
{
    farcall_error *error;
    int count = options.days * STATES_A_DAY;
    uint64_t *numbers = memory((size_t) total), finished;
    for (int k = 0; k < total; k++) {
        all[k].states = memory((size_t) count * size);
        farcall_start_call(client, &error, &all[k].call, "weather/forecast", options.truncation,
            all[k].initial, count, 24.0 / STATES_A_DAY, 6, 12.0, all[k].states);
        check("start a forecast", error);
        numbers[k] = farcall_call_number(all[k].call);
    }
    for (int done = 0; done < total; done++) {
        show(done, total);
        farcall_next_finished(client, -1, &finished, &error);
        check("wait for a forecast", error);
        for (int k = 0; k < total; k++)
            if (numbers[k] == finished) {
                all[k].is_good = farcall_call_wait(all[k].call, -1, NULL, &error) == FARCALL_OK;
                if (error)
                    fprintf(stderr, "forecast: number %d failed and is left out: %s\n", k,
                        farcall_error_message(error));
                farcall_error_free(error);
                farcall_call_free(all[k].call);
            }
    }
    show(total, total);
    free(numbers);
}

/* Writes a map as a NumPy file (format 1.0). */
static void write_map(const char *name, const double *values)
{
    char path[4096], header[128];
    snprintf(path, sizeof path, "%s-%s.npy", options.maps, name);
    FILE *file = fopen(path, "wb");
    int length = snprintf(header, sizeof header,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", ROWS, COLUMNS);
    memset(header + length, ' ', sizeof header - (size_t) length);
    header[117] = '\n';
    if (!file || fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file) != 10 ||
        fwrite(header, 1, 118, file) != 118 ||
        fwrite(values, sizeof *values, ROWS * COLUMNS, file) != ROWS * COLUMNS ||
        fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* Prints how wrong the forecasts are day by day; the first one is the truth, the second begins with
   the analysis. */
static void judge(const forecast *all, int total, size_t size)
{
    double *together = memory((size_t) total * size), *mean = memory(ROWS * COLUMNS),
           *spread = memory(ROWS * COLUMNS);
    double alone, error_of_mean, deviation, unused;
    farcall_error *error;
    int good = 0;
    for (int k = 2; k < total; k++)
        good += all[k].is_good;
    if (!all[0].is_good || !all[1].is_good || good == 0) {
        fprintf(stderr, "forecast: too many forecasts failed\n");
        exit(1);
    }
    printf("ensemble of %d, T%d: errors of the wind in m/s\n day   single     mean   spread\n",
        good, options.truncation);
    for (int day = 1; day <= options.days; day++) {
        size_t now = ((size_t) day * STATES_A_DAY - 1) * size;
        int is_last = day == options.days, members = 0;
        for (int k = 2; k < total; k++)
            if (all[k].is_good)
                memcpy(together + (size_t) members++ * size, all[k].states + now,
                    size * sizeof *together);
        farcall_call(client, &error, "weather/ensemble", options.truncation, 1, all[1].states + now,
            all[0].states + now, 1, 1, &alone, &unused, mean, spread);
        check("look at the forecast", error);
        farcall_call(client, &error, "weather/ensemble", options.truncation, good, together,
            all[0].states + now, is_last ? ROWS : 1, is_last ? COLUMNS : 1, &error_of_mean,
            &deviation, mean, spread);
        check("look at the ensemble", error);
        printf("%4d %8.3f %8.3f %8.3f\n", day, alone, error_of_mean, deviation);
    }
    if (options.maps) {
        write_map("mean", mean);
        write_map("spread", spread);
    }
    free(together);
    free(mean);
    free(spread);
}

/* A number of the command line, or the end with a word on what is wanted. */
static double number(const char *option, const char *text, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (*end || end == text || !(value >= least) || value > most) {
        fprintf(stderr, "forecast: %s wants a number from %g to %g, not \"%s\"\n", option, least,
            most, text);
        exit(2);
    }
    return value;
}

static void read_options(int count, char **arguments)
{
    static const struct option known[] = {{"members", required_argument, NULL, 'n'},
        {"days", required_argument, NULL, 'd'}, {"truncation", required_argument, NULL, 't'},
        {"amplitude", required_argument, NULL, 'a'}, {"server", required_argument, NULL, 's'},
        {"maps", required_argument, NULL, 'm'}, {NULL, 0, NULL, 0}};
    for (int letter; (letter = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        if (letter == 'n') options.members = (int) number("--members", optarg, 1, MEMBERS_MAX);
        else if (letter == 'd') options.days = (int) number("--days", optarg, 1, DAYS_MAX);
        else if (letter == 't')
            options.truncation = (int) number("--truncation", optarg, 1, TRUNCATION_MAX);
        else if (letter == 'a') options.amplitude = number("--amplitude", optarg, 0, 1);
        else if (letter == 's') options.server = optarg;
        else if (letter == 'm') options.maps = optarg;
        else exit(2);
    }
    if (optind < count) {
        fprintf(stderr, "usage: forecast [--members N] [--days D] [--truncation N] [--amplitude A] "
                        "[--server ADDRESS] "
                        "[--maps PREFIX]\n");
        exit(2);
    }
}

int main(int count, char **arguments)
{
    farcall_error *error;
    read_options(count, arguments);
    size_t size = (size_t) (options.truncation + 1) * (size_t) (options.truncation + 1);
    int total = options.members + 2;
    forecast *all = calloc((size_t) total, sizeof *all);
    farcall_connect(options.server, &client, &error);
    check("reach the server", error);
    /* The truth, the analysis, the members: each begins with an error of its own. */
    for (int k = 0; k < total; k++)
        all[k].initial = memory(size);
    farcall_call(client, &error, "weather/idealised", options.truncation, all[0].initial);
    check("make the first state", error);
    perturb(all[0].initial, 0, all[1].initial);
    for (int k = 2; k < total; k++)
        perturb(all[1].initial, (uint64_t) k - 1, all[k].initial);
    run(all, total, size);
    judge(all, total, size);
    for (int k = 0; k < total; k++) {
        free(all[k].initial);
        free(all[k].states);
    }
    free(all);
    farcall_disconnect(client);
    return 0;
}
