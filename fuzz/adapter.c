/*
 * An adapter in C as a function: its answer goes to the caller instead of standard output. build.rs defines ADAPTER, its file;
 * SERVE(line, count), how it is asked; and ASK and FORGET, the names of the functions.
 */

#include <stddef.h>
#include <stdio.h>

static size_t answer_kept(const void *data, size_t size, size_t count, FILE *to);

#define fwrite answer_kept
#define main adapter_main
#include ADAPTER
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

/* The line has `count` bytes, and a NUL after them. */
const char *ASK(const char *line, size_t count, size_t *answer_count) {
    (void)count;
    SERVE(line, count);
    *answer_count = answer_length;
    return answer_data;
}

void FORGET(void) {
    give_all_back();
}
