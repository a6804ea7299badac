/* The adapter around the header for C as a function: its answer goes to the caller instead of standard output. */

#include <stddef.h>
#include <stdio.h>

static size_t answer_kept(const void *data, size_t size, size_t count, FILE *to);

#define fwrite answer_kept
#define main adapter_main
#include "../diagipc/adapters/c_header/adapter.c"
#undef main
#undef fwrite

static const char *answer_data;
static size_t answer_length;

/* The bytes are those of `serve`, and stay until `give_all_back`. */
static size_t answer_kept(const void *data, size_t size, size_t count, FILE *to) {
    (void)to;
    answer_data = data;
    answer_length = size * count;
    return count;
}

/* The line ends with a NUL. */
const char *c_header_ask(const char *line, size_t *answer_count) {
    serve(line);
    *answer_count = answer_length;
    return answer_data;
}

void c_header_forget(void) {
    give_all_back();
}
