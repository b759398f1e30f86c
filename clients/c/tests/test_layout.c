/* The C ABI's structures lie in memory as spec/vectors/c-abi.txt says; bindings in other languages
   rely on it. */
#include "check.h"
#include "farcall-executable.h"

struct line {
    const char *structure, *member;
    size_t offset, bytes;
};

#define WHOLE(type) {#type, "-", 0, sizeof(type)}
#define MEMBER(type, member) {#type, #member, offsetof(type, member), sizeof(((type *)0)->member)}

static const struct line lines[] = {
    WHOLE(farcall_argument),
    MEMBER(farcall_argument, kind),
    MEMBER(farcall_argument, element),
    MEMBER(farcall_argument, value),
    MEMBER(farcall_argument, value.integer),
    MEMBER(farcall_argument, value.real),
    MEMBER(farcall_argument, value.parts.real),
    MEMBER(farcall_argument, value.parts.imaginary),
    MEMBER(farcall_argument, value.text.data),
    MEMBER(farcall_argument, value.text.bytes),
    MEMBER(farcall_argument, value.texts.items),
    MEMBER(farcall_argument, value.texts.count),
    MEMBER(farcall_argument, data),
    MEMBER(farcall_argument, rank),
    MEMBER(farcall_argument, shape),
    MEMBER(farcall_argument, strides),
    MEMBER(farcall_argument, destination),
    MEMBER(farcall_argument, into_element),
    MEMBER(farcall_argument, into),
    MEMBER(farcall_argument, into_rank),
    MEMBER(farcall_argument, into_shape),
    MEMBER(farcall_argument, into_strides),
    MEMBER(farcall_argument, reserved),
    WHOLE(farcall_text),
    MEMBER(farcall_text, data),
    MEMBER(farcall_text, bytes),
    WHOLE(farcall_value),
    MEMBER(farcall_value, tag),
    MEMBER(farcall_value, reserved),
    MEMBER(farcall_value, value),
    WHOLE(farcall_place),
    MEMBER(farcall_place, object),
    MEMBER(farcall_place, free),
    MEMBER(farcall_place, process),
    WHOLE(farcall_declared),
    MEMBER(farcall_declared, name),
    MEMBER(farcall_declared, kind),
    MEMBER(farcall_declared, mode),
    MEMBER(farcall_declared, element),
    MEMBER(farcall_declared, rank),
    MEMBER(farcall_declared, element_bytes),
    MEMBER(farcall_declared, column),
    MEMBER(farcall_declared, reserved),
    WHOLE(farcall_transfer),
    MEMBER(farcall_transfer, sent),
    MEMBER(farcall_transfer, to_send),
    MEMBER(farcall_transfer, received),
    MEMBER(farcall_transfer, to_receive),
    MEMBER(farcall_transfer, callback_arguments_seconds),
    MEMBER(farcall_transfer, callback_results_seconds),
    MEMBER(farcall_transfer, reserved),
    WHOLE(farcall_array_view),
    MEMBER(farcall_array_view, data),
    MEMBER(farcall_array_view, element),
    MEMBER(farcall_array_view, rank),
    MEMBER(farcall_array_view, element_bytes),
    MEMBER(farcall_array_view, shape),
    MEMBER(farcall_array_view, strides),
    WHOLE(farcall_times),
    MEMBER(farcall_times, queued),
    MEMBER(farcall_times, started),
    MEMBER(farcall_times, finished),
    WHOLE(farcall_call_options),
    MEMBER(farcall_call_options, size),
    MEMBER(farcall_call_options, timeout_seconds),
    MEMBER(farcall_call_options, announced),
    MEMBER(farcall_call_options, wanted),
    MEMBER(farcall_call_options, on),
    MEMBER(farcall_call_options, keep_seconds),
    MEMBER(farcall_call_options, durable),
    MEMBER(farcall_call_options, ranks),
    MEMBER(farcall_call_options, label),
    MEMBER(farcall_call_options, run_timeout_seconds),
    MEMBER(farcall_call_options, resources),
    MEMBER(farcall_call_options, at),
    MEMBER(farcall_call_options, stay),
    MEMBER(farcall_call_options, lease_seconds),
    WHOLE(farcall_publish_options),
    MEMBER(farcall_publish_options, size),
    MEMBER(farcall_publish_options, source),
    MEMBER(farcall_publish_options, timeout_seconds),
    MEMBER(farcall_publish_options, stay),
    MEMBER(farcall_publish_options, reserved),
    MEMBER(farcall_publish_options, known_as),
    WHOLE(farcall_hold_options),
    MEMBER(farcall_hold_options, size),
    MEMBER(farcall_hold_options, lease_seconds),
    MEMBER(farcall_hold_options, start_seconds),
    MEMBER(farcall_hold_options, detached),
    MEMBER(farcall_hold_options, ranks),
    MEMBER(farcall_hold_options, resources),
    WHOLE(farcall_news),
    MEMBER(farcall_news, kind),
    MEMBER(farcall_news, before),
    MEMBER(farcall_news, done),
    MEMBER(farcall_news, text),
    MEMBER(farcall_news, bytes),
    MEMBER(farcall_news, reserved),
    WHOLE(farcall_connect_options),
    MEMBER(farcall_connect_options, size),
    MEMBER(farcall_connect_options, address),
    MEMBER(farcall_connect_options, token_file),
    MEMBER(farcall_connect_options, timeout_seconds),
    MEMBER(farcall_connect_options, heartbeat_seconds),
    MEMBER(farcall_connect_options, reconnect_seconds),
    MEMBER(farcall_connect_options, settings),
    MEMBER(farcall_connect_options, here),
    WHOLE(farcall_server_options),
    MEMBER(farcall_server_options, size),
    MEMBER(farcall_server_options, program),
    MEMBER(farcall_server_options, files),
    MEMBER(farcall_server_options, file_count),
    MEMBER(farcall_server_options, arguments),
    MEMBER(farcall_server_options, argument_count),
    MEMBER(farcall_server_options, timeout_seconds),
    WHOLE(farcall_parameter),
    MEMBER(farcall_parameter, name),
    MEMBER(farcall_parameter, data),
    MEMBER(farcall_parameter, kind),
    MEMBER(farcall_parameter, mode),
    MEMBER(farcall_parameter, element),
    MEMBER(farcall_parameter, rank),
    MEMBER(farcall_parameter, element_bytes),
    MEMBER(farcall_parameter, shape),
    MEMBER(farcall_parameter, strides),
    WHOLE(farcall_step),
    MEMBER(farcall_step, data),
    MEMBER(farcall_step, into),
    WHOLE(farcall_map_options),
    MEMBER(farcall_map_options, size),
    MEMBER(farcall_map_options, call),
    MEMBER(farcall_map_options, window),
    MEMBER(farcall_map_options, goes_on),
    MEMBER(farcall_map_options, reserved),
    MEMBER(farcall_map_options, done),
    MEMBER(farcall_map_options, context),
    WHOLE(farcall_outcome),
    MEMBER(farcall_outcome, element),
    MEMBER(farcall_outcome, status),
    MEMBER(farcall_outcome, server),
    MEMBER(farcall_outcome, results),
    MEMBER(farcall_outcome, error),
    MEMBER(farcall_outcome, times),
    WHOLE(farcall_number),
    MEMBER(farcall_number, bytes),
};

static const struct line *find(const char *structure, const char *member)
{
    size_t index;
    for (index = 0; index < sizeof lines / sizeof *lines; index++)
        if (strcmp(lines[index].structure, structure) == 0 &&
            strcmp(lines[index].member, member) == 0)
            return &lines[index];
    return NULL;
}

static size_t compare(FILE *file)
{
    char text[200], structure[80], member[80];
    size_t offset, bytes, read = 0;
    while (fgets(text, sizeof text, file)) {
        const struct line *line;
        if (text[0] == '#' ||
            sscanf(text, "%79s %79s %zu %zu", structure, member, &offset, &bytes) != 4)
            continue;
        read++;
        line = find(structure, member);
        CHECK(line && line->offset == offset && line->bytes == bytes);
        if (!line || line->offset != offset || line->bytes != bytes)
            printf("    %s", text);
    }
    return read;
}

int main(void)
{
    FILE *file = fopen("spec/vectors/c-abi.txt", "r");
    CHECK(file != NULL);
    if (file) {
        CHECK(compare(file) == sizeof lines / sizeof *lines); /* and none is missing there */
        fclose(file);
    }
    CHECK(FARCALL_INTERNAL == 20 && FARCALL_STRUCT == 14 && FARCALL_ARRAY == 8 &&
          FARCALL_RESULT_TEXTS == 5);
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed ? 1 : 0;
}
