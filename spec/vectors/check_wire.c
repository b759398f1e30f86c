/* Reads wire.txt with a frame decoder of its own (spec/wire.md, section 3): headers, lengths, padding.
 *
 *     cc -std=c11 -Wall -Wextra -o /tmp/check_wire spec/vectors/check_wire.c && /tmp/check_wire spec/vectors/wire.txt
 *
 * Exit status 1: a difference. The messages in the bodies are the business of check_wire.py. */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 16, FRAME_BYTES_MAX = 4096, LAST_KIND = 15, FLAGS_KNOWN = 3 };

struct header {
    uint8_t kind, flags;
    uint16_t slot;
    uint32_t channel, sequence, length;
};

/* Byte by byte, so that this machine's order and alignment do not matter. */
static uint32_t little(const uint8_t *bytes, int count) {
    uint32_t number = 0;
    while (count-- > 0) {
        number = number << 8 | bytes[count];
    }
    return number;
}

static struct header decode(const uint8_t *bytes) {
    struct header header = {
        .kind = bytes[0],
        .flags = bytes[1],
        .slot = (uint16_t)little(bytes + 2, 2),
        .channel = little(bytes + 4, 4),
        .sequence = little(bytes + 8, 4),
        .length = little(bytes + 12, 4),
    };
    return header;
}

/* Number of bytes that the hexadecimal text names; -1 if it is none or too long. */
static long unhex(const char *text, uint8_t *bytes) {
    size_t length = strspn(text, "0123456789abcdef");
    if (length % 2 != 0 || length / 2 > FRAME_BYTES_MAX) {
        return -1;
    }
    for (size_t at = 0; at < length / 2; at++) {
        char pair[3] = {text[2 * at], text[2 * at + 1], 0};
        bytes[at] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return (long)(length / 2);
}

/* What is wrong with a frame, or NULL. */
static const char *problem_with(const struct header *expected, const uint8_t *bytes, long count) {
    if (count < HEADER_BYTES) {
        return "shorter than a header";
    }
    struct header header = decode(bytes);
    if (header.kind != expected->kind || header.flags != expected->flags ||
        header.slot != expected->slot || header.channel != expected->channel ||
        header.sequence != expected->sequence || header.length != expected->length) {
        return "a field of the header differs";
    }
    if (header.kind < 1 || header.kind > LAST_KIND || (header.flags & ~FLAGS_KNOWN) != 0) {
        return "a kind or flag that version 1 does not have";
    }
    uint64_t padded = ((uint64_t)header.length + 7) / 8 * 8;
    if ((uint64_t)count != HEADER_BYTES + padded) {
        return "header, body and padding do not make up the frame";
    }
    for (uint64_t at = HEADER_BYTES + header.length; at < (uint64_t)count; at++) {
        if (bytes[at] != 0) {
            return "padding is not zero";
        }
    }
    return NULL;
}

/* One line of the file; 1 if something is wrong with it. */
static int check_line(const char *line) {
    char name[64], hex[2 * FRAME_BYTES_MAX + 1];
    uint8_t bytes[FRAME_BYTES_MAX];
    struct header expected;
    if (sscanf(line,
            "%63s %" SCNu8 " %" SCNu8 " %" SCNu16 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %8192s",
            name, &expected.kind, &expected.flags, &expected.slot, &expected.channel,
            &expected.sequence, &expected.length, hex) != 8) {
        fprintf(stderr, "not a vector: %.60s\n", line);
        return 1;
    }
    long unhex_count = unhex(hex, bytes);
    const char *problem = problem_with(&expected, bytes, unhex_count);
    if (problem != NULL) {
        fprintf(stderr, "%s: %s\n", name, problem);
    }
    return problem != NULL;
}

int main(int count, char **words) {
    FILE *file = fopen(count == 2 ? words[1] : "spec/vectors/wire.txt", "r");
    if (file == NULL) {
        fprintf(stderr, "usage: check_wire spec/vectors/wire.txt\n");
        return 2;
    }
    char line[2 * FRAME_BYTES_MAX + 256];
    int vectors = 0, wrong = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] != '#') {
            vectors++;
            wrong += check_line(line);
        }
    }
    fclose(file);
    printf("%d passed, %d failed\n", vectors - wrong, wrong);
    return wrong != 0 || vectors < 20;
}
