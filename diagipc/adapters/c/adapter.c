/*
 * A codec of the .NET Diagnostic IPC Protocol in C99, with the line protocol of diagipc/adapters/README.md.
 *
 * Complete: every type of vectors/README.md, both ways. Written from that page, the vectors and spec/, with no code of another
 * codec, so that readings of the same text can be held against each other. One JSON object a line comes in, one goes out. It needs
 * nothing but the C library.
 *
 *     cc -std=c99 -Wall -Wextra -Werror -fsanitize=address,undefined -o adapter adapter.c
 *     diagipc codec -- ./adapter
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Refusals: every exit leads to `answer_to`. */

static jmp_buf way_out;
static const char *refused_layer; /* NULL: unsupported */
static struct json *refused_value;

static void refuse(const char *layer) {
    refused_layer = layer;
    longjmp(way_out, 1);
}

static void unsupported(void) {
    refuse(NULL);
}

static void need(int condition) {
    if (!condition)
        refuse("payload");
}

/* Memory: all of it is freed at the end of a line. Every piece is from malloc, so that a sanitizer sees its bounds. */

struct piece {
    struct piece *next;
};

static struct piece *pieces;

static void *get(size_t size) {
    struct piece *piece = malloc(sizeof *piece + size);
    if (piece == NULL)
        abort();
    piece->next = pieces;
    pieces = piece;
    memset(piece + 1, 0, size);
    return piece + 1;
}

static void give_all_back(void) {
    while (pieces != NULL) {
        struct piece *next = pieces->next;
        free(pieces);
        pieces = next;
    }
}

/* Space for one more item in an array that doubles. */
static void *grown(void *items, size_t count, size_t *room, size_t item) {
    if (count < *room)
        return items;
    *room = *room == 0 ? 8 : *room * 2;
    void *more = get(*room * item);
    if (count > 0)
        memcpy(more, items, count * item);
    return more;
}

/* Bytes that are written. */

typedef struct {
    uint8_t *data;
    size_t count, room;
} bytes;

static void put(bytes *out, unsigned byte) {
    out->data = grown(out->data, out->count, &out->room, 1);
    out->data[out->count++] = (uint8_t)byte;
}

static void put_all(bytes *out, const void *data, size_t count) {
    for (size_t i = 0; i < count; i++)
        put(out, ((const uint8_t *)data)[i]);
}

static void put_text(bytes *out, const char *text) {
    put_all(out, text, strlen(text));
}

static void put_number(bytes *out, uint64_t number, unsigned width) {
    for (unsigned i = 0; i < width; i++)
        put(out, (unsigned)(number >> 8 * i & 0xFF));
}

static void put_decimal(bytes *out, uint64_t number) {
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        put(out, (unsigned char)digits[--count]);
}

/* UTF-16 units: the strings of both JSON and the protocol. */

typedef struct {
    uint16_t *data;
    size_t count, room;
} units;

static void put_unit(units *out, unsigned unit) {
    out->data = grown(out->data, out->count, &out->room, sizeof *out->data);
    out->data[out->count++] = (uint16_t)unit;
}

static int is_high(unsigned unit) {
    return unit >= 0xD800 && unit < 0xDC00;
}

static int is_low(unsigned unit) {
    return unit >= 0xDC00 && unit < 0xE000;
}

static int is_unicode(const uint16_t *text, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (is_high(text[i]) && i + 1 < count && is_low(text[i + 1]))
            i++;
        else if (is_high(text[i]) || is_low(text[i]))
            return 0;
    }
    return 1;
}

static void put_utf8(bytes *out, uint32_t character) {
    if (character < 0x80) {
        put(out, character);
    } else if (character < 0x800) {
        put(out, 0xC0 | character >> 6);
        put(out, 0x80 | (character & 0x3F));
    } else if (character < 0x10000) {
        put(out, 0xE0 | character >> 12);
        put(out, 0x80 | (character >> 6 & 0x3F));
        put(out, 0x80 | (character & 0x3F));
    } else {
        put(out, 0xF0 | character >> 18);
        put(out, 0x80 | (character >> 12 & 0x3F));
        put(out, 0x80 | (character >> 6 & 0x3F));
        put(out, 0x80 | (character & 0x3F));
    }
}

/* Half a pair becomes U+FFFD. */
static bytes utf8_of(const uint16_t *text, size_t count) {
    bytes out = {0};
    for (size_t i = 0; i < count; i++) {
        if (is_high(text[i]) && i + 1 < count && is_low(text[i + 1])) {
            put_utf8(&out, 0x10000 + ((uint32_t)(text[i] - 0xD800) << 10) + (text[i + 1] - 0xDC00));
            i++;
        } else {
            put_utf8(&out, is_high(text[i]) || is_low(text[i]) ? 0xFFFD : text[i]);
        }
    }
    return out;
}

/* The character at `*at`, which moves past it; -1 if it is not UTF-8. */
static int32_t next_character(const uint8_t *text, size_t count, size_t *at) {
    unsigned first = text[(*at)++];
    unsigned more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    if ((first >= 0x80 && first < 0xC2) || first > 0xF4 || more > count - *at)
        return -1;
    int32_t character = (int32_t)(more == 0 ? first : first & (0x3Fu >> more));
    for (unsigned i = 0; i < more; i++) {
        unsigned byte = text[(*at)++];
        if ((byte & 0xC0) != 0x80)
            return -1;
        character = character << 6 | (int32_t)(byte & 0x3F);
    }
    if (character < least[more] || character > 0x10FFFF || (character >= 0xD800 && character < 0xE000))
        return -1;
    return character;
}

static void put_character(units *out, int32_t character) {
    if (character < 0x10000) {
        put_unit(out, (unsigned)character);
    } else {
        put_unit(out, 0xD800 + ((unsigned)(character - 0x10000) >> 10));
        put_unit(out, 0xDC00 + ((unsigned)(character - 0x10000) & 0x3FF));
    }
}

static int from_utf8(const uint8_t *text, size_t count, units *out) {
    for (size_t at = 0; at < count;) {
        int32_t character = next_character(text, count, &at);
        if (character < 0)
            return 0;
        put_character(out, character);
    }
    return 1;
}

/* JSON. */

enum shape { J_NULL, J_BOOL, J_NUMBER, J_TEXT, J_LIST, J_OBJECT };

typedef struct json {
    enum shape shape;
    int is_whole; /* a number without sign, fraction and exponent that 64 bits hold; or true */
    uint64_t number;
    units text;
    struct json **items; /* of a list or object */
    char **keys;         /* of an object */
    size_t count, room, key_room;
} json;

static json *new_json(enum shape shape) {
    json *value = get(sizeof *value);
    value->shape = shape;
    return value;
}

static json *new_bool(int is_true) {
    json *value = new_json(J_BOOL);
    value->is_whole = is_true;
    return value;
}

static json *new_number(uint64_t number) {
    json *value = new_json(J_NUMBER);
    value->is_whole = 1;
    value->number = number;
    return value;
}

static json *new_text(const char *text) {
    json *value = new_json(J_TEXT);
    for (; *text != 0; text++)
        put_unit(&value->text, (unsigned char)*text);
    return value;
}

static json *new_decimal(uint64_t number) {
    bytes digits = {0};
    put_decimal(&digits, number);
    put(&digits, 0);
    return new_text((const char *)digits.data);
}

static json *new_hex(const uint8_t *data, size_t count) {
    json *value = new_json(J_TEXT);
    for (size_t i = 0; i < count; i++) {
        put_unit(&value->text, (unsigned char)"0123456789abcdef"[data[i] >> 4]);
        put_unit(&value->text, (unsigned char)"0123456789abcdef"[data[i] & 15]);
    }
    return value;
}

static void add(json *list, json *item) {
    list->items = grown(list->items, list->count, &list->room, sizeof *list->items);
    list->items[list->count++] = item;
}

static void set(json *object, const char *key, json *item) {
    object->keys = grown(object->keys, object->count, &object->key_room, sizeof *object->keys);
    object->keys[object->count] = get(strlen(key) + 1);
    strcpy(object->keys[object->count], key);
    add(object, item);
}

static json *field(const json *object, const char *key) {
    if (object != NULL && object->shape == J_OBJECT)
        for (size_t i = 0; i < object->count; i++)
            if (strcmp(object->keys[i], key) == 0)
                return object->items[i];
    return NULL;
}

/* Text, or its units where they are not Unicode. */
static json *new_string(const uint16_t *text, size_t count) {
    int is_text = is_unicode(text, count);
    json *list = new_json(is_text ? J_TEXT : J_LIST);
    for (size_t i = 0; i < count; i++) {
        if (is_text)
            put_unit(&list->text, text[i]);
        else
            add(list, new_number(text[i]));
    }
    if (is_text)
        return list;
    json *object = new_json(J_OBJECT);
    set(object, "utf16", list);
    return object;
}

static int is_same(const json *a, const json *b) {
    if (a == NULL || b == NULL || a->shape != b->shape || a->is_whole != b->is_whole || a->number != b->number)
        return 0;
    if (a->count != b->count || a->text.count != b->text.count)
        return 0;
    if (a->text.count > 0 && memcmp(a->text.data, b->text.data, a->text.count * sizeof *a->text.data) != 0)
        return 0;
    for (size_t i = 0; i < a->count; i++)
        if (!is_same(a->items[i], a->shape == J_OBJECT ? field(b, a->keys[i]) : b->items[i]))
            return 0;
    return 1;
}

static int is_text(const json *value, const char *text) {
    return is_same(value, new_text(text));
}

struct text {
    const uint8_t *data;
    size_t count, at;
};

static int peek(const struct text *in) {
    return in->at < in->count ? in->data[in->at] : -1;
}

static void skip_space(struct text *in) {
    while (peek(in) == ' ' || peek(in) == '\t' || peek(in) == '\r' || peek(in) == '\n')
        in->at++;
}

/* Input that is not JSON cannot be answered. */
static void want(int condition) {
    if (!condition) {
        fputs("adapter: a line that is no JSON\n", stderr);
        exit(1);
    }
}

static void take(struct text *in, const char *word) {
    for (; *word != 0; word++, in->at++)
        want(peek(in) == (unsigned char)*word);
}

static void read_text(struct text *in, units *out) {
    take(in, "\"");
    while (peek(in) != '"') {
        want(peek(in) >= 0x20);
        if (peek(in) != '\\') {
            int32_t character = next_character(in->data, in->count, &in->at);
            want(character >= 0);
            put_character(out, character);
            continue;
        }
        in->at++;
        int escape = peek(in);
        in->at++;
        if (escape == 'u') {
            unsigned unit = 0;
            for (int i = 0; i < 4; i++, in->at++) {
                const char *digits = "0123456789abcdefABCDEF";
                int byte = peek(in);
                const char *digit = byte > 0 ? strchr(digits, byte) : NULL;
                want(digit != NULL);
                unsigned place = (unsigned)(digit - digits);
                unit = unit << 4 | (place < 16 ? place : place - 6);
            }
            put_unit(out, unit);
        } else {
            const char *names = "\"\\/bfnrt", *values = "\"\\/\b\f\n\r\t";
            const char *name = escape > 0 ? strchr(names, escape) : NULL;
            want(name != NULL);
            put_unit(out, (unsigned char)values[name - names]);
        }
    }
    in->at++;
}

static json *read_json(struct text *in, int depth) {
    json *value = NULL;
    want(depth < 64);
    skip_space(in);
    int first = peek(in);
    if (first == '"') {
        value = new_json(J_TEXT);
        read_text(in, &value->text);
    } else if (first == '{' || first == '[') {
        char end = first == '{' ? '}' : ']';
        value = new_json(first == '{' ? J_OBJECT : J_LIST);
        in->at++;
        skip_space(in);
        while (peek(in) != end) {
            if (value->count > 0)
                take(in, ",");
            units key = {0};
            if (first == '{') {
                skip_space(in);
                read_text(in, &key);
                skip_space(in);
                take(in, ":");
            }
            json *item = read_json(in, depth + 1);
            if (first == '{') {
                bytes name = utf8_of(key.data, key.count);
                put(&name, 0);
                set(value, (const char *)name.data, item);
            } else {
                add(value, item);
            }
            skip_space(in);
        }
        in->at++;
    } else if (first == 't' || first == 'f') {
        take(in, first == 't' ? "true" : "false");
        value = new_bool(first == 't');
    } else if (first == 'n') {
        take(in, "null");
        value = new_json(J_NULL);
    } else {
        value = new_number(0);
        size_t start = in->at;
        for (; peek(in) > 0 && strchr("+-.0123456789Ee", peek(in)) != NULL; in->at++) {
            unsigned digit = (unsigned)peek(in) - '0';
            if (digit > 9 || value->number > (UINT64_MAX - digit) / 10)
                value->is_whole = 0;
            else
                value->number = value->number * 10 + digit;
        }
        want(in->at > start);
    }
    return value;
}

static void write_json(bytes *out, const json *value) {
    switch (value->shape) {
    case J_NULL:
        put_text(out, "null");
        break;
    case J_BOOL:
        put_text(out, value->is_whole ? "true" : "false");
        break;
    case J_NUMBER:
        put_decimal(out, value->number);
        break;
    case J_TEXT:
        put(out, '"');
        for (size_t i = 0; i < value->text.count; i++) {
            unsigned unit = value->text.data[i];
            if (unit >= 0x20 && unit < 0x7F && unit != '"' && unit != '\\') {
                put(out, unit);
            } else {
                char escape[8];
                snprintf(escape, sizeof escape, "\\u%04x", unit);
                put_text(out, escape);
            }
        }
        put(out, '"');
        break;
    case J_LIST:
    case J_OBJECT:
        put(out, value->shape == J_LIST ? '[' : '{');
        for (size_t i = 0; i < value->count; i++) {
            if (i > 0)
                put(out, ',');
            if (value->shape == J_OBJECT) {
                /* Every written key is in this file. */
                put(out, '"');
                put_text(out, value->keys[i]);
                put_text(out, "\":");
            }
            write_json(out, value->items[i]);
        }
        put(out, value->shape == J_LIST ? ']' : '}');
        break;
    }
}

/* Values of a required form. */

static uint64_t number_of(const json *value, unsigned width) {
    need(value != NULL && value->shape == J_NUMBER && value->is_whole);
    need(width == 8 || value->number >> 8 * width == 0);
    return value->number;
}

static uint64_t decimal_of(const json *value) {
    uint64_t number = 0;
    need(value != NULL && value->shape == J_TEXT && value->text.count > 0);
    for (size_t i = 0; i < value->text.count; i++) {
        unsigned digit = (unsigned)value->text.data[i] - '0';
        need(digit <= 9 && number <= (UINT64_MAX - digit) / 10);
        number = number * 10 + digit;
    }
    return number;
}

static unsigned hex_digit(unsigned unit) {
    if (unit >= '0' && unit <= '9')
        return unit - '0';
    unit |= 0x20;
    need(unit >= 'a' && unit <= 'f');
    return unit - 'a' + 10;
}

/* The number of the hexadecimal digits from `start` to `end`. */
static uint32_t hex_number(const units *text, size_t start, size_t end) {
    uint32_t number = 0;
    for (size_t i = start; i < end; i++)
        number = number << 4 | hex_digit(text->data[i]);
    return number;
}

static bytes hex_of(const json *value) {
    bytes out = {0};
    need(value != NULL && value->shape == J_TEXT && value->text.count % 2 == 0);
    for (size_t i = 0; i < value->text.count; i += 2)
        put(&out, hex_number(&value->text, i, i + 2));
    return out;
}

static int bool_of(const json *value) {
    need(value != NULL && value->shape == J_BOOL);
    return value->is_whole;
}

static const json *list_of(const json *value) {
    need(value != NULL && value->shape == J_LIST);
    return value;
}

/* Exactly these keys; the last is NULL. */
static void check_keys(const json *object, ...) {
    size_t count = 0;
    va_list keys;
    need(object != NULL && object->shape == J_OBJECT);
    va_start(keys, object);
    for (const char *key = va_arg(keys, const char *); key != NULL; key = va_arg(keys, const char *)) {
        if (field(object, key) == NULL) {
            va_end(keys);
            need(0);
        }
        count++;
    }
    va_end(keys);
    need(object->count == count);
}

static units units_of(const json *value) {
    units out = {0};
    if (value != NULL && value->shape == J_TEXT) {
        for (size_t i = 0; i < value->text.count; i++)
            put_unit(&out, value->text.data[i]);
        return out;
    }
    check_keys(value, "utf16", (char *)NULL);
    const json *list = list_of(field(value, "utf16"));
    for (size_t i = 0; i < list->count; i++)
        put_unit(&out, (unsigned)number_of(list->items[i], 2));
    return out;
}

static int is_null(const json *value) {
    return value != NULL && value->shape == J_NULL;
}

/* The bytes of a payload, from front to back. */

typedef struct {
    const uint8_t *data;
    size_t count, at;
} reader;

static size_t left(const reader *in) {
    return in->count - in->at;
}

static const uint8_t *take_bytes(reader *in, size_t count) {
    need(count <= left(in));
    const uint8_t *start = in->data + in->at;
    in->at += count;
    return start;
}

static uint64_t little(const uint8_t *data, unsigned width) {
    uint64_t number = 0;
    while (width-- > 0)
        number = number << 8 | data[width];
    return number;
}

static uint64_t take_number(reader *in, unsigned width) {
    return little(take_bytes(in, width), width);
}

/* A count, which must fit the remaining bytes. */
static size_t take_count(reader *in, size_t least) {
    uint64_t count = take_number(in, 4);
    need(count * least <= left(in));
    return (size_t)count;
}

static units take_units(reader *in, size_t count) {
    units out = {0};
    const uint8_t *data = take_bytes(in, 2 * count);
    for (size_t i = 0; i < count; i++)
        put_unit(&out, (unsigned)little(data + 2 * i, 2));
    return out;
}

static void put_units(bytes *out, const units *text) {
    put_number(out, text->count, 4);
    for (size_t i = 0; i < text->count; i++)
        put_number(out, text->data[i], 2);
}

/* Kinds of fields. */

enum form { NUMBER, DECIMAL, HRESULT, BOOL, GUID, STRING, BYTES, ARRAY, FIELDS };

struct named;

typedef struct kind {
    enum form form;
    unsigned width;
    const struct kind *item;
    const struct named *fields;
    size_t count;
} kind;

struct named {
    const char *name;
    const kind *kind;
};

static const kind byte_kind = {.form = NUMBER, .width = 1};
static const kind ushort_kind = {.form = NUMBER, .width = 2};
static const kind uint_kind = {.form = NUMBER, .width = 4};
static const kind ulong_kind = {.form = DECIMAL, .width = 8};
static const kind hresult_kind = {.form = HRESULT, .width = 4};
static const kind bool_kind = {.form = BOOL, .width = 1};
static const kind guid_kind = {.form = GUID, .width = 16};
static const kind string_kind = {.form = STRING, .width = 4};
static const kind bytes_kind = {.form = BYTES, .width = 4};
static const kind wchars_kind = {.form = ARRAY, .width = 4, .item = &ushort_kind};
static const kind uints_kind = {.form = ARRAY, .width = 4, .item = &uint_kind};
static const kind strings_kind = {.form = ARRAY, .width = 4, .item = &string_kind};

#define STRUCT(name, ...) \
    static const struct named name##_fields[] = {__VA_ARGS__}; \
    static const kind name = {.form = FIELDS, .fields = name##_fields, .count = COUNT(name##_fields)}
#define LIST_OF(name, of) static const kind name = {.form = ARRAY, .width = 4, .item = &of}

static size_t least_of(const kind *kind) {
    size_t least = kind->width;
    for (size_t i = 0; i < kind->count; i++)
        least += least_of(kind->fields[i].kind);
    return least;
}

static json *read_guid(reader *in) {
    const uint8_t *data = take_bytes(in, 16);
    static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    json *value = new_json(J_TEXT);
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            put_unit(&value->text, '-');
        const json *digits = new_hex(data + order[i], 1);
        put_unit(&value->text, digits->text.data[0]);
        put_unit(&value->text, digits->text.data[1]);
    }
    return value;
}

static void write_guid(bytes *out, const json *value) {
    need(value != NULL && value->shape == J_TEXT && value->text.count == 36);
    const units *text = &value->text;
    need(text->data[8] == '-' && text->data[13] == '-' && text->data[18] == '-' && text->data[23] == '-');
    put_number(out, hex_number(text, 0, 8), 4);
    put_number(out, hex_number(text, 9, 13), 2);
    put_number(out, hex_number(text, 14, 18), 2);
    for (size_t i = 19; i < 36; i += i == 21 ? 3 : 2)
        put(out, hex_number(text, i, i + 2));
}

static json *read_kind(const kind *kind, reader *in) {
    switch (kind->form) {
    case NUMBER:
        return new_number(take_number(in, kind->width));
    case DECIMAL:
        return new_decimal(take_number(in, kind->width));
    case HRESULT: {
        char text[11];
        snprintf(text, sizeof text, "0x%08lX", (unsigned long)take_number(in, 4));
        return new_text(text);
    }
    case BOOL:
        return new_bool(take_number(in, 1) != 0);
    case GUID:
        return read_guid(in);
    case STRING: {
        size_t count = take_count(in, 2);
        if (count == 0)
            return new_json(J_NULL);
        units text = take_units(in, count);
        need(text.data[count - 1] == 0);
        return new_string(text.data, count - 1);
    }
    case BYTES: {
        size_t count = take_count(in, 1);
        return new_hex(take_bytes(in, count), count);
    }
    case ARRAY: {
        json *list = new_json(J_LIST);
        for (size_t count = take_count(in, least_of(kind->item)); count > 0; count--)
            add(list, read_kind(kind->item, in));
        return list;
    }
    case FIELDS: {
        json *object = new_json(J_OBJECT);
        for (size_t i = 0; i < kind->count; i++)
            set(object, kind->fields[i].name, read_kind(kind->fields[i].kind, in));
        return object;
    }
    }
    return NULL;
}

static void write_kind(const kind *kind, bytes *out, const json *value) {
    need(value != NULL);
    switch (kind->form) {
    case NUMBER:
        put_number(out, number_of(value, kind->width), kind->width);
        break;
    case DECIMAL: {
        uint64_t number = decimal_of(value);
        need(kind->width == 8 || number >> 8 * kind->width == 0);
        put_number(out, number, kind->width);
        break;
    }
    case HRESULT:
        need(value->shape == J_TEXT && value->text.count == 10 && value->text.data[0] == '0' && value->text.data[1] == 'x');
        put_number(out, hex_number(&value->text, 2, 10), 4);
        break;
    case BOOL:
        put(out, (unsigned)bool_of(value));
        break;
    case GUID:
        write_guid(out, value);
        break;
    case STRING: {
        units text = {0};
        if (!is_null(value)) {
            text = units_of(value);
            put_unit(&text, 0);
        }
        put_units(out, &text);
        break;
    }
    case BYTES: {
        bytes data = hex_of(value);
        put_number(out, data.count, 4);
        put_all(out, data.data, data.count);
        break;
    }
    case ARRAY:
        put_number(out, list_of(value)->count, 4);
        for (size_t i = 0; i < value->count; i++)
            write_kind(kind->item, out, value->items[i]);
        break;
    case FIELDS:
        need(value->shape == J_OBJECT && value->count == kind->count);
        for (size_t i = 0; i < kind->count; i++)
            write_kind(kind->fields[i].kind, out, field(value, kind->fields[i].name));
        break;
    }
}

/* The structures of the document. */

LIST_OF(event_ids, uint_kind);
STRUCT(event_filter, {"enable", &bool_kind}, {"event_ids", &event_ids});
STRUCT(tracepoint_set, {"tracepoint_name", &string_kind}, {"event_ids", &event_ids});
LIST_OF(tracepoint_sets, tracepoint_set);
STRUCT(tracepoint_config, {"default_tracepoint_name", &string_kind}, {"tracepoints", &tracepoint_sets});

#define PROVIDER {"keywords", &ulong_kind}, {"logLevel", &uint_kind}, {"provider_name", &string_kind}
STRUCT(provider_config, PROVIDER, {"arguments", &string_kind});
STRUCT(streaming_provider, PROVIDER, {"arguments", &string_kind}, {"filter", &event_filter});
STRUCT(user_events_provider, PROVIDER, {"arguments", &string_kind}, {"filter", &event_filter}, {"config", &tracepoint_config});
STRUCT(draft_provider, PROVIDER, {"filter_data", &string_kind});
LIST_OF(provider_configs, provider_config);
LIST_OF(streaming_providers, streaming_provider);
LIST_OF(user_events_providers, user_events_provider);
LIST_OF(draft_providers, draft_provider);

#define BUFFER {"circularBufferMB", &uint_kind}, {"format", &uint_kind}
#define STACKWALK {"requestStackwalk", &bool_kind}
#define PROVIDERS {"providers", &provider_configs}
STRUCT(collect_tracing, BUFFER, PROVIDERS);
STRUCT(collect_tracing2, BUFFER, {"requestRundown", &bool_kind}, PROVIDERS);
STRUCT(collect_tracing3, BUFFER, {"requestRundown", &bool_kind}, STACKWALK, PROVIDERS);
STRUCT(collect_tracing4, BUFFER, {"rundownKeyword", &ulong_kind}, STACKWALK, PROVIDERS);
#define STREAMING \
    {"session_type", &uint_kind}, {"streaming_circularBufferMB", &uint_kind}, {"streaming_format", &uint_kind}, \
        {"rundownKeyword", &ulong_kind}, STACKWALK, {"providers", &streaming_providers}
STRUCT(streaming5, STREAMING);
STRUCT(streaming6, STREAMING, {"sessionBufferMode", &uint_kind});
STRUCT(user_events_session, {"session_type", &uint_kind}, {"rundownKeyword", &ulong_kind}, {"providers", &user_events_providers});
STRUCT(draft_collect_tracing, {"circularBufferMB", &uint_kind}, {"outputPath", &string_kind}, {"providers", &draft_providers});

STRUCT(core_dump, {"dumpName", &string_kind}, {"dumpType", &uint_kind}, {"diagnostics", &uint_kind});
STRUCT(core_dump2, {"dumpName", &string_kind}, {"dumpType", &uint_kind}, {"flags", &uint_kind});
STRUCT(session_id, {"sessionId", &ulong_kind});
STRUCT(attach_profiler, {"attachTimeout", &uint_kind}, {"profilerGuid", &guid_kind}, {"profilerPath", &string_kind},
       {"clientData", &bytes_kind});
STRUCT(startup_profiler, {"profilerGuid", &guid_kind}, {"profilerPath", &string_kind});
STRUCT(set_variable, {"name", &string_kind}, {"value", &string_kind});
STRUCT(perf_map, {"perfMapType", &uint_kind});
STRUCT(startup_hook, {"startupHookPath", &string_kind});
static const kind nothing = {.form = FIELDS};

#define INFO \
    {"processId", &ulong_kind}, {"runtimeCookie", &guid_kind}, {"commandLine", &string_kind}, {"OS", &string_kind}, \
        {"arch", &string_kind}
#define INFO2 INFO, {"managedEntrypointAssemblyName", &string_kind}, {"clrProductVersion", &string_kind}
STRUCT(process_info, INFO);
STRUCT(process_info2, INFO2);
STRUCT(process_info3, {"version", &uint_kind}, INFO2, {"runtimeIdentifier", &string_kind});
STRUCT(process_environment, {"nIncomingBytes", &uint_kind}, {"future", &ushort_kind});
STRUCT(result_code, {"hresult", &hresult_kind});
STRUCT(result_text, {"hresult", &hresult_kind}, {"message", &string_kind});

STRUCT(advertise, {"runtimeCookie", &guid_kind}, {"processId", &ulong_kind}, {"future", &ushort_kind});
STRUCT(old_request, {"RequestType", &uint_kind}, {"Pid", &uint_kind});
STRUCT(user_reg, {"size", &uint_kind}, {"enable_bit", &byte_kind}, {"enable_size", &byte_kind}, {"flags", &ushort_kind},
       {"enable_addr", &ulong_kind}, {"name_args", &ulong_kind}, {"write_index", &uint_kind});
STRUCT(user_unreg, {"size", &uint_kind}, {"disable_bit", &byte_kind}, {"reserved", &byte_kind}, {"reserved2", &ushort_kind},
       {"disable_addr", &ulong_kind});

static const struct named piece_kinds[] = {
    {"byte", &byte_kind},
    {"ushort", &ushort_kind},
    {"uint", &uint_kind},
    {"ulong", &ulong_kind},
    {"hresult", &hresult_kind},
    {"bool", &bool_kind},
    {"wchar", &ushort_kind},
    {"string", &string_kind},
    {"guid", &guid_kind},
    {"clsid", &guid_kind},
    {"array<byte>", &bytes_kind},
    {"array<wchar>", &wchars_kind},
    {"array<uint>", &uints_kind},
    {"array<string>", &strings_kind},
    {"event_filter", &event_filter},
    {"tracepoint_set", &tracepoint_set},
    {"tracepoint_config", &tracepoint_config},
    {"provider_config", &provider_config},
    {"streaming_provider_config", &streaming_provider},
    {"user_events_provider_config", &user_events_provider},
    {"old-request", &old_request},
};

/* Messages. */

static const char magic[14] = "DOTNET_IPC_V1";
static const char advertise_magic[8] = "ADVR_V1";
enum { HEADER_LENGTH = 20, ADVERTISE_LENGTH = 34, LARGEST_MESSAGE = 65535, SERVER = 0xFF, OK = 0x00, ERROR = 0xFF };

struct command {
    const char *name;
    unsigned set, id;
    const kind *request, *reply;
};

static const struct command commands[] = {
    {"Dump/GenerateCoreDump", 1, 1, &core_dump, &result_code},
    {"Dump/GenerateCoreDump2", 1, 2, &core_dump2, &result_code},
    {"Dump/GenerateCoreDump3", 1, 3, &core_dump2, &result_code},
    {"EventPipe/StopTracing", 2, 1, &session_id, &session_id},
    {"EventPipe/CollectTracing", 2, 2, &collect_tracing, &session_id},
    {"EventPipe/CollectTracing2", 2, 3, &collect_tracing2, &session_id},
    {"EventPipe/CollectTracing3", 2, 4, &collect_tracing3, &session_id},
    {"EventPipe/CollectTracing4", 2, 5, &collect_tracing4, &session_id},
    {"EventPipe/CollectTracing5", 2, 6, &streaming5, &session_id},
    {"EventPipe/CollectTracing6", 2, 7, &streaming6, &session_id},
    {"Profiler/AttachProfiler", 3, 1, &attach_profiler, &result_code},
    {"Profiler/StartupProfiler", 3, 2, &startup_profiler, &result_code},
    {"Process/ProcessInfo", 4, 0, &nothing, &process_info},
    {"Process/ResumeRuntime", 4, 1, &nothing, &result_code},
    {"Process/ProcessEnvironment", 4, 2, &nothing, &process_environment},
    {"Process/SetEnvironmentVariable", 4, 3, &set_variable, &result_code},
    {"Process/ProcessInfo2", 4, 4, &nothing, &process_info2},
    {"Process/EnablePerfMap", 4, 5, &perf_map, &result_code},
    {"Process/DisablePerfMap", 4, 6, &nothing, &result_code},
    {"Process/ApplyStartupHook", 4, 7, &startup_hook, &result_code},
    {"Process/ProcessInfo3", 4, 8, &nothing, &process_info3},
};

struct message {
    unsigned set, id;
    reader payload;
};

/* The present bytes of the magic; 20 bytes; a size of at least 20 that equals the number of bytes. */
static struct message message_of(const bytes *wire) {
    size_t known = wire->count < sizeof magic ? wire->count : sizeof magic;
    if (known > 0 && memcmp(wire->data, magic, known) != 0)
        refuse("header");
    if (wire->count < HEADER_LENGTH)
        refuse("transport");
    size_t size = (size_t)little(wire->data + sizeof magic, 2);
    if (size < HEADER_LENGTH || size != wire->count)
        refuse("transport");
    struct message message = {wire->data[16], wire->data[17], {wire->data, wire->count, HEADER_LENGTH}};
    return message;
}

static void put_message(bytes *out, unsigned set, unsigned id, const bytes *payload) {
    if (HEADER_LENGTH + payload->count > LARGEST_MESSAGE)
        refuse("transport");
    put_all(out, magic, sizeof magic);
    put_number(out, HEADER_LENGTH + payload->count, 2);
    put(out, set);
    put(out, id);
    put_number(out, 0, 2);
    put_all(out, payload->data, payload->count);
}

static int has_session_type(const kind *request) {
    return request == &streaming5 || request == &streaming6;
}

/* The first field of CollectTracing5 and 6 determines the others. */
static const kind *session_kind(const kind *streaming, uint64_t session_type) {
    need(session_type <= 1);
    return session_type == 0 ? streaming : &user_events_session;
}

/* Absent, or only white space before the end and before any NUL: to a runtime that is no name. */
static int has_no_text(const json *name) {
    if (is_null(name))
        return 1;
    units text = units_of(name);
    size_t count = 0;
    while (count < text.count && (text.data[count] == 32 || (text.data[count] >= 9 && text.data[count] <= 13)))
        count++;
    return count == text.count || text.data[count] == 0;
}

/* How many bytes of UTF-8 a name has, up to its first NUL. */
static size_t name_length(const json *name) {
    if (is_null(name))
        return 0;
    units text = units_of(name);
    size_t count = 0;
    while (count < text.count && text.data[count] != 0)
        count++;
    return utf8_of(text.data, count).count;
}

enum { LONGEST_NAME = 436 };

static int are_tracepoints_allowed(const json *config) {
    const json *name = field(config, "default_tracepoint_name"), *sets = field(config, "tracepoints");
    if ((is_null(name) && sets->count == 0) || name_length(name) > LONGEST_NAME)
        return 0;
    json *seen = new_json(J_LIST);
    for (size_t i = 0; i < sets->count; i++) {
        const json *set_name = field(sets->items[i], "tracepoint_name"), *ids = field(sets->items[i], "event_ids");
        if (has_no_text(set_name) || name_length(set_name) > LONGEST_NAME)
            return 0;
        for (size_t j = 0; j < ids->count; j++) {
            for (size_t k = 0; k < seen->count; k++)
                if (seen->items[k]->number == ids->items[j]->number)
                    return 0;
            add(seen, ids->items[j]);
        }
    }
    return 1;
}

static int is_at_most(const json *object, const char *key, uint64_t least, uint64_t most) {
    const json *number = field(object, key);
    return number == NULL || (number->number >= least && number->number <= most);
}

/* What a server would refuse although it decodes. */
static int is_within_limits(const struct command *command, const json *value) {
    const json *providers = field(value, "providers");
    if (!is_at_most(value, "circularBufferMB", 1, UINT32_MAX) || !is_at_most(value, "streaming_circularBufferMB", 1, UINT32_MAX) ||
        !is_at_most(value, "format", 0, 1) || !is_at_most(value, "streaming_format", 0, 1) ||
        !is_at_most(value, "sessionBufferMode", 0, 1) || !is_at_most(value, "dumpType", 1, 4) ||
        /* Compared as a signed number (P-44). */
        (!is_at_most(value, "perfMapType", 1, 3) && !is_at_most(value, "perfMapType", 0x80000000, UINT32_MAX)))
        return 0;
    if (providers != NULL && (providers->count < 1 || providers->count > 1000))
        return 0;
    for (size_t i = 0; providers != NULL && i < providers->count; i++) {
        const json *provider = providers->items[i], *config = field(provider, "config");
        if (!is_at_most(provider, "logLevel", 0, 5) || has_no_text(field(provider, "provider_name")))
            return 0;
        if (config != NULL && !are_tracepoints_allowed(config))
            return 0;
    }
    /* Names that must not be absent. */
    const json *name = command->request == &set_variable ? field(value, "name") : NULL;
    return !is_null(name) && !is_null(field(value, "startupHookPath")) && !is_null(field(value, "dumpName"));
}

static json *decode_request(const char *type, const struct command *asked, const bytes *wire) {
    struct message message = message_of(wire);
    const struct command *command = NULL;
    for (size_t i = 0; i < COUNT(commands); i++)
        if (commands[i].set == message.set && commands[i].id == message.id)
            command = &commands[i];
    if (strcmp(type, "unknown") == 0 && command == NULL) {
        char code[7];
        snprintf(code, sizeof code, "0x%02X%02X", message.set, message.id);
        json *value = new_json(J_OBJECT);
        set(value, "code", new_text(code));
        set(value, "payload", new_hex(wire->data + HEADER_LENGTH, wire->count - HEADER_LENGTH));
        return value;
    }
    if (command == NULL || command != asked)
        refuse("header");
    if (strcmp(type, "legacy-request") == 0)
        return read_kind(&draft_collect_tracing, &message.payload);
    const kind *kind = command->request;
    if (has_session_type(kind)) {
        reader first = message.payload;
        kind = session_kind(kind, take_number(&first, 4));
    }
    json *value = read_kind(kind, &message.payload);
    if (!is_within_limits(command, value)) {
        refused_value = value;
        refuse("limits");
    }
    return value;
}

static void encode_request(const char *type, const struct command *command, const json *value, bytes *out) {
    bytes payload = {0};
    if (strcmp(type, "unknown") == 0) {
        check_keys(value, "code", "payload", (char *)NULL);
        const units *code = &field(value, "code")->text;
        need(code->count == 6 && code->data[0] == '0' && code->data[1] == 'x');
        payload = hex_of(field(value, "payload"));
        put_message(out, hex_number(code, 2, 4), hex_number(code, 4, 6), &payload);
        return;
    }
    need(command != NULL);
    const kind *kind = strcmp(type, "legacy-request") == 0 ? &draft_collect_tracing : command->request;
    if (has_session_type(kind))
        kind = session_kind(kind, number_of(field(value, "session_type"), 4));
    write_kind(kind, &payload, value);
    put_message(out, command->set, command->id, &payload);
}

static json *decode_reply(const char *type, const struct command *command, const bytes *wire) {
    struct message message = message_of(wire);
    int is_error = strcmp(type, "error") == 0;
    if (message.set != SERVER || message.id != (is_error ? ERROR : OK))
        refuse("reply");
    if (is_error) {
        json *value = read_kind(&result_code, &message.payload);
        if (command != NULL && strcmp(command->name, "Dump/GenerateCoreDump3") == 0 && left(&message.payload) > 0)
            set(value, "message", read_kind(&string_kind, &message.payload));
        return value;
    }
    if (left(&message.payload) == 0)
        return new_json(J_OBJECT);
    need(command != NULL);
    json *value = read_kind(command->reply, &message.payload);
    /* Fields appended by a later version are kept. */
    size_t tail = left(&message.payload);
    if (command->reply == &process_info3 && tail > 0)
        set(value, "tail", new_hex(take_bytes(&message.payload, tail), tail));
    return value;
}

static void encode_reply(const char *type, const struct command *command, const json *value, bytes *out) {
    bytes payload = {0};
    need(value->shape == J_OBJECT);
    if (strcmp(type, "error") == 0) {
        write_kind(field(value, "message") != NULL ? &result_text : &result_code, &payload, value);
        put_message(out, SERVER, ERROR, &payload);
        return;
    }
    if (value->count > 0) {
        need(command != NULL);
        json *known = new_json(J_OBJECT);
        const json *tail = command->reply == &process_info3 ? field(value, "tail") : NULL;
        for (size_t i = 0; i < value->count; i++)
            if (value->items[i] != tail)
                set(known, value->keys[i], value->items[i]);
        write_kind(command->reply, &payload, known);
        if (tail != NULL) {
            bytes more = hex_of(tail);
            put_all(&payload, more.data, more.count);
        }
    }
    put_message(out, SERVER, OK, &payload);
}

static json *decode_advertise(const bytes *wire) {
    size_t known = wire->count < sizeof advertise_magic ? wire->count : sizeof advertise_magic;
    if (known > 0 && memcmp(wire->data, advertise_magic, known) != 0)
        refuse("header");
    if (wire->count != ADVERTISE_LENGTH)
        refuse("transport");
    reader in = {wire->data, wire->count, sizeof advertise_magic};
    return read_kind(&advertise, &in);
}

static void encode_advertise(const json *value, bytes *out) {
    put_all(out, advertise_magic, sizeof advertise_magic);
    write_kind(&advertise, out, value);
}

/* What follows a reply. */

/* A count of the block; if impossible, it may be an error message in its place. */
static size_t environment_count(reader *in, size_t least) {
    reader rest = *in;
    uint64_t count = take_number(in, 4);
    if (count * least <= left(in))
        return (size_t)count;
    const uint8_t *data = rest.data + rest.at;
    if (left(&rest) >= HEADER_LENGTH + 4 && memcmp(data, magic, sizeof magic) == 0 && little(data + 14, 2) >= HEADER_LENGTH + 4 &&
        data[16] == SERVER && data[17] == ERROR)
        refuse("reply");
    refuse("payload");
    return 0;
}

/* The text of a value that may be written as units although it is Unicode. */
static json *plain_string(const json *value) {
    if (is_null(value))
        return new_json(J_NULL);
    units text = units_of(value);
    return new_string(text.data, text.count);
}

/* The text before and after the first `=` that is not the first unit. */
static json *split_entry(const uint16_t *text, size_t count) {
    size_t equals = 1;
    while (equals < count && text[equals] != '=')
        equals++;
    json *entry = new_json(J_OBJECT);
    set(entry, "name", new_string(text, equals < count ? equals : count));
    set(entry, "value", equals < count ? new_string(text + equals + 1, count - equals - 1) : new_json(J_NULL));
    return entry;
}

static json *decode_environment(const bytes *wire) {
    reader in = {wire->data, wire->count, 0};
    json *entries = new_json(J_LIST);
    for (size_t count = environment_count(&in, 4); count > 0; count--) {
        units text = take_units(&in, environment_count(&in, 2));
        int is_terminated = text.count > 0 && text.data[text.count - 1] == 0;
        json *entry = split_entry(text.data, text.count - (is_terminated ? 1 : 0));
        if (!is_terminated)
            set(entry, "terminated", new_bool(0));
        add(entries, entry);
    }
    if (left(&in) > 0)
        refuse("transport");
    return entries;
}

static void encode_environment(const json *value, bytes *out) {
    put_number(out, list_of(value)->count, 4);
    for (size_t i = 0; i < value->count; i++) {
        const json *entry = value->items[i], *terminated = field(entry, "terminated");
        if (terminated != NULL)
            check_keys(entry, "name", "value", "terminated", (char *)NULL);
        else
            check_keys(entry, "name", "value", (char *)NULL);
        units text = units_of(field(entry, "name"));
        if (!is_null(field(entry, "value"))) {
            units content = units_of(field(entry, "value"));
            put_unit(&text, '=');
            for (size_t j = 0; j < content.count; j++)
                put_unit(&text, content.data[j]);
        }
        /* Otherwise it would decode differently. */
        json *again = split_entry(text.data, text.count);
        need(is_same(field(again, "name"), plain_string(field(entry, "name"))));
        need(is_same(field(again, "value"), plain_string(field(entry, "value"))));
        if (terminated == NULL)
            put_unit(&text, 0);
        else
            need(!bool_of(terminated) && (text.count == 0 || text.data[text.count - 1] != 0));
        put_units(out, &text);
    }
}

static const uint8_t fast[24] = "\x14\0\0\0!FastSerialization.1";
static const uint8_t nettrace[32] = "Nettrace\x14\0\0\0!FastSerialization.1";
static const uint8_t blocks[20] = "Nettrace\0\0\0\0";
enum { BLOCKS_KNOWN = 12 };

static int begins(const bytes *wire, const uint8_t *with, size_t count) {
    return wire->count >= count && memcmp(wire->data, with, count) == 0;
}

static int may_become(const bytes *wire, const uint8_t *whole, size_t count) {
    return wire->count < count && (wire->count == 0 || memcmp(wire->data, whole, wire->count) == 0);
}

static json *decode_stream_start(const bytes *wire) {
    json *value = new_json(J_OBJECT);
    const char *name = "opaque";
    size_t known = 0;
    if (begins(wire, nettrace, sizeof nettrace)) {
        name = "nettrace";
        known = sizeof nettrace;
    } else if (wire->count >= sizeof blocks && begins(wire, blocks, BLOCKS_KNOWN)) {
        name = "nettrace-blocks";
        known = sizeof blocks;
    } else if (begins(wire, fast, sizeof fast)) {
        name = "netperf";
        known = sizeof fast;
    } else if (may_become(wire, nettrace, sizeof nettrace) || may_become(wire, fast, sizeof fast) ||
               may_become(wire, blocks, BLOCKS_KNOWN) || begins(wire, blocks, BLOCKS_KNOWN)) {
        name = "need-more";
    }
    set(value, "start", new_text(name));
    if (known == sizeof blocks) {
        set(value, "major", new_number(little(wire->data + 12, 4)));
        set(value, "minor", new_number(little(wire->data + 16, 4)));
    }
    set(value, "rest", known < wire->count ? new_hex(wire->data + known, wire->count - known) : new_text(""));
    return value;
}

static void encode_stream_start(const json *value, bytes *out) {
    const json *start = field(value, "start");
    if (is_text(start, "nettrace")) {
        put_all(out, nettrace, sizeof nettrace);
    } else if (is_text(start, "netperf")) {
        put_all(out, fast, sizeof fast);
    } else if (is_text(start, "nettrace-blocks")) {
        put_all(out, blocks, BLOCKS_KNOWN);
        put_number(out, number_of(field(value, "major"), 4), 4);
        put_number(out, number_of(field(value, "minor"), 4), 4);
    }
    bytes rest = hex_of(field(value, "rest"));
    put_all(out, rest.data, rest.count);
    need(is_same(decode_stream_start(out), value));
}

/* user_events. */

static json *decode_kernel_struct(const bytes *wire, const kind *kind) {
    reader in = {wire->data, wire->count, 0};
    json *value = read_kind(kind, &in);
    uint64_t size = field(value, "size")->number;
    need(size == least_of(kind) || (kind == &user_reg && size == 32));
    /* Fields end at byte 28; the padding is zero. */
    for (uint64_t i = least_of(kind); i < size; i++)
        need(take_number(&in, 1) == 0);
    return value;
}

static void encode_kernel_struct(const json *value, const kind *kind, bytes *out) {
    write_kind(kind, out, value);
    uint64_t size = field(value, "size")->number;
    need(size == least_of(kind) || (kind == &user_reg && size == 32));
    while (out->count < size)
        put(out, 0);
}

static const char tracepoint_fields[] = " u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload";

static json *decode_tracepoint_command(const bytes *wire) {
    size_t length = 0;
    units name = {0};
    while (length < wire->count && wire->data[length] != ' ') {
        need(wire->data[length] != 0);
        length++;
    }
    need(length > 0 && length <= LONGEST_NAME && wire->count - length == strlen(tracepoint_fields));
    need(memcmp(wire->data + length, tracepoint_fields, strlen(tracepoint_fields)) == 0);
    need(from_utf8(wire->data, length, &name));
    json *value = new_json(J_OBJECT);
    set(value, "tracepoint_name", new_string(name.data, name.count));
    return value;
}

static void encode_tracepoint_command(const json *value, bytes *out) {
    check_keys(value, "tracepoint_name", (char *)NULL);
    need(!is_null(field(value, "tracepoint_name")));
    units name = units_of(field(value, "tracepoint_name"));
    need(is_unicode(name.data, name.count));
    bytes text = utf8_of(name.data, name.count);
    put_all(out, text.data, text.count);
    put_text(out, tracepoint_fields);
    need(is_same(field(decode_tracepoint_command(out), "tracepoint_name"), plain_string(field(value, "tracepoint_name"))));
}

enum { RECORD_LENGTH = 15 };

/* The bytes that a __rel_loc names, counted from its end. */
static json *read_location(reader *in) {
    uint32_t location = (uint32_t)take_number(in, 4);
    size_t start = in->at + (location & 0xFFFF), length = location >> 16;
    need(start >= RECORD_LENGTH && start <= in->count && length <= in->count - start);
    return length == 0 ? new_text("") : new_hex(in->data + start, length);
}

static json *decode_record(const bytes *wire) {
    reader in = {wire->data, wire->count, 0};
    json *value = new_json(J_OBJECT);
    set(value, "write_index", new_number(take_number(&in, 4)));
    uint64_t version = take_number(&in, 1);
    set(value, "version", new_number(version));
    if (version != 1) {
        size_t rest = left(&in);
        set(value, "rest", new_hex(take_bytes(&in, rest), rest));
        return value;
    }
    set(value, "event_id", new_number(take_number(&in, 2)));
    set(value, "extension", read_location(&in));
    set(value, "payload", read_location(&in));
    return value;
}

static void encode_record(const json *value, bytes *out) {
    put_number(out, number_of(field(value, "write_index"), 4), 4);
    put_number(out, number_of(field(value, "version"), 1), 1);
    if (number_of(field(value, "version"), 1) != 1) {
        check_keys(value, "write_index", "version", "rest", (char *)NULL);
        bytes rest = hex_of(field(value, "rest"));
        put_all(out, rest.data, rest.count);
        return;
    }
    check_keys(value, "write_index", "version", "event_id", "extension", "payload", (char *)NULL);
    bytes extension = hex_of(field(value, "extension")), payload = hex_of(field(value, "payload"));
    need(extension.count <= 0xFFFF && payload.count <= 0xFFFF);
    put_number(out, number_of(field(value, "event_id"), 2), 2);
    /* Over the other location; over the extension. */
    put_number(out, (uint64_t)extension.count << 16 | 4, 4);
    put_number(out, (uint64_t)payload.count << 16 | extension.count, 4);
    put_all(out, extension.data, extension.count);
    put_all(out, payload.data, payload.count);
}

static json *decode_extension(const bytes *wire) {
    reader in = {wire->data, wire->count, 0};
    json *parts = new_json(J_LIST);
    while (left(&in) > 0) {
        json *part = new_json(J_OBJECT);
        uint64_t label = take_number(&in, 1);
        set(part, "label", new_number(label));
        if (label == 1) {
            set(part, "metadata", read_kind(&bytes_kind, &in));
        } else if (label == 2 || label == 3) {
            set(part, "guid", read_kind(&guid_kind, &in));
        } else {
            size_t rest = left(&in);
            set(part, "rest", new_hex(take_bytes(&in, rest), rest));
        }
        add(parts, part);
    }
    return parts;
}

static void encode_extension(const json *value, bytes *out) {
    list_of(value);
    for (size_t i = 0; i < value->count; i++) {
        const json *part = value->items[i];
        uint64_t label = number_of(field(part, "label"), 1);
        put_number(out, label, 1);
        if (label == 1) {
            check_keys(part, "label", "metadata", (char *)NULL);
            write_kind(&bytes_kind, out, field(part, "metadata"));
        } else if (label == 2 || label == 3) {
            check_keys(part, "label", "guid", (char *)NULL);
            write_kind(&guid_kind, out, field(part, "guid"));
        } else {
            check_keys(part, "label", "rest", (char *)NULL);
            /* It has no length: the following bytes would be read as a part of it. */
            need(i + 1 == value->count);
            bytes rest = hex_of(field(part, "rest"));
            put_all(out, rest.data, rest.count);
        }
    }
}

/* The protocol before this one, and the draft's errors. */

static json *decode_old_reply(const bytes *wire) {
    if (wire->count > 8)
        refuse("transport");
    need(wire->count == 4 || wire->count == 8);
    uint64_t id = little(wire->data, (unsigned)wire->count);
    json *value = new_json(J_OBJECT);
    set(value, "bits", new_number(8 * wire->count));
    set(value, "sessionId", id == 0 ? new_json(J_NULL) : new_decimal(id));
    return value;
}

static void encode_old_reply(const json *value, bytes *out) {
    check_keys(value, "bits", "sessionId", (char *)NULL);
    uint64_t bits = number_of(field(value, "bits"), 1);
    need(bits == 32 || bits == 64);
    uint64_t id = is_null(field(value, "sessionId")) ? 0 : decimal_of(field(value, "sessionId"));
    need(bits == 64 || id <= UINT32_MAX);
    put_number(out, id, (unsigned)bits / 8);
    need(is_same(decode_old_reply(out), value));
}

static json *decode_draft_error(const bytes *wire) {
    static const struct {
        uint32_t code;
        const char *name, *hresult;
    } codes[] = {
        {0, "OK", "0x00000000"},
        {1, "BadEncoding", "0x80131384"},
        {2, "UnknownCommand", "0x80131385"},
        {3, "UnknownMagic", "0x80131386"},
        {4, "BadInput", NULL},
        {0xFFFFFFFF, "UnknownError", "0x80131387"},
    };
    reader in = {wire->data, wire->count, 0};
    uint64_t code = take_number(&in, 4);
    const char *name = NULL, *hresult = NULL;
    for (size_t i = 0; i < COUNT(codes); i++)
        if (codes[i].code == code) {
            name = codes[i].name;
            hresult = codes[i].hresult;
        }
    json *value = new_json(J_OBJECT);
    set(value, "code", new_number(code));
    set(value, "name", name == NULL ? new_json(J_NULL) : new_text(name));
    set(value, "hresult", hresult == NULL ? new_json(J_NULL) : new_text(hresult));
    return value;
}

static void encode_draft_error(const json *value, bytes *out) {
    put_number(out, number_of(field(value, "code"), 4), 4);
    need(is_same(decode_draft_error(out), value));
}

/* Texts: ports, and names of sockets and pipes. They stay bytes; offsets count these. */

typedef struct {
    const uint8_t *data;
    size_t count;
} span;

static span part(const bytes *text, size_t start, size_t end) {
    span span = {start < end ? text->data + start : NULL, end - start};
    return span;
}

static json *span_text(span span) {
    units text = {0};
    need(from_utf8(span.data, span.count, &text));
    return new_string(text.data, text.count);
}

/* `ignore_case`: only of ASCII. */
static int is_word(span span, const char *word, int ignore_case) {
    if (span.count != strlen(word))
        return 0;
    for (size_t i = 0; i < span.count; i++) {
        unsigned byte = span.data[i];
        if (ignore_case && byte >= 'A' && byte <= 'Z')
            byte |= 0x20;
        if (byte != (unsigned char)word[i])
            return 0;
    }
    return 1;
}

static int is_space(unsigned byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static int is_blank(span span) {
    for (size_t i = 0; i < span.count; i++)
        if (!is_space(span.data[i]))
            return 0;
    return 1;
}

static size_t find(const bytes *text, size_t from, size_t end, unsigned byte) {
    while (from < end && text->data[from] != byte)
        from++;
    return from;
}

static json *new_port(span address, int suspends) {
    json *port = new_json(J_OBJECT);
    set(port, "address", span_text(address));
    set(port, "suspend", new_bool(suspends));
    set(port, "type", new_text("connect"));
    return port;
}

static void ignore(json *ignored, size_t offset, span text, const char *reason) {
    json *item = new_json(J_OBJECT);
    set(item, "offset", new_number(offset));
    set(item, "text", span_text(text));
    set(item, "reason", new_text(reason));
    add(ignored, item);
}

/* A port between two places of the text, or NULL. */
static json *read_port(const bytes *text, size_t start, size_t end, json *ignored) {
    json *here = new_json(J_LIST);
    span address = {NULL, 0};
    int suspends = -1, listens = -1;
    for (size_t at = start; at <= end;) {
        size_t stop = find(text, at, end, ',');
        span tag = part(text, at, stop);
        int no_suspend = is_word(tag, "nosuspend", 1), listen = is_word(tag, "listen", 1);
        if (tag.count == 0)
            ignore(here, at, tag, "empty_field");
        else if (address.count == 0)
            address = tag;
        else if (no_suspend || is_word(tag, "suspend", 1)) {
            if (suspends >= 0)
                ignore(here, at, tag, "later_tag");
            else
                suspends = !no_suspend;
        } else if (listen || is_word(tag, "connect", 1)) {
            if (listens >= 0)
                ignore(here, at, tag, "later_tag");
            else
                listens = listen;
        } else
            ignore(here, at, tag, "unknown_tag");
        at = stop + 1;
    }
    if (is_blank(address) || listens == 1) {
        ignore(ignored, start, part(text, start, end), is_blank(address) ? "no_address" : "listen_port");
        return NULL;
    }
    for (size_t i = 0; i < here->count; i++)
        add(ignored, here->items[i]);
    return new_port(address, suspends != 0);
}

static void reverse(json *list) {
    for (size_t i = 0; i < list->count / 2; i++) {
        json *last = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = list->items[i];
        list->items[i] = last;
    }
}

static json *decode_ports(const bytes *text) {
    units whole = {0};
    need(from_utf8(text->data, text->count, &whole));
    json *value = new_json(J_OBJECT), *ports = new_json(J_LIST), *ignored = new_json(J_LIST);
    size_t end = find(text, 0, text->count, 0);
    for (size_t at = 0; at <= end && end > 0;) {
        size_t stop = find(text, at, end, ';');
        if (stop == at) {
            ignore(ignored, at, part(text, at, stop), "empty_port");
        } else {
            json *port = read_port(text, at, stop, ignored);
            if (port != NULL)
                add(ports, port);
        }
        at = stop + 1;
    }
    if (end < text->count)
        ignore(ignored, end, part(text, end, text->count), "behind_nul");
    /* The last in the text is built first. */
    reverse(ports);
    set(value, "ports", ports);
    set(value, "ignored", ignored);
    return value;
}

static const char pipe_directory[] = "\\\\.\\pipe\\";

static json *decode_strict_ports(const bytes *text) {
    units whole = {0};
    need(from_utf8(text->data, text->count, &whole) && find(text, 0, text->count, 0) == text->count);
    json *value = new_json(J_OBJECT), *ports = new_json(J_LIST);
    for (size_t at = 0; at <= text->count;) {
        size_t end = find(text, at, text->count, ';'), stop = find(text, at, end, ',');
        span address = part(text, at, stop);
        int suspends = -1;
        need(!is_blank(address));
        need(address.count < strlen(pipe_directory) || memcmp(address.data, pipe_directory, strlen(pipe_directory)) != 0);
        while (stop < end) {
            size_t start = stop + 1;
            stop = find(text, start, end, ',');
            span tag = part(text, start, stop);
            int no_suspend = is_word(tag, "nosuspend", 0);
            need(no_suspend || is_word(tag, "suspend", 0) || is_word(tag, "connect", 0));
            if (suspends < 0 && !is_word(tag, "connect", 0))
                suspends = !no_suspend;
        }
        add(ports, new_port(address, suspends != 0));
        at = end + 1;
    }
    reverse(ports);
    set(value, "ports", ports);
    return value;
}

/* The bytes of a text that must be Unicode. */
static void put_string(bytes *out, const json *value) {
    need(value != NULL && value->shape == J_TEXT && is_unicode(value->text.data, value->text.count));
    bytes text = utf8_of(value->text.data, value->text.count);
    put_all(out, text.data, text.count);
}

static void encode_ports(const json *value, int strict, bytes *out) {
    if (strict)
        check_keys(value, "ports", (char *)NULL);
    else
        check_keys(value, "ports", "ignored", (char *)NULL);
    const json *ports = list_of(field(value, "ports"));
    for (size_t i = ports->count; i-- > 0;) {
        const json *port = ports->items[i];
        check_keys(port, "address", "suspend", "type", (char *)NULL);
        put_string(out, field(port, "address"));
        put_text(out, bool_of(field(port, "suspend")) ? "" : ",nosuspend");
        put_text(out, i > 0 ? ";" : "");
    }
    /* Ignored parts are not written. */
    need(is_same(field(strict ? decode_strict_ports(out) : decode_ports(out), "ports"), ports));
}

/* As C's strtoul with base 16 reads it, in 32 bits. */
static json *decode_default_suspend(const bytes *text) {
    units whole = {0};
    need(from_utf8(text->data, text->count, &whole));
    size_t at = 0;
    uint64_t number = 0;
    while (at < text->count && is_space(text->data[at]))
        at++;
    if (at < text->count && (text->data[at] == '+' || text->data[at] == '-'))
        at++;
    if (at + 1 < text->count && text->data[at] == '0' && (text->data[at + 1] | 0x20) == 'x')
        at += 2;
    for (; at < text->count && text->data[at] != 0 && strchr("0123456789abcdefABCDEF", text->data[at]) != NULL; at++) {
        number = number << 4 | hex_digit(text->data[at]);
        /* Beyond 32 bits it is not a number. */
        if (number > UINT32_MAX)
            return new_bool(0);
    }
    return new_bool(number != 0);
}

struct cursor {
    const bytes *text;
    size_t at;
};

static int takes(struct cursor *in, const char *word) {
    size_t length = strlen(word);
    if (in->text->count - in->at < length || memcmp(in->text->data + in->at, word, length) != 0)
        return 0;
    in->at += length;
    return 1;
}

/* Decimal, without sign and leading zero. */
static uint64_t take_plain(struct cursor *in, uint64_t most) {
    uint64_t number = 0;
    size_t start = in->at;
    for (; in->at < in->text->count; in->at++) {
        unsigned digit = (unsigned)in->text->data[in->at] - '0';
        if (digit > 9)
            break;
        need(number <= (most - digit) / 10);
        number = number * 10 + digit;
    }
    need(in->at > start && (in->at == start + 1 || in->text->data[start] != '0'));
    return number;
}

static const char *take_prefix(struct cursor *in) {
    static const char current[] = "dotnet-diagnostic-", draft[] = "dotnetcore-diagnostic-";
    if (takes(in, current))
        return current;
    need(takes(in, draft));
    return draft;
}

static json *decode_name(const bytes *text, int is_socket) {
    units whole = {0};
    need(from_utf8(text->data, text->count, &whole));
    struct cursor in = {text, 0};
    json *value = new_json(J_OBJECT);
    int is_path = !is_socket && text->count > 0 && takes(&in, pipe_directory);
    need(text->count > 0);
    set(value, "prefix", new_text(take_prefix(&in)));
    set(value, "pid", new_number(take_plain(&in, UINT32_MAX)));
    if (is_socket) {
        need(takes(&in, "-"));
        set(value, "key", new_decimal(take_plain(&in, UINT64_MAX)));
        set(value, "socket", new_bool(takes(&in, "-socket")));
    } else {
        set(value, "path", new_bool(is_path));
    }
    need(in.at == text->count);
    return value;
}

static void encode_name(const json *value, int is_socket, bytes *out) {
    if (is_socket)
        check_keys(value, "prefix", "pid", "key", "socket", (char *)NULL);
    else
        check_keys(value, "prefix", "pid", "path", (char *)NULL);
    if (!is_socket && bool_of(field(value, "path")))
        put_text(out, pipe_directory);
    put_string(out, field(value, "prefix"));
    put_decimal(out, number_of(field(value, "pid"), 4));
    if (is_socket) {
        put_text(out, "-");
        put_decimal(out, decimal_of(field(value, "key")));
        put_text(out, bool_of(field(value, "socket")) ? "-socket" : "");
    }
    need(is_same(decode_name(out, is_socket), value));
}

static int is_stat_space(unsigned byte) {
    return is_space(byte) && byte != '\v';
}

/* The end of the white space, or of the other text. */
static size_t run_end(const bytes *text, size_t at, int of_space) {
    while (at < text->count && !is_stat_space(text->data[at]) == !of_space)
        at++;
    return at;
}

/* The number between two places. */
static uint64_t whole_number(const bytes *text, size_t start, size_t end, uint64_t most) {
    struct cursor in = {text, start};
    uint64_t number = take_plain(&in, most);
    need(in.at == end);
    return number;
}

/* The name, which may be any bytes, ends with the last parenthesis; white space separates fields. */
static json *decode_process_stat(const bytes *text) {
    size_t name_end = text->count;
    while (name_end > 0 && text->data[name_end - 1] != ')')
        name_end--;
    need(name_end > 0);
    json *value = new_json(J_OBJECT);
    size_t pid_end = run_end(text, 0, 0);
    set(value, "pid", new_number(whole_number(text, 0, pid_end < name_end ? pid_end : name_end, UINT32_MAX)));
    /* Field 3 follows the name. */
    size_t start = run_end(text, name_end, 1);
    for (int field_number = 3; field_number < 22; field_number++)
        start = run_end(text, run_end(text, start, 0), 1);
    size_t end = run_end(text, start, 0);
    /* If nothing follows it, some of its digits may be missing. */
    need(end < text->count);
    set(value, "startTime", new_decimal(whole_number(text, start, end, UINT64_MAX)));
    return value;
}

static void encode_process_stat(const json *value, bytes *out) {
    check_keys(value, "pid", "startTime", (char *)NULL);
    put_decimal(out, number_of(field(value, "pid"), 4));
    put_text(out, " () S");
    for (int field_number = 4; field_number < 22; field_number++)
        put_text(out, " 0");
    put_text(out, " ");
    put_decimal(out, decimal_of(field(value, "startTime")));
    put_text(out, "\n");
    need(is_same(decode_process_stat(out), value));
}

/* Any type. */

static json *decode(const char *type, const struct command *command, const bytes *wire) {
#define IS(name) (strcmp(type, name) == 0)
    if (IS("request") || IS("unknown") || IS("legacy-request"))
        return decode_request(type, command, wire);
    if (IS("reply") || IS("error"))
        return decode_reply(type, command, wire);
    if (IS("advertise"))
        return decode_advertise(wire);
    if (IS("environment"))
        return decode_environment(wire);
    if (IS("stream-start"))
        return decode_stream_start(wire);
    if (IS("user_reg") || IS("user_unreg"))
        return decode_kernel_struct(wire, IS("user_reg") ? &user_reg : &user_unreg);
    if (IS("tracepoint-command"))
        return decode_tracepoint_command(wire);
    if (IS("user_events-record"))
        return decode_record(wire);
    if (IS("extension"))
        return decode_extension(wire);
    if (IS("old-reply"))
        return decode_old_reply(wire);
    if (IS("legacy-error"))
        return decode_draft_error(wire);
    if (IS("ports"))
        return decode_ports(wire);
    if (IS("ports-strict"))
        return decode_strict_ports(wire);
    if (IS("default-port-suspend"))
        return decode_default_suspend(wire);
    if (IS("socket-name") || IS("pipe-name"))
        return decode_name(wire, IS("socket-name"));
    if (IS("process-stat"))
        return decode_process_stat(wire);
    for (size_t i = 0; i < COUNT(piece_kinds); i++)
        if (IS(piece_kinds[i].name)) {
            reader in = {wire->data, wire->count, 0};
            return read_kind(piece_kinds[i].kind, &in);
        }
    unsupported();
    return NULL;
}

static void encode(const char *type, const struct command *command, const json *value, bytes *out) {
    need(value != NULL);
    if (IS("request") || IS("unknown") || IS("legacy-request")) {
        encode_request(type, command, value, out);
        return;
    }
    if (IS("reply") || IS("error")) {
        encode_reply(type, command, value, out);
        return;
    }
    if (IS("advertise"))
        encode_advertise(value, out);
    else if (IS("environment"))
        encode_environment(value, out);
    else if (IS("stream-start"))
        encode_stream_start(value, out);
    else if (IS("user_reg") || IS("user_unreg"))
        encode_kernel_struct(value, IS("user_reg") ? &user_reg : &user_unreg, out);
    else if (IS("tracepoint-command"))
        encode_tracepoint_command(value, out);
    else if (IS("user_events-record"))
        encode_record(value, out);
    else if (IS("extension"))
        encode_extension(value, out);
    else if (IS("old-reply"))
        encode_old_reply(value, out);
    else if (IS("legacy-error"))
        encode_draft_error(value, out);
    else if (IS("ports") || IS("ports-strict"))
        encode_ports(value, IS("ports-strict"), out);
    else if (IS("default-port-suspend"))
        put_text(out, bool_of(value) ? "1" : "0");
    else if (IS("socket-name") || IS("pipe-name"))
        encode_name(value, IS("socket-name"), out);
    else if (IS("process-stat"))
        encode_process_stat(value, out);
    else {
        for (size_t i = 0; i < COUNT(piece_kinds); i++)
            if (IS(piece_kinds[i].name)) {
                write_kind(piece_kinds[i].kind, out, value);
                return;
            }
        unsupported();
    }
}

/* The line protocol. */

static const char *ascii_of(const json *value) {
    want(value != NULL && value->shape == J_TEXT);
    bytes text = utf8_of(value->text.data, value->text.count);
    put(&text, 0);
    return (const char *)text.data;
}

static void answer_to(const json *request, json *answer) {
    const char *type = ascii_of(field(request, "type")), *op = ascii_of(field(request, "op"));
    const struct command *command = NULL;
    if (!is_null(field(request, "command"))) {
        const char *name = ascii_of(field(request, "command"));
        for (size_t i = 0; i < COUNT(commands); i++)
            if (strcmp(commands[i].name, name) == 0)
                command = &commands[i];
        if (command == NULL)
            unsupported();
    }
    bytes out = {0};
    if (strcmp(op, "encode") == 0) {
        encode(type, command, field(request, "value"), &out);
        set(answer, "wire", new_hex(out.data, out.count));
    } else if (strcmp(op, "decode") == 0) {
        bytes wire = hex_of(field(request, "wire"));
        json *value = decode(type, command, &wire);
        encode(type, command, value, &out);
        set(answer, "value", value);
        set(answer, "canonical",
            new_bool(out.count == wire.count && (out.count == 0 || memcmp(out.data, wire.data, out.count) == 0)));
    } else {
        unsupported();
    }
}

static void serve(const char *line, size_t count) {
    struct text in = {(const uint8_t *)line, count, 0};
    /* Static: they must keep their values after a jump. */
    static json *request, *answer;
    request = read_json(&in, 0);
    answer = new_json(J_OBJECT);
    refused_value = NULL;
    if (setjmp(way_out) == 0) {
        answer_to(request, answer);
        set(answer, "result", new_text("ok"));
    } else {
        answer = new_json(J_OBJECT);
        set(answer, "result", new_text(refused_layer == NULL ? "unsupported" : "error"));
        if (refused_layer != NULL)
            set(answer, "layer", new_text(refused_layer));
        if (refused_value != NULL)
            set(answer, "value", refused_value);
    }
    json *id = field(request, "id");
    set(answer, "id", id != NULL ? id : new_json(J_NULL));
    bytes out = {0};
    write_json(&out, answer);
    put(&out, '\n');
    fwrite(out.data, 1, out.count, stdout);
    fflush(stdout);
}

int main(void) {
    char *line = NULL;
    size_t count = 0, room = 0;
    for (int byte = getchar(); byte != EOF; byte = getchar()) {
        if (byte == '\n') {
            serve(line, count);
            give_all_back();
            count = 0;
            continue;
        }
        if (count == room) {
            room = room == 0 ? 4096 : room * 2;
            line = realloc(line, room);
            if (line == NULL)
                abort();
        }
        line[count++] = (char)byte;
    }
    free(line);
    return 0;
}
