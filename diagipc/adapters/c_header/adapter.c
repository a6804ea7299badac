/*
 * `c/dotnet_ipc.h` with the line protocol of diagipc/adapters/README.md: requests, replies, errors and advertises, both ways, limits
 * among them, environment blocks and the start of streams. It knows only what the header says about messages; the rest is JSON.
 *
 *     cc -std=c99 -I c -o adapter diagipc/adapters/c_header/adapter.c
 *     diagipc codec -- ./adapter
 */
#define DOTNET_IPC_IMPLEMENTATION
#include "dotnet_ipc.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

/* The exit for a question that cannot be answered with a value. */
static jmp_buf way_out;
static const char *refused; /* a layer, or NULL: unsupported */

static void refuse(const char *layer) {
    refused = layer;
    longjmp(way_out, 1);
}
static int check(int status) {
    static const char *const layers[] = {NULL, "transport", "header", "payload", "limits", "reply", "payload"};
    if (status < 0) refuse(layers[dipc_layer(status)]);
    return status;
}
static void need(int right) {
    if (!right) refuse("payload");
}

/* Memory of one question. */
struct piece { struct piece *next; };
static struct piece *pieces;

static void *get(size_t size) {
    struct piece *piece = (struct piece *)calloc(1, sizeof *piece + size);
    if (piece == NULL) abort();
    piece->next = pieces;
    pieces = piece;
    return piece + 1;
}
static void give_all_back(void) {
    while (pieces != NULL) {
        struct piece *next = pieces->next;
        free(pieces);
        pieces = next;
    }
}

/* Reads JSON. */
typedef enum { J_NULL, J_FALSE, J_TRUE, J_NUMBER, J_TEXT, J_LIST, J_OBJECT } shape;
typedef struct json {
    struct json *next, *first; /* of a list or object: its items */
    const char *key, *text;    /* text: UTF-8, half a surrogate pair as WTF-8; of a number its digits */
    size_t length, count;
    int is_valid; /* of a text: no half of a pair */
    shape kind;
} json;

static const char *at;

static void spaces(void) { while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++; }

static unsigned hexadecimal(const char *digits, size_t count) {
    unsigned number = 0;
    while (count-- > 0) {
        unsigned digit = (unsigned)(unsigned char)*digits++;
        need((digit >= '0' && digit <= '9') || ((digit | 32) >= 'a' && (digit | 32) <= 'f'));
        number = number << 4 | (digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
    }
    return number;
}
static size_t put_point(char *to, unsigned point) {
    if (point < 0x80) return to[0] = (char)point, 1;
    if (point < 0x800) return to[0] = (char)(0xC0 | point >> 6), to[1] = (char)(0x80 | (point & 0x3F)), 2;
    if (point < 0x10000)
        return to[0] = (char)(0xE0 | point >> 12), to[1] = (char)(0x80 | (point >> 6 & 0x3F)), to[2] = (char)(0x80 | (point & 0x3F)), 3;
    to[0] = (char)(0xF0 | point >> 18);
    to[1] = (char)(0x80 | (point >> 12 & 0x3F));
    to[2] = (char)(0x80 | (point >> 6 & 0x3F));
    to[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}
static void read_text(json *into) {
    const char *end = ++at;
    char *text;
    while (*end != '"' && *end != 0) end += *end == '\\' ? 2 : 1;
    text = (char *)get((size_t)(end - at) + 1);
    into->kind = J_TEXT;
    into->text = text;
    into->is_valid = 1;
    while (*at != '"' && *at != 0) {
        if (*at != '\\') {
            text[into->length++] = *at++;
            continue;
        }
        at += 2;
        switch (at[-1]) {
        case 'n': text[into->length++] = '\n'; break;
        case 't': text[into->length++] = '\t'; break;
        case 'r': text[into->length++] = '\r'; break;
        case 'b': text[into->length++] = '\b'; break;
        case 'f': text[into->length++] = '\f'; break;
        case 'u': {
            unsigned point = hexadecimal(at, 4), low;
            at += 4;
            if (point >= 0xD800 && point < 0xDC00 && at[0] == '\\' && at[1] == 'u' && (low = hexadecimal(at + 2, 4)) >= 0xDC00 && low < 0xE000) {
                point = 0x10000 + ((point & 0x3FF) << 10) + (low & 0x3FF);
                at += 6;
            }
            into->length += put_point(text + into->length, point);
            break;
        }
        default: text[into->length++] = at[-1];
        }
    }
    if (*at == '"') at++;
}
static json *read_json(void) {
    json *value = (json *)get(sizeof *value), **end = &value->first;
    spaces();
    if (*at == '"') {
        read_text(value);
    } else if (*at == '{' || *at == '[') {
        char close = *at == '{' ? '}' : ']';
        value->kind = *at++ == '{' ? J_OBJECT : J_LIST;
        for (spaces(); *at != close && *at != 0; spaces()) {
            json *key = NULL;
            if (*at == ',') at++;
            if (value->kind == J_OBJECT) {
                key = read_json();
                spaces();
                if (*at == ':') at++;
            }
            *end = read_json();
            (*end)->key = key == NULL ? NULL : key->text;
            end = &(*end)->next;
            value->count++;
        }
        if (*at != 0) at++;
    } else if (*at == 't' || *at == 'f' || *at == 'n') {
        value->kind = *at == 't' ? J_TRUE : *at == 'f' ? J_FALSE : J_NULL;
        at += *at == 'f' ? 5 : 4;
    } else {
        value->kind = J_NUMBER;
        value->text = at;
        while (*at == '-' || *at == '+' || *at == '.' || *at == 'e' || *at == 'E' || (*at >= '0' && *at <= '9')) at++;
        value->length = (size_t)(at - value->text);
        if (value->length == 0) refuse(NULL);
    }
    return value;
}
static const json *member(const json *object, const char *key) {
    const json *one = object->kind == J_OBJECT ? object->first : NULL;
    while (one != NULL && strcmp(one->key, key) != 0) one = one->next;
    return one;
}
static const char *text_of(const json *object, const char *key) {
    const json *one = member(object, key);
    return one != NULL && one->kind == J_TEXT ? one->text : "";
}

/* Collects bytes and text to write. */
typedef struct { char *data; size_t count, room; } bytes;

static void add(bytes *out, const char *data, size_t count) {
    if (out->count + count > out->room) {
        char *more = (char *)get((out->count + count) * 2);
        if (out->count > 0) memcpy(more, out->data, out->count);
        out->data = more;
        out->room = (out->count + count) * 2;
    }
    memcpy(out->data + out->count, data, count);
    out->count += count;
}
static void print(bytes *out, const char *text) { add(out, text, strlen(text)); }
static void print_number(bytes *out, const char *format, unsigned long long number) {
    char text[40];
    int count = snprintf(text, sizeof text, format, number);
    add(out, text, (size_t)count);
}
static void print_hex(bytes *out, const uint8_t *data, size_t count) {
    for (; count > 0; count--) print_number(out, "%02llx", *data++);
}

/* Prints values. */
static void print_text(bytes *out, const dipc_field *f) {
    uint32_t i, point;
    int whole = 1;
    if (f->data == NULL) {
        print(out, "null");
        return;
    }
    for (i = 0; i < f->count; i += dipci_point(f->data + 2 * (size_t)i, f->count - i, &point)) {
        uint32_t unit = dipci_u16(f->data + 2 * (size_t)i);
        (void)dipci_point(f->data + 2 * (size_t)i, f->count - i, &point);
        whole &= point != 0xFFFD || unit == 0xFFFD;
    }
    print(out, whole ? "\"" : "{\"utf16\":[");
    for (i = 0; i < f->count; i++) print_number(out, whole ? "\\u%04llx" : i == 0 ? "%llu" : ",%llu", dipci_u16(f->data + 2 * (size_t)i));
    print(out, whole ? "\"" : "]}");
}
static void print_guid(bytes *out, const uint8_t *guid) {
    static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    int i;
    for (i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) print(out, "-");
        print_hex(out, guid + order[i], 1);
    }
}
/* Reads the next field as every kind; a wrong kind has no text and no number. */
static int next(dipc_cursor *c, dipc_field *f) {
    int status = dipc_next(c, f);
    size_t length = dipc_utf8(f, NULL, 0);
    if (length != 0 && f->kind != DIPC_STRING) abort();
    if (dipc_uint_at(f, f->kind == DIPC_UINTS ? f->count : 0) != 0) abort();
    return check(status);
}
/* The open object or list at each depth. */
static void print_fields(bytes *out, dipc_cursor *c) {
    struct { char close; uint32_t left, item; } open[16];
    dipc_field f;
    unsigned depth = 0, first = 1;
    uint32_t i;
    print(out, "{");
    while (next(c, &f) == DIPC_FIELD) {
        for (; depth > f.depth; depth--) print(out, open[depth - 1].close == ']' ? "}]" : "}");
        if (depth > 0 && open[depth - 1].close == ']' && f.item != open[depth - 1].item) {
            print(out, "},{");
            open[depth - 1].item = f.item;
            first = 1;
        }
        print(out, first ? "\"" : ",\"");
        first = 0;
        print(out, dipc_name(f.id));
        print(out, "\":");
        switch (f.kind) {
        case DIPC_ULONG: print_number(out, "\"%llu\"", f.number); break;
        case DIPC_BOOL: print(out, f.number ? "true" : "false"); break;
        case DIPC_HRESULT_CODE: print_number(out, "\"0x%08llX\"", f.number); break;
        case DIPC_GUID: print(out, "\""), print_guid(out, f.data), print(out, "\""); break;
        case DIPC_STRING: print_text(out, &f); break;
        case DIPC_BYTES: case DIPC_REST: print(out, "\""), print_hex(out, f.data, f.count), print(out, "\""); break;
        case DIPC_UINTS:
            print(out, "[");
            for (i = 0; i < f.count; i++) print_number(out, i == 0 ? "%llu" : ",%llu", dipc_uint_at(&f, i));
            print(out, "]");
            break;
        case DIPC_ARRAY: case DIPC_STRUCT:
            print(out, f.kind == DIPC_STRUCT ? "{" : f.count > 0 ? "[{" : "[]");
            if (f.kind == DIPC_ARRAY && f.count == 0) break;
            open[depth].close = f.kind == DIPC_STRUCT ? '}' : ']';
            open[depth++].item = 0;
            first = 1;
            break;
        default: print_number(out, "%llu", f.number);
        }
    }
    for (; depth > 0; depth--) print(out, open[depth - 1].close == ']' ? "}]" : "}");
    print(out, "}");
}

/* Encodes values. */
static uint64_t number_of(const json *value, shape kind) {
    uint64_t number = 0;
    size_t i;
    need(value->kind == kind && value->length > 0 && value->length <= 20);
    for (i = 0; i < value->length; i++) {
        uint64_t digit = (uint64_t)(unsigned char)value->text[i] - '0';
        need(digit <= 9 && number <= (UINT64_MAX - digit) / 10);
        number = number * 10 + digit;
    }
    return number;
}
static uint8_t *bytes_of(const json *value, size_t *count) {
    uint8_t *data;
    size_t i;
    need(value->kind == J_TEXT && value->length % 2 == 0);
    *count = value->length / 2;
    data = (uint8_t *)get(*count + 1);
    for (i = 0; i < *count; i++) data[i] = (uint8_t)hexadecimal(value->text + 2 * i, 2);
    return data;
}
static void put_guid(uint8_t *to, const json *value) {
    static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    const char *digits = value->text;
    int i;
    need(value->kind == J_TEXT && value->length == 36);
    for (i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) need(*digits++ == '-');
        to[order[i]] = (uint8_t)hexadecimal(digits, 2);
        digits += 2;
    }
}
static void put_string(dipc_writer *w, const json *value) {
    const json *one = member(value, "utf16");
    uint8_t *units;
    size_t count = 0;
    if (value->kind == J_NULL) {
        dipc_put_text(w, NULL);
    } else if (value->kind == J_TEXT) {
        dipc_put_utf8(w, value->text, value->length);
    } else {
        need(one != NULL && one->kind == J_LIST && value->count == 1);
        units = (uint8_t *)get(2 * one->count + 1);
        for (one = one->first; one != NULL; one = one->next) {
            uint64_t unit = number_of(one, J_NUMBER);
            need(unit <= 0xFFFF);
            units[count++] = (uint8_t)unit;
            units[count++] = (uint8_t)(unit >> 8);
        }
        dipc_put_units(w, units, count / 2);
    }
}
/* Puts the fields of an object while the writer expects some at its depth; returns how many. */
static void put_fields(dipc_writer *w, const json *object, unsigned depth, uint32_t item) {
    dipc_field f;
    size_t used = 0;
    need(object->kind == J_OBJECT);
    while (dipc_wants(w, &f) == DIPC_FIELD && f.depth == depth && f.item == item) {
        const json *value = member(object, dipc_name(f.id)), *one;
        uint32_t *numbers, nth = 0;
        uint8_t guid[16], *data;
        size_t count;
        if (value == NULL) break; /* an optional one at the end, or the writer reports what is missing */
        used++;
        switch (f.kind) {
        case DIPC_ULONG: dipc_put_number(w, number_of(value, J_TEXT)); break;
        case DIPC_BOOL: need(value->kind == J_TRUE || value->kind == J_FALSE), dipc_put_number(w, value->kind == J_TRUE); break;
        case DIPC_HRESULT_CODE:
            need(value->kind == J_TEXT && value->length == 10 && value->text[0] == '0' && value->text[1] == 'x');
            dipc_put_number(w, hexadecimal(value->text + 2, 8));
            break;
        case DIPC_GUID: put_guid(guid, value), dipc_put_bytes(w, guid, 16); break;
        case DIPC_STRING: put_string(w, value); break;
        case DIPC_BYTES: case DIPC_REST: data = bytes_of(value, &count), dipc_put_bytes(w, data, count); break;
        case DIPC_UINTS:
            need(value->kind == J_LIST);
            numbers = (uint32_t *)get(sizeof *numbers * (value->count + 1));
            for (one = value->first; one != NULL; one = one->next) {
                uint64_t number = number_of(one, J_NUMBER);
                need(number <= UINT32_MAX);
                numbers[nth++] = (uint32_t)number;
            }
            dipc_put_uints(w, numbers, nth);
            break;
        case DIPC_ARRAY:
            need(value->kind == J_LIST);
            dipc_put_number(w, value->count);
            for (one = value->first; one != NULL; one = one->next) put_fields(w, one, depth + 1, nth++);
            break;
        case DIPC_STRUCT: dipc_enter_struct(w), put_fields(w, value, depth + 1, 0); break;
        default: dipc_put_number(w, number_of(value, J_NUMBER));
        }
        check(w->status);
    }
    need(used == object->count);
}

/* Answers questions. */
static unsigned code_of(const char *name) {
    static const char *const names[] = {"Dump/", "EventPipe/", "Profiler/", "Process/"};
    static const struct { const char *name; unsigned code; } commands[] = {
        {"GenerateCoreDump", 0x0101}, {"GenerateCoreDump2", 0x0102}, {"GenerateCoreDump3", 0x0103}, {"StopTracing", 0x0201},
        {"CollectTracing", 0x0202}, {"CollectTracing2", 0x0203}, {"CollectTracing3", 0x0204}, {"CollectTracing4", 0x0205},
        {"CollectTracing5", 0x0206}, {"CollectTracing6", 0x0207}, {"AttachProfiler", 0x0301}, {"StartupProfiler", 0x0302},
        {"ProcessInfo", 0x0400}, {"ResumeRuntime", 0x0401}, {"ProcessEnvironment", 0x0402}, {"SetEnvironmentVariable", 0x0403},
        {"ProcessInfo2", 0x0404}, {"EnablePerfMap", 0x0405}, {"DisablePerfMap", 0x0406}, {"ApplyStartupHook", 0x0407},
        {"ProcessInfo3", 0x0408}};
    size_t i;
    if (name[0] == 0) return 0; /* an answer to any command */
    for (i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *set = names[(commands[i].code >> 8) - 1];
        if (strncmp(name, set, strlen(set)) == 0 && strcmp(name + strlen(set), commands[i].name) == 0) return commands[i].code;
    }
    refuse(NULL);
    return 0;
}
/* Decodes a message, and says whether a server would refuse it. */
static int decode(bytes *out, const char *type, const json *question) {
    size_t count;
    const json *wire = member(question, "wire");
    uint8_t *data = bytes_of(wire, &count);
    dipc_cursor c;
    if (strcmp(type, "request") == 0) {
        unsigned code = code_of(text_of(question, "command"));
        check(dipc_read_request(&c, data, count));
        if (dipci_code(data) != code) refuse("header");
        print_fields(out, &c);
        return dipc_check_limits(data, count, NULL);
    }
    if (strcmp(type, "reply") == 0 || strcmp(type, "error") == 0) {
        int status = dipc_read_reply(&c, code_of(text_of(question, "command")), data, count);
        if (status == DIPC_E_UNEXPECTED_COMMAND) refuse("reply"); /* an OK with the payload of an unknown command */
        check(status);
        if (dipc_is_error(&c) != (type[0] == 'e')) refuse("reply");
        print_fields(out, &c);
    } else if (strcmp(type, "advertise") == 0) {
        dipc_advertise advertise;
        check(dipc_read_advertise(&advertise, data, count));
        print(out, "{\"runtimeCookie\":\"");
        print_guid(out, advertise.cookie);
        print_number(out, "\",\"processId\":\"%llu\"", advertise.process_id);
        print_number(out, ",\"future\":%llu}", advertise.future);
    } else if (strcmp(type, "environment") == 0) {
        dipc_environment e;
        dipc_entry entry;
        const char *comma = "[";
        check(dipc_environment_start(&e, data, count));
        while (check(dipc_environment_next(&e, &entry)) == DIPC_FIELD) {
            print(out, comma);
            comma = ",";
            print(out, "{\"name\":");
            print_text(out, &entry.name);
            print(out, ",\"value\":");
            print_text(out, &entry.value);
            print(out, entry.is_terminated ? "}" : ",\"terminated\":false}");
        }
        print(out, comma[0] == '[' ? "[]" : "]");
    } else if (strcmp(type, "stream-start") == 0) {
        static const char *const names[] = {"need-more", "nettrace", "nettrace-blocks", "netperf", "opaque"};
        static const size_t lengths[] = {0, 32, 20, 24, 0};
        int start = dipc_stream_start(data, count);
        print(out, "{\"start\":\"");
        print(out, names[start]);
        if (start == DIPC_STARTS_NETTRACE_BLOCKS) print_number(out, "\",\"major\":%llu", dipci_u32(data + 12)), print_number(out, ",\"minor\":%llu,\"rest\":\"", dipci_u32(data + 16));
        else print(out, "\",\"rest\":\"");
        print_hex(out, data + lengths[start], count - lengths[start]);
        print(out, "\"}");
    } else {
        refuse(NULL);
    }
    return DIPC_DONE;
}
static void encode(bytes *out, const char *type, const json *question) {
    static uint8_t message[70000];
    const json *value = member(question, "value");
    dipc_writer w;
    size_t size;
    int status;
    if (strcmp(type, "advertise") == 0) {
        dipc_advertise advertise;
        const json *cookie = member(value, "runtimeCookie"), *id = member(value, "processId"), *future = member(value, "future");
        need(cookie != NULL && id != NULL && future != NULL && value->count == 3);
        put_guid(advertise.cookie, cookie);
        advertise.process_id = number_of(id, J_TEXT);
        advertise.future = (uint16_t)number_of(future, J_NUMBER);
        dipc_write_advertise(&advertise, message);
        print_hex(out, message, DIPC_ADVERTISE_SIZE);
        return;
    }
    if (strcmp(type, "request") == 0) dipc_write_request(&w, code_of(text_of(question, "command")), message, sizeof message);
    else if (strcmp(type, "error") == 0) dipc_write_error(&w, code_of(text_of(question, "command")), message, sizeof message);
    else if (strcmp(type, "reply") != 0) refuse(NULL);
    else if (value->count == 0) dipc_write_generic_ok(&w, message, sizeof message);
    else dipc_write_reply(&w, code_of(text_of(question, "command")), message, sizeof message);
    put_fields(&w, value, 0, 0);
    status = dipc_write_end(&w, &size);
    check(status);
    print_hex(out, message, size);
}
static void serve(const char *line) {
    static bytes out, value; /* longjmp leaves them as they are */
    static int is_encode, limit;
    const json *question, *id;
    memset(&out, 0, sizeof out);
    memset(&value, 0, sizeof value);
    limit = DIPC_DONE;
    at = line;
    refused = NULL;
    question = read_json();
    id = member(question, "id");
    print(&out, "{\"id\":");
    add(&out, id->text, id->length);
    is_encode = strcmp(text_of(question, "op"), "encode") == 0;
    if (setjmp(way_out) == 0) {
        if (is_encode) encode(&value, text_of(question, "type"), question);
        else limit = decode(&value, text_of(question, "type"), question);
        print(&out, limit < 0 ? ",\"result\":\"error\",\"layer\":\"limits\",\"value\":" : is_encode ? ",\"result\":\"ok\",\"wire\":\"" : ",\"result\":\"ok\",\"value\":");
        add(&out, value.data, value.count);
        print(&out, is_encode ? "\"" : "");
    } else if (refused == NULL) {
        print(&out, ",\"result\":\"unsupported\"");
    } else {
        print(&out, ",\"result\":\"error\",\"layer\":\"");
        print(&out, refused);
        print(&out, "\"");
    }
    print(&out, "}\n");
    fwrite(out.data, 1, out.count, stdout);
    fflush(stdout);
}
int main(void) {
    size_t count = 0, room = 1 << 16;
    char *line = (char *)malloc(room);
    int letter;
    while (line != NULL && (letter = getchar()) != EOF) {
        if (count + 2 > room) line = (char *)realloc(line, room *= 2);
        if (line == NULL) break;
        line[count++] = (char)letter;
        if (letter != '\n') continue;
        line[count] = 0;
        serve(line);
        give_all_back();
        count = 0;
    }
    free(line);
    return 0;
}
