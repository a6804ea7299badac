/*
 * dotnet_ipc.h: the .NET Diagnostic IPC Protocol (DOTNET_IPC_V1) in one file. C99 and C++98, no allocation, no libc but memcpy.
 *
 * In one .c or .cpp file of your program:      #define DOTNET_IPC_IMPLEMENTATION
 *                                              #include "dotnet_ipc.h"
 * and in every other file that uses it:        #include "dotnet_ipc.h"
 *
 * To talk to a process, connect to its socket dotnet-diagnostic-PID-KEY-socket in its own TMPDIR (/tmp if unset), and compare the process
 * id of the peer (SO_PEERCRED). On Linux KEY is field 22 of /proc/PID/stat: a process that was killed leaves its socket. On Windows
 * connect to its pipe \\.\pipe\dotnet-diagnostic-PID. A connection carries one command. Make a request with a helper such as dipc_dump,
 * or with dipc_empty_request if it has no fields (DIPC_CMD_PROCESS_INFO2 and others). A dipc_client then names each action to perform on
 * the connection. The reply overwrites the request in your buffer, and no byte after the reply is read:
 *
 *     uint8_t buffer[4096];
 *     const dipc_provider providers[] = {{"Microsoft-Windows-DotNETRuntime", NULL, 1, DIPC_LOG_LEVEL_INFORMATIONAL}};
 *     dipc_client client;
 *     size_t size;
 *     int status = dipc_collect_tracing2(buffer, sizeof buffer, &size, 256, 1, providers, 1);
 *     if (status < 0 || (status = dipc_client_start(&client, buffer, size)) < 0) ...        DIPC_E_...: a server refuses it, or dies
 *     while (client.action <= DIPC_RECEIVE) {
 *         if (client.action == DIPC_SEND_FD) {                                              only for user_events
 *             send_one_byte_with_descriptor(fd, user_events_data);                          yours, with SCM_RIGHTS
 *             dipc_client_did(&client, buffer, sizeof buffer, 1);
 *             continue;
 *         }
 *         ssize_t n = client.action == DIPC_SEND ? write(fd, buffer + client.at, client.size - client.at)
 *                                                : read(fd, buffer + client.at, client.size - client.at);
 *         if (n > 0) dipc_client_did(&client, buffer, sizeof buffer, (size_t)n);
 *         else if (n < 0 && errno == EINTR) continue;                                       a signal; on EAGAIN, wait with poll
 *         else if (client.action == DIPC_SEND) dipc_client_send_failed(&client);            ignore SIGPIPE; the reply may say why
 *         else dipc_client_ended(&client);                                                  closed, reset or timed out
 *     }
 *     client.action is now
 *         DIPC_REPLIED    OK: what follows on the connection is client.continuation
 *                           DIPC_CLOSE         nothing: close it
 *                           DIPC_STREAM        the event stream: store all bytes until the end (client.number: the session's id)
 *                           DIPC_ENVIRONMENT   client.number bytes: read all of them, then dipc_environment_start, and
 *                                            dipc_environment_next while it returns DIPC_FIELD: entry.name and entry.value
 *                           DIPC_USER_EVENTS   nothing; the session ends when you close the connection
 *         DIPC_REFUSED    the runtime refused, by an error or by an OK with a failing HRESULT: client.hresult says why
 *                           (0x80131385: it does not have the command; dipc_hresult_name)
 *         DIPC_MALFORMED  the received bytes are not a reply: client.status says why; close the connection
 *         DIPC_NO_REPLY, DIPC_CUT   the connection ended before or inside the reply
 *         DIPC_ENLARGE    your buffer is too small: copy its first 20 bytes to one of client.size bytes, call dipc_client_enlarged
 *
 * To end a trace, send dipc_stop_tracing on a second connection with a second dipc_client, and stop when its action is no longer
 * DIPC_SEND. Read the first connection to its end, then the answer on the second, which arrives only after the stream. If no byte of the
 * stream has arrived, close the connection instead: the process may still wait at its start, and a stop would kill it at its resume.
 *
 * To read any message, walk over it field by field. A field has an id (DIPC_COMMAND_LINE; dipc_name(id) is the document's name) and a
 * kind. Numbers are in field.number, bytes and GUIDs at field.data. For text, call dipc_utf8, which returns the number of bytes needed
 * and adds no NUL. If there is less room, it writes only the first characters. An array or a struct is a field too, and its own
 * fields follow one level deeper:
 *
 *     dipc_cursor cursor; dipc_field field; char text[260]; int status = dipc_read_reply(&cursor, 0x0408, buffer, client.size);
 *     while (status >= 0 && (status = dipc_next(&cursor, &field)) == DIPC_FIELD)
 *         if (field.id == DIPC_COMMAND_LINE && (length = dipc_utf8(&field, text, sizeof text)) <= sizeof text) ...
 *
 * To write any message, put its fields in order. dipc_wants returns the next field:
 *
 *     dipc_writer w; size_t size;
 *     dipc_write_request(&w, 0x0403, buffer, sizeof buffer);
 *     dipc_put_text(&w, "NAME");
 *     dipc_put_text(&w, NULL);                                                              an absent value deletes the variable
 *     status = dipc_write_end(&w, &size);                                                   or the first error of a put
 *
 * A status below 0 is an error (dipc_status_name). dipc_layer(status) is its layer: DIPC_TRANSPORT, DIPC_HEADER, DIPC_PAYLOAD, DIPC_LIMITS (it decodes, but
 * a server refuses it: dipc_check_limits), DIPC_OF_REPLY, or DIPC_CALLER (a put out of order, no room). Codes are 0xSSII: set and id.
 * Strings are UTF-16 on the wire. An absent string (NULL) differs from an empty one. Never send only the header of a command that has
 * a payload, and never omit a field, because that kills a running process.
 *
 * Printed by `diagipc dev grammar --format c` of dotnet-diagnostics-ipc. Do not edit. License: MIT OR Apache-2.0.
 */
#ifndef DOTNET_IPC_H
#define DOTNET_IPC_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Commands. */
enum {
    DIPC_CMD_GENERATE_CORE_DUMP = 0x0101, /* .NET 3.1 */
    DIPC_CMD_GENERATE_CORE_DUMP2 = 0x0102, /* .NET 6.0 */
    DIPC_CMD_GENERATE_CORE_DUMP3 = 0x0103, /* .NET 7.0 */
    DIPC_CMD_STOP_TRACING = 0x0201, /* .NET 3.1 */
    DIPC_CMD_COLLECT_TRACING = 0x0202, /* .NET 3.1 */
    DIPC_CMD_COLLECT_TRACING2 = 0x0203, /* .NET 3.1 */
    DIPC_CMD_COLLECT_TRACING3 = 0x0204, /* .NET 9.0 */
    DIPC_CMD_COLLECT_TRACING4 = 0x0205, /* .NET 9.0 */
    DIPC_CMD_COLLECT_TRACING5 = 0x0206, /* .NET 10.0 */
    DIPC_CMD_COLLECT_TRACING6 = 0x0207, /* .NET 11.0 */
    DIPC_CMD_ATTACH_PROFILER = 0x0301, /* .NET 3.1 */
    DIPC_CMD_STARTUP_PROFILER = 0x0302, /* .NET 6.0 */
    DIPC_CMD_PROCESS_INFO = 0x0400, /* .NET 5.0 */
    DIPC_CMD_RESUME_RUNTIME = 0x0401, /* .NET 5.0 */
    DIPC_CMD_PROCESS_ENVIRONMENT = 0x0402, /* .NET 5.0 */
    DIPC_CMD_SET_ENVIRONMENT_VARIABLE = 0x0403, /* .NET 6.0 */
    DIPC_CMD_PROCESS_INFO2 = 0x0404, /* .NET 6.0 */
    DIPC_CMD_ENABLE_PERF_MAP = 0x0405, /* .NET 8.0 */
    DIPC_CMD_DISABLE_PERF_MAP = 0x0406, /* .NET 8.0 */
    DIPC_CMD_APPLY_STARTUP_HOOK = 0x0407, /* .NET 8.0 */
    DIPC_CMD_PROCESS_INFO3 = 0x0408 /* .NET 8.0 */
};

/* Fields, named as in the document. */
enum {
    DIPC_ENABLE = 1,
    DIPC_EVENT_IDS = 2,
    DIPC_TRACEPOINT_NAME = 3,
    DIPC_DEFAULT_TRACEPOINT_NAME = 4,
    DIPC_TRACEPOINTS = 5,
    DIPC_KEYWORDS = 6,
    DIPC_LOG_LEVEL = 7,
    DIPC_PROVIDER_NAME = 8,
    DIPC_ARGUMENTS = 9,
    DIPC_FILTER = 10,
    DIPC_CONFIG = 11,
    DIPC_DUMP_NAME = 12,
    DIPC_DUMP_TYPE = 13,
    DIPC_DIAGNOSTICS = 14,
    DIPC_HRESULT = 15,
    DIPC_FLAGS = 16,
    DIPC_MESSAGE = 17,
    DIPC_SESSION_ID = 18,
    DIPC_CIRCULAR_BUFFER_MB = 19,
    DIPC_FORMAT = 20,
    DIPC_PROVIDERS = 21,
    DIPC_REQUEST_RUNDOWN = 22,
    DIPC_REQUEST_STACKWALK = 23,
    DIPC_RUNDOWN_KEYWORD = 24,
    DIPC_SESSION_TYPE = 25,
    DIPC_STREAMING_CIRCULAR_BUFFER_MB = 26,
    DIPC_STREAMING_FORMAT = 27,
    DIPC_SESSION_BUFFER_MODE = 28,
    DIPC_ATTACH_TIMEOUT = 29,
    DIPC_PROFILER_GUID = 30,
    DIPC_PROFILER_PATH = 31,
    DIPC_CLIENT_DATA = 32,
    DIPC_PROCESS_ID = 33,
    DIPC_RUNTIME_COOKIE = 34,
    DIPC_COMMAND_LINE = 35,
    DIPC_OS = 36,
    DIPC_ARCH = 37,
    DIPC_N_INCOMING_BYTES = 38,
    DIPC_FUTURE = 39,
    DIPC_NAME = 40,
    DIPC_VALUE = 41,
    DIPC_MANAGED_ENTRYPOINT_ASSEMBLY_NAME = 42,
    DIPC_CLR_PRODUCT_VERSION = 43,
    DIPC_PERF_MAP_TYPE = 44,
    DIPC_STARTUP_HOOK_PATH = 45,
    DIPC_VERSION = 46,
    DIPC_RUNTIME_IDENTIFIER = 47,
    DIPC_TAIL = 48
};

/* Kinds of fields. */
enum {
    DIPC_BYTE = 1, DIPC_USHORT, DIPC_UINT, DIPC_ULONG, DIPC_BOOL, DIPC_HRESULT_CODE, /* in `number` */
    DIPC_GUID,   /* 16 bytes at `data` */
    DIPC_STRING, /* `count` units of UTF-16LE at `data`, without the NUL; NULL: absent */
    DIPC_BYTES,  /* `count` bytes at `data` */
    DIPC_REST,   /* `count` bytes up to the end of the payload: fields appended by a later version */
    DIPC_UINTS,  /* `count` numbers at `data`: dipc_uint_at */
    DIPC_ARRAY,  /* `count` items, whose fields follow, one level deeper */
    DIPC_STRUCT  /* its fields follow, one level deeper */
};

/* Numbers with names. */
enum {
    DIPC_LOG_LEVEL_LOG_ALWAYS = 0,
    DIPC_LOG_LEVEL_CRITICAL = 1,
    DIPC_LOG_LEVEL_ERROR = 2,
    DIPC_LOG_LEVEL_WARNING = 3,
    DIPC_LOG_LEVEL_INFORMATIONAL = 4,
    DIPC_LOG_LEVEL_VERBOSE = 5,
    DIPC_DUMP_TYPE_NORMAL = 1,
    DIPC_DUMP_TYPE_WITH_HEAP = 2,
    DIPC_DUMP_TYPE_TRIAGE = 3,
    DIPC_DUMP_TYPE_FULL = 4,
    DIPC_FLAGS_LOGGING = 1,
    DIPC_FLAGS_VERBOSE_LOGGING = 2,
    DIPC_FLAGS_CRASH_REPORT = 4,
    DIPC_FORMAT_NET_PERF = 0,
    DIPC_FORMAT_NET_TRACE = 1,
    DIPC_SESSION_TYPE_STREAMING = 0,
    DIPC_SESSION_TYPE_USER_EVENTS = 1,
    DIPC_STREAMING_FORMAT_NET_PERF = 0,
    DIPC_STREAMING_FORMAT_NET_TRACE = 1,
    DIPC_SESSION_BUFFER_MODE_DROP = 0,
    DIPC_SESSION_BUFFER_MODE_BLOCK = 1,
    DIPC_PERF_MAP_TYPE_DISABLED = 0,
    DIPC_PERF_MAP_TYPE_ALL = 1,
    DIPC_PERF_MAP_TYPE_JITDUMP = 2,
    DIPC_PERF_MAP_TYPE_PERFMAP = 3
};

/* Layers of errors, and errors. */
enum { DIPC_TRANSPORT = 1, DIPC_HEADER, DIPC_PAYLOAD, DIPC_LIMITS, DIPC_OF_REPLY, DIPC_CALLER };
enum {
    DIPC_DONE = 0,
    DIPC_FIELD = 1,
    DIPC_E_END_OF_INPUT = -0x10,
    DIPC_E_SIZE_TOO_SMALL = -0x11,
    DIPC_E_BYTES_AFTER_MESSAGE = -0x12,
    DIPC_E_BAD_MAGIC = -0x20,
    DIPC_E_UNEXPECTED_COMMAND = -0x21,
    DIPC_E_UNEXPECTED_END = -0x30,
    DIPC_E_COUNT_TOO_LARGE = -0x31,
    DIPC_E_MISSING_TERMINATOR = -0x32,
    DIPC_E_UNKNOWN_SESSION_TYPE = -0x33,
    DIPC_E_ZERO_BUFFER = -0x40,
    DIPC_E_UNKNOWN_FORMAT = -0x41,
    DIPC_E_NO_PROVIDERS = -0x42,
    DIPC_E_TOO_MANY_PROVIDERS = -0x43,
    DIPC_E_LOG_LEVEL_OUT_OF_RANGE = -0x44,
    DIPC_E_EMPTY_PROVIDER_NAME = -0x45,
    DIPC_E_NO_TRACEPOINT = -0x46,
    DIPC_E_TRACEPOINT_NAME_TOO_LONG = -0x47,
    DIPC_E_EMPTY_TRACEPOINT_NAME = -0x48,
    DIPC_E_DUPLICATE_EVENT_ID = -0x49,
    DIPC_E_UNKNOWN_BUFFER_MODE = -0x4A,
    DIPC_E_UNKNOWN_PERF_MAP_TYPE = -0x4B,
    DIPC_E_ABSENT_NAME = -0x4C,
    DIPC_E_UNKNOWN_DUMP_TYPE = -0x4D,
    DIPC_E_NOT_A_REPLY = -0x50,
    DIPC_E_TOO_LARGE = -0x1F, /* a message has at most 65535 bytes */
    DIPC_E_INTERRUPTED = -0x5F, /* an error message inside an environment block */
    DIPC_E_ORDER = -0x60, /* another field is next, or the dipc_client has another action */
    DIPC_E_ROOM = -0x61,
    DIPC_E_RANGE = -0x62, /* the number does not fit into its field */
    DIPC_E_UTF8 = -0x63
};
#define dipc_layer(status) ((int)((unsigned)-(status) >> 4))

typedef struct {
    uint8_t id, kind;
    uint8_t depth;  /* 0 for a field of the message */
    uint32_t item;  /* index of the item in the innermost array */
    uint32_t offset; /* from the start of the message */
    uint32_t count;
    uint64_t number;
    const uint8_t *data;
} dipc_field;

/* Private: names that begin with dipci_, and the members of these. */
typedef struct { const uint8_t *next; uint32_t left, item; uint8_t program; } dipci_frame;
typedef struct { const uint8_t *base; uint32_t at, end; uint8_t depth, variant, is_error; dipci_frame frames[4]; } dipc_cursor;
typedef struct { uint8_t *to; size_t room, len; int status; dipc_cursor state; } dipc_writer;

/* Reading. `length` is the length of exactly one message, as dipc_size returns it. For a reply, `code` is the code of the request. If
   it is unknown (0), only an error and an OK without payload can be read. */
int dipc_size(const uint8_t *bytes, size_t length); /* the size of the message at the front, or DIPC_E_END_OF_INPUT if more bytes are needed */
int dipc_read_request(dipc_cursor *, const uint8_t *message, size_t length);
int dipc_read_reply(dipc_cursor *, unsigned code, const uint8_t *message, size_t length);
int dipc_is_error(const dipc_cursor *); /* whether the reply is an error */
int dipc_next(dipc_cursor *, dipc_field *); /* DIPC_FIELD, DIPC_DONE, or an error */
int dipc_check_limits(const uint8_t *request, size_t length, dipc_field *where); /* the error if a server would refuse it; `where` may be NULL */
uint32_t dipc_uint_at(const dipc_field *, uint32_t index); /* 0 if `index` is out of range, or if the kind is not DIPC_UINTS */
/* Writes the characters of a DIPC_STRING that fit. Returns the bytes needed, or 0 for another kind. Half a pair becomes U+FFFD. */
size_t dipc_utf8(const dipc_field *, char *to, size_t room);
/* Names, which DIPC_NO_NAMES omits. An unknown number has the name "". */
const char *dipc_name(unsigned field);             /* as in the document: "commandLine" */
const char *dipc_status_name(int status);          /* "zero_buffer" */
const char *dipc_hresult_name(uint32_t hresult);   /* "DS_IPC_E_UNKNOWN_COMMAND" */

/* Writing. Each put is checked with the grammar, and the first error is kept. The first put into a struct enters it. */
void dipc_write_request(dipc_writer *, unsigned code, uint8_t *to, size_t room);
void dipc_write_reply(dipc_writer *, unsigned code, uint8_t *to, size_t room);
void dipc_write_error(dipc_writer *, unsigned code, uint8_t *to, size_t room); /* the error in reply to any code */
void dipc_write_generic_ok(dipc_writer *, uint8_t *to, size_t room); /* an OK without payload */
int dipc_wants(const dipc_writer *, dipc_field *); /* DIPC_FIELD and the next field, or DIPC_DONE */
int dipc_enter_struct(dipc_writer *); /* optional */
int dipc_put_number(dipc_writer *, uint64_t); /* also the number of items of an array */
int dipc_put_text(dipc_writer *, const char *utf8); /* NULL: absent */
int dipc_put_utf8(dipc_writer *, const char *, size_t);
int dipc_put_units(dipc_writer *, const uint8_t *utf16le, size_t units);
int dipc_put_bytes(dipc_writer *, const void *, size_t); /* also a GUID, in wire order */
int dipc_put_uints(dipc_writer *, const uint32_t *, size_t);
int dipc_write_end(dipc_writer *, size_t *size); /* after DIPC_E_ROOM, *size is the size needed; `to` may be NULL with no room */

/* The client's side of one connection. The comment at the top shows the loop. */
enum { DIPC_SEND, DIPC_SEND_FD, DIPC_RECEIVE, DIPC_REPLIED, DIPC_REFUSED, DIPC_MALFORMED, DIPC_ENLARGE, DIPC_NO_REPLY, DIPC_CUT };
enum { DIPC_CLOSE, DIPC_STREAM, DIPC_ENVIRONMENT, DIPC_USER_EVENTS };
typedef struct {
    uint8_t action;
    uint8_t continuation;
    uint16_t code;
    uint32_t at, size; /* the range of the buffer for DIPC_SEND and DIPC_RECEIVE; later `size` is the size of the reply */
    uint32_t hresult;  /* of the reply, if it has one */
    uint64_t number;   /* sessionId, or nIncomingBytes */
    int status;        /* for DIPC_MALFORMED */
} dipc_client;
int dipc_client_start(dipc_client *, const uint8_t *request, size_t length);           /* calls dipc_check_limits; DIPC_MALFORMED if refused */
int dipc_client_start_unchecked(dipc_client *, const uint8_t *request, size_t length); /* checks no limits, to test a server */
int dipc_client_did(dipc_client *, const uint8_t *buffer, size_t room, size_t n); /* n > 0 of the requested bytes */
int dipc_client_send_failed(dipc_client *);
int dipc_client_ended(dipc_client *);
int dipc_client_enlarged(dipc_client *);

/* An environment block that is completely in memory. */
typedef struct { const uint8_t *at, *end; uint32_t left, hresult; } dipc_environment;
typedef struct { dipc_field name, value; int is_terminated; } dipc_entry; /* strings; without a `=`, the value is absent */
int dipc_environment_start(dipc_environment *, const uint8_t *block, size_t size);
int dipc_environment_next(dipc_environment *, dipc_entry *); /* DIPC_FIELD, DIPC_DONE, or DIPC_E_INTERRUPTED with the reason in `hresult` */

/* The kind of a stream, from its first bytes; 32 are enough. */
enum { DIPC_NEED_MORE, DIPC_STARTS_NETTRACE, DIPC_STARTS_NETTRACE_BLOCKS, DIPC_STARTS_NETPERF, DIPC_OPAQUE };
int dipc_stream_start(const uint8_t *bytes, size_t length);

/* A runtime's first message on a connection to a diagnostic port. */
enum { DIPC_ADVERTISE_SIZE = 34 };
typedef struct { uint8_t cookie[16]; uint64_t process_id; uint16_t future; } dipc_advertise;
int dipc_read_advertise(dipc_advertise *, const uint8_t *bytes, size_t length);
void dipc_write_advertise(const dipc_advertise *, uint8_t to[34]);

/* Common requests. Each writes a message to `to` and its size to `size`, which is the size needed after DIPC_E_ROOM. Text is UTF-8. */
static inline int dipc_empty_request(uint8_t *to, size_t room, size_t *size, unsigned code) { /* ProcessInfo, ResumeRuntime and all other requests without payload */
    dipc_writer w;
    dipc_write_request(&w, code, to, room);
    return dipc_write_end(&w, size);
}
typedef struct { const char *name, *arguments; uint64_t keywords; uint32_t level; } dipc_provider; /* `arguments` may be NULL */
/* Since CollectTracing5, a provider has a filter. `enable` selects the listed events, otherwise they are excluded. */
typedef struct { const uint32_t *ids; size_t count; int enable; } dipc_filter;
/* For user_events, a provider also has tracepoints: a default (or NULL) for events in no set, and sets of events. */
typedef struct { const char *name; const uint32_t *ids; size_t count; } dipc_tracepoint_set;
typedef struct { const char *name; const dipc_tracepoint_set *sets; size_t count; } dipc_tracepoints;
static inline void dipci_providers(dipc_writer *w, const dipc_provider *providers, const dipc_filter *filters, const dipc_tracepoints *tracepoints, size_t count) {
    dipc_field f;
    size_t i, set;
    dipc_put_number(w, count);
    for (i = 0; i < count; i++) {
        dipc_put_number(w, providers[i].keywords);
        dipc_put_number(w, providers[i].level);
        dipc_put_text(w, providers[i].name);
        dipc_put_text(w, providers[i].arguments);
        if (dipc_wants(w, &f) != DIPC_FIELD || f.id != DIPC_FILTER) continue;
        dipc_put_number(w, filters != NULL && filters[i].enable != 0);
        dipc_put_uints(w, filters == NULL ? NULL : filters[i].ids, filters == NULL ? 0 : filters[i].count);
        if (tracepoints == NULL) continue;
        dipc_put_text(w, tracepoints[i].name);
        dipc_put_number(w, tracepoints[i].count);
        for (set = 0; set < tracepoints[i].count; set++) {
            dipc_put_text(w, tracepoints[i].sets[set].name);
            dipc_put_uints(w, tracepoints[i].sets[set].ids, tracepoints[i].sets[set].count);
        }
    }
}
static inline int dipci_collect(uint8_t *to, size_t room, size_t *size, unsigned code, uint32_t megabytes, uint64_t rundown, int stacks, const dipc_provider *providers, const dipc_filter *filters, size_t count, uint32_t buffer_mode) {
    dipc_writer w;
    dipc_write_request(&w, code, to, room);
    if (code >= DIPC_CMD_COLLECT_TRACING5) dipc_put_number(&w, DIPC_SESSION_TYPE_STREAMING);
    dipc_put_number(&w, megabytes);
    dipc_put_number(&w, DIPC_FORMAT_NET_TRACE);
    dipc_put_number(&w, rundown);
    if (code >= DIPC_CMD_COLLECT_TRACING3) dipc_put_number(&w, stacks != 0);
    dipci_providers(&w, providers, filters, NULL, count);
    if (code == DIPC_CMD_COLLECT_TRACING6) dipc_put_number(&w, buffer_mode);
    return dipc_write_end(&w, size);
}
static inline int dipc_collect_tracing2(uint8_t *to, size_t room, size_t *size, uint32_t megabytes, int rundown, const dipc_provider *providers, size_t count) {
    return dipci_collect(to, room, size, DIPC_CMD_COLLECT_TRACING2, megabytes, rundown != 0, 0, providers, NULL, count, 0);
}
static inline int dipc_collect_tracing3(uint8_t *to, size_t room, size_t *size, uint32_t megabytes, int rundown, int stacks, const dipc_provider *providers, size_t count) {
    return dipci_collect(to, room, size, DIPC_CMD_COLLECT_TRACING3, megabytes, rundown != 0, stacks, providers, NULL, count, 0);
}
static inline int dipc_collect_tracing4(uint8_t *to, size_t room, size_t *size, uint32_t megabytes, uint64_t rundown_keyword, int stacks, const dipc_provider *providers, size_t count) {
    return dipci_collect(to, room, size, DIPC_CMD_COLLECT_TRACING4, megabytes, rundown_keyword, stacks, providers, NULL, count, 0);
}
/* `filters` has one filter for each provider, or is NULL. */
static inline int dipc_collect_tracing5(uint8_t *to, size_t room, size_t *size, uint32_t megabytes, uint64_t rundown_keyword, int stacks, const dipc_provider *providers, const dipc_filter *filters, size_t count) {
    return dipci_collect(to, room, size, DIPC_CMD_COLLECT_TRACING5, megabytes, rundown_keyword, stacks, providers, filters, count, 0);
}
static inline int dipc_collect_tracing6(uint8_t *to, size_t room, size_t *size, uint32_t megabytes, uint64_t rundown_keyword, int stacks, const dipc_provider *providers, const dipc_filter *filters, size_t count, uint32_t buffer_mode) {
    return dipci_collect(to, room, size, DIPC_CMD_COLLECT_TRACING6, megabytes, rundown_keyword, stacks, providers, filters, count, buffer_mode);
}
/* CollectTracing5 or 6 (`code`) with user_events. `tracepoints` has one item for each provider. */
static inline int dipc_collect_user_events(uint8_t *to, size_t room, size_t *size, unsigned code, uint64_t rundown_keyword, const dipc_provider *providers, const dipc_filter *filters, const dipc_tracepoints *tracepoints, size_t count) {
    dipc_writer w;
    dipc_write_request(&w, code, to, room);
    dipc_put_number(&w, DIPC_SESSION_TYPE_USER_EVENTS);
    dipc_put_number(&w, rundown_keyword);
    dipci_providers(&w, providers, filters, tracepoints, count);
    return dipc_write_end(&w, size);
}
static inline int dipc_stop_tracing(uint8_t *to, size_t room, size_t *size, uint64_t session_id) {
    dipc_writer w;
    dipc_write_request(&w, DIPC_CMD_STOP_TRACING, to, room);
    dipc_put_number(&w, session_id);
    return dipc_write_end(&w, size);
}
/* GenerateCoreDump, 2 or 3 (`code`). The `flags` of the first are its `diagnostics`, 0 or 1. */
static inline int dipc_dump(uint8_t *to, size_t room, size_t *size, unsigned code, const char *path, uint32_t type, uint32_t flags) {
    dipc_writer w;
    dipc_write_request(&w, code, to, room);
    dipc_put_text(&w, path);
    dipc_put_number(&w, type);
    dipc_put_number(&w, flags);
    return dipc_write_end(&w, size);
}
static inline int dipc_attach_profiler(uint8_t *to, size_t room, size_t *size, uint32_t milliseconds, const uint8_t clsid[16], const char *path, const void *data, size_t length) {
    dipc_writer w;
    dipc_write_request(&w, DIPC_CMD_ATTACH_PROFILER, to, room);
    dipc_put_number(&w, milliseconds);
    dipc_put_bytes(&w, clsid, 16);
    dipc_put_text(&w, path);
    dipc_put_bytes(&w, data, length);
    return dipc_write_end(&w, size);
}
static inline int dipc_startup_profiler(uint8_t *to, size_t room, size_t *size, const uint8_t clsid[16], const char *path) {
    dipc_writer w;
    dipc_write_request(&w, DIPC_CMD_STARTUP_PROFILER, to, room);
    dipc_put_bytes(&w, clsid, 16);
    dipc_put_text(&w, path);
    return dipc_write_end(&w, size);
}
static inline int dipc_set_environment_variable(uint8_t *to, size_t room, size_t *size, const char *name, const char *value) { /* a NULL value deletes the variable */
    dipc_writer w;
    dipc_write_request(&w, DIPC_CMD_SET_ENVIRONMENT_VARIABLE, to, room);
    dipc_put_text(&w, name);
    dipc_put_text(&w, value);
    return dipc_write_end(&w, size);
}
static inline int dipc_enable_perf_map(uint8_t *to, size_t room, size_t *size, uint32_t type) {
    dipc_writer w;
    dipc_write_request(&w, DIPC_CMD_ENABLE_PERF_MAP, to, room);
    dipc_put_number(&w, type);
    return dipc_write_end(&w, size);
}
static inline int dipc_apply_startup_hook(uint8_t *to, size_t room, size_t *size, const char *path) {
    dipc_writer w;
    dipc_write_request(&w, DIPC_CMD_APPLY_STARTUP_HOOK, to, room);
    dipc_put_text(&w, path);
    return dipc_write_end(&w, size);
}

#ifdef __cplusplus
}
#endif
#endif /* DOTNET_IPC_H */

#if defined(DOTNET_IPC_IMPLEMENTATION) && !defined(DOTNET_IPC_IMPLEMENTED)
#define DOTNET_IPC_IMPLEMENTED
#ifndef DIPC_MEMCPY
#include <string.h>
#define DIPC_MEMCPY memcpy
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The grammar. An instruction is a kind, a field, and for an array or struct the program of its fields, for DIPCI_ONLY the number of
   allowed values. Flags of a kind: 0x10 and 0x20 for the first or second session type only, 0x40 for a field that may be omitted at the end. */
enum { DIPCI_END = 0, DIPCI_ONLY = DIPC_STRUCT + 1 };
static const uint8_t dipci_programs[] = {
    /* 0: nothing, Process/ProcessInfo, Process/ResumeRuntime, Process/ProcessEnvironment, Process/ProcessInfo2, Process/DisablePerfMap, Process/ProcessInfo3 */
    0,
    /* 1: event_filter */
    DIPC_BOOL, DIPC_ENABLE, DIPC_UINTS, DIPC_EVENT_IDS, 0,
    /* 2: tracepoint_set */
    DIPC_STRING, DIPC_TRACEPOINT_NAME, DIPC_UINTS, DIPC_EVENT_IDS, 0,
    /* 3: tracepoint_config */
    DIPC_STRING, DIPC_DEFAULT_TRACEPOINT_NAME, DIPC_ARRAY, DIPC_TRACEPOINTS, 2, 0,
    /* 4: provider_config */
    DIPC_ULONG, DIPC_KEYWORDS, DIPC_UINT, DIPC_LOG_LEVEL, DIPC_STRING, DIPC_PROVIDER_NAME, DIPC_STRING, DIPC_ARGUMENTS, 0,
    /* 5: streaming_provider_config */
    DIPC_ULONG, DIPC_KEYWORDS, DIPC_UINT, DIPC_LOG_LEVEL, DIPC_STRING, DIPC_PROVIDER_NAME, DIPC_STRING, DIPC_ARGUMENTS, DIPC_STRUCT, DIPC_FILTER, 1, 0,
    /* 6: user_events_provider_config */
    DIPC_ULONG, DIPC_KEYWORDS, DIPC_UINT, DIPC_LOG_LEVEL, DIPC_STRING, DIPC_PROVIDER_NAME, DIPC_STRING, DIPC_ARGUMENTS, DIPC_STRUCT, DIPC_FILTER, 1, DIPC_STRUCT, DIPC_CONFIG, 3, 0,
    /* 7: Dump/GenerateCoreDump */
    DIPC_STRING, DIPC_DUMP_NAME, DIPC_UINT, DIPC_DUMP_TYPE, DIPC_UINT, DIPC_DIAGNOSTICS, 0,
    /* 8: ResultReply, Error */
    DIPC_HRESULT_CODE, DIPC_HRESULT, 0,
    /* 9: Dump/GenerateCoreDump2, Dump/GenerateCoreDump3 */
    DIPC_STRING, DIPC_DUMP_NAME, DIPC_UINT, DIPC_DUMP_TYPE, DIPC_UINT, DIPC_FLAGS, 0,
    /* 10: Error */
    DIPC_HRESULT_CODE, DIPC_HRESULT, DIPC_STRING | 0x40, DIPC_MESSAGE, 0,
    /* 11: EventPipe/StopTracing, SessionReply */
    DIPC_ULONG, DIPC_SESSION_ID, 0,
    /* 12: EventPipe/CollectTracing */
    DIPC_UINT, DIPC_CIRCULAR_BUFFER_MB, DIPC_UINT, DIPC_FORMAT, DIPC_ARRAY, DIPC_PROVIDERS, 4, 0,
    /* 13: EventPipe/CollectTracing2 */
    DIPC_UINT, DIPC_CIRCULAR_BUFFER_MB, DIPC_UINT, DIPC_FORMAT, DIPC_BOOL, DIPC_REQUEST_RUNDOWN, DIPC_ARRAY, DIPC_PROVIDERS, 4, 0,
    /* 14: EventPipe/CollectTracing3 */
    DIPC_UINT, DIPC_CIRCULAR_BUFFER_MB, DIPC_UINT, DIPC_FORMAT, DIPC_BOOL, DIPC_REQUEST_RUNDOWN, DIPC_BOOL, DIPC_REQUEST_STACKWALK, DIPC_ARRAY, DIPC_PROVIDERS, 4, 0,
    /* 15: EventPipe/CollectTracing4 */
    DIPC_UINT, DIPC_CIRCULAR_BUFFER_MB, DIPC_UINT, DIPC_FORMAT, DIPC_ULONG, DIPC_RUNDOWN_KEYWORD, DIPC_BOOL, DIPC_REQUEST_STACKWALK, DIPC_ARRAY, DIPC_PROVIDERS, 4, 0,
    /* 16: EventPipe/CollectTracing5 */
    DIPCI_ONLY, DIPC_SESSION_TYPE, 2, DIPC_UINT | 0x10, DIPC_STREAMING_CIRCULAR_BUFFER_MB, DIPC_UINT | 0x10, DIPC_STREAMING_FORMAT, DIPC_ULONG | 0x10, DIPC_RUNDOWN_KEYWORD, DIPC_BOOL | 0x10, DIPC_REQUEST_STACKWALK, DIPC_ARRAY | 0x10, DIPC_PROVIDERS, 5, DIPC_ULONG | 0x20, DIPC_RUNDOWN_KEYWORD, DIPC_ARRAY | 0x20, DIPC_PROVIDERS, 6, 0,
    /* 17: EventPipe/CollectTracing6 */
    DIPCI_ONLY, DIPC_SESSION_TYPE, 2, DIPC_UINT | 0x10, DIPC_STREAMING_CIRCULAR_BUFFER_MB, DIPC_UINT | 0x10, DIPC_STREAMING_FORMAT, DIPC_ULONG | 0x10, DIPC_RUNDOWN_KEYWORD, DIPC_BOOL | 0x10, DIPC_REQUEST_STACKWALK, DIPC_ARRAY | 0x10, DIPC_PROVIDERS, 5, DIPC_UINT | 0x10, DIPC_SESSION_BUFFER_MODE, DIPC_ULONG | 0x20, DIPC_RUNDOWN_KEYWORD, DIPC_ARRAY | 0x20, DIPC_PROVIDERS, 6, 0,
    /* 18: Profiler/AttachProfiler */
    DIPC_UINT, DIPC_ATTACH_TIMEOUT, DIPC_GUID, DIPC_PROFILER_GUID, DIPC_STRING, DIPC_PROFILER_PATH, DIPC_BYTES, DIPC_CLIENT_DATA, 0,
    /* 19: Profiler/StartupProfiler */
    DIPC_GUID, DIPC_PROFILER_GUID, DIPC_STRING, DIPC_PROFILER_PATH, 0,
    /* 20: ProcessInfoReply */
    DIPC_ULONG, DIPC_PROCESS_ID, DIPC_GUID, DIPC_RUNTIME_COOKIE, DIPC_STRING, DIPC_COMMAND_LINE, DIPC_STRING, DIPC_OS, DIPC_STRING, DIPC_ARCH, 0,
    /* 21: ProcessEnvironmentReply */
    DIPC_UINT, DIPC_N_INCOMING_BYTES, DIPC_USHORT, DIPC_FUTURE, 0,
    /* 22: Process/SetEnvironmentVariable */
    DIPC_STRING, DIPC_NAME, DIPC_STRING, DIPC_VALUE, 0,
    /* 23: ProcessInfo2Reply */
    DIPC_ULONG, DIPC_PROCESS_ID, DIPC_GUID, DIPC_RUNTIME_COOKIE, DIPC_STRING, DIPC_COMMAND_LINE, DIPC_STRING, DIPC_OS, DIPC_STRING, DIPC_ARCH, DIPC_STRING, DIPC_MANAGED_ENTRYPOINT_ASSEMBLY_NAME, DIPC_STRING, DIPC_CLR_PRODUCT_VERSION, 0,
    /* 24: Process/EnablePerfMap */
    DIPC_UINT, DIPC_PERF_MAP_TYPE, 0,
    /* 25: Process/ApplyStartupHook */
    DIPC_STRING, DIPC_STARTUP_HOOK_PATH, 0,
    /* 26: ProcessInfo3Reply */
    DIPC_UINT, DIPC_VERSION, DIPC_ULONG, DIPC_PROCESS_ID, DIPC_GUID, DIPC_RUNTIME_COOKIE, DIPC_STRING, DIPC_COMMAND_LINE, DIPC_STRING, DIPC_OS, DIPC_STRING, DIPC_ARCH, DIPC_STRING, DIPC_MANAGED_ENTRYPOINT_ASSEMBLY_NAME, DIPC_STRING, DIPC_CLR_PRODUCT_VERSION, DIPC_STRING, DIPC_RUNTIME_IDENTIFIER, DIPC_REST | 0x40, DIPC_TAIL, 0
};
static const uint16_t dipci_program_at[] = {0, 1, 6, 11, 17, 26, 38, 53, 60, 63, 70, 75, 78, 86, 96, 108, 120, 140, 162, 171, 176, 187, 192, 197, 212, 215, 218};
/* The minimum length of an item in bytes. */
static const uint8_t dipci_least[] = {0, 5, 8, 8, 20, 25, 33};
/* Set, id, the programs of request, reply and error, and what follows the reply by session type (low and high half). */
static const uint8_t dipci_commands[][6] = {
    {1, 1, 7, 8, 8, 0x00}, /* Dump/GenerateCoreDump */
    {1, 2, 9, 8, 8, 0x00}, /* Dump/GenerateCoreDump2 */
    {1, 3, 9, 8, 10, 0x00}, /* Dump/GenerateCoreDump3 */
    {2, 1, 11, 11, 8, 0x00}, /* EventPipe/StopTracing */
    {2, 2, 12, 11, 8, 0x11}, /* EventPipe/CollectTracing */
    {2, 3, 13, 11, 8, 0x11}, /* EventPipe/CollectTracing2 */
    {2, 4, 14, 11, 8, 0x11}, /* EventPipe/CollectTracing3 */
    {2, 5, 15, 11, 8, 0x11}, /* EventPipe/CollectTracing4 */
    {2, 6, 16, 11, 8, 0x31}, /* EventPipe/CollectTracing5 */
    {2, 7, 17, 11, 8, 0x31}, /* EventPipe/CollectTracing6 */
    {3, 1, 18, 8, 8, 0x00}, /* Profiler/AttachProfiler */
    {3, 2, 19, 8, 8, 0x00}, /* Profiler/StartupProfiler */
    {4, 0, 0, 20, 8, 0x00}, /* Process/ProcessInfo */
    {4, 1, 0, 8, 8, 0x00}, /* Process/ResumeRuntime */
    {4, 2, 0, 21, 8, 0x22}, /* Process/ProcessEnvironment */
    {4, 3, 22, 8, 8, 0x00}, /* Process/SetEnvironmentVariable */
    {4, 4, 0, 23, 8, 0x00}, /* Process/ProcessInfo2 */
    {4, 5, 24, 8, 8, 0x00}, /* Process/EnablePerfMap */
    {4, 6, 0, 8, 8, 0x00}, /* Process/DisablePerfMap */
    {4, 7, 25, 8, 8, 0x00}, /* Process/ApplyStartupHook */
    {4, 8, 0, 26, 8, 0x00} /* Process/ProcessInfo3 */
};
enum { DIPCI_VALUE, DIPCI_COUNT, DIPCI_VISIBLE, DIPCI_UTF8 };
/* A field is refused with an error if its measure is in none of the ranges with that error. */
static const struct { uint8_t field, error, measure; uint32_t low, high; } dipci_limits[] = {
    {DIPC_TRACEPOINT_NAME, -DIPC_E_EMPTY_TRACEPOINT_NAME, DIPCI_VISIBLE, 1u, 4294967295u},
    {DIPC_TRACEPOINT_NAME, -DIPC_E_TRACEPOINT_NAME_TOO_LONG, DIPCI_UTF8, 0u, 436u},
    {DIPC_DEFAULT_TRACEPOINT_NAME, -DIPC_E_TRACEPOINT_NAME_TOO_LONG, DIPCI_UTF8, 0u, 436u},
    {DIPC_LOG_LEVEL, -DIPC_E_LOG_LEVEL_OUT_OF_RANGE, DIPCI_VALUE, 0u, 5u},
    {DIPC_PROVIDER_NAME, -DIPC_E_EMPTY_PROVIDER_NAME, DIPCI_VISIBLE, 1u, 4294967295u},
    {DIPC_DUMP_NAME, -DIPC_E_ABSENT_NAME, DIPCI_COUNT, 1u, 4294967295u},
    {DIPC_DUMP_TYPE, -DIPC_E_UNKNOWN_DUMP_TYPE, DIPCI_VALUE, 1u, 4u},
    {DIPC_CIRCULAR_BUFFER_MB, -DIPC_E_ZERO_BUFFER, DIPCI_VALUE, 1u, 4294967295u},
    {DIPC_FORMAT, -DIPC_E_UNKNOWN_FORMAT, DIPCI_VALUE, 0u, 1u},
    {DIPC_PROVIDERS, -DIPC_E_NO_PROVIDERS, DIPCI_COUNT, 1u, 4294967295u},
    {DIPC_PROVIDERS, -DIPC_E_TOO_MANY_PROVIDERS, DIPCI_COUNT, 0u, 1000u},
    {DIPC_STREAMING_CIRCULAR_BUFFER_MB, -DIPC_E_ZERO_BUFFER, DIPCI_VALUE, 1u, 4294967295u},
    {DIPC_STREAMING_FORMAT, -DIPC_E_UNKNOWN_FORMAT, DIPCI_VALUE, 0u, 1u},
    {DIPC_SESSION_BUFFER_MODE, -DIPC_E_UNKNOWN_BUFFER_MODE, DIPCI_VALUE, 0u, 1u},
    {DIPC_NAME, -DIPC_E_ABSENT_NAME, DIPCI_COUNT, 1u, 4294967295u},
    {DIPC_PERF_MAP_TYPE, -DIPC_E_UNKNOWN_PERF_MAP_TYPE, DIPCI_VALUE, 1u, 3u},
    {DIPC_PERF_MAP_TYPE, -DIPC_E_UNKNOWN_PERF_MAP_TYPE, DIPCI_VALUE, 2147483648u, 4294967295u},
    {DIPC_STARTUP_HOOK_PATH, -DIPC_E_ABSENT_NAME, DIPCI_COUNT, 1u, 4294967295u}
};
static const uint8_t dipci_magic[14] = {68, 79, 84, 78, 69, 84, 95, 73, 80, 67, 95, 86, 49, 0};
static const uint8_t dipci_advertise_magic[8] = {65, 68, 86, 82, 95, 86, 49, 0};
enum { DIPCI_HEADER = 20, DIPCI_LARGEST = 65535, DIPCI_MAGIC = 14 };

#ifndef DIPC_NO_NAMES
const char *dipc_name(unsigned field) {
    static const char *const names[] = { "", "enable", "event_ids", "tracepoint_name", "default_tracepoint_name", "tracepoints", "keywords", "logLevel", "provider_name", "arguments", "filter", "config", "dumpName", "dumpType", "diagnostics", "hresult", "flags", "message", "sessionId", "circularBufferMB", "format", "providers", "requestRundown", "requestStackwalk", "rundownKeyword", "session_type", "streaming_circularBufferMB", "streaming_format", "sessionBufferMode", "attachTimeout", "profilerGuid", "profilerPath", "clientData", "processId", "runtimeCookie", "commandLine", "OS", "arch", "nIncomingBytes", "future", "name", "value", "managedEntrypointAssemblyName", "clrProductVersion", "perfMapType", "startupHookPath", "version", "runtimeIdentifier", "tail"};
    return names[field < sizeof names / sizeof *names ? field : 0];
}
const char *dipc_status_name(int status) {
    switch (status) {
    case DIPC_DONE: return "done";
    case DIPC_FIELD: return "field";
    case DIPC_E_END_OF_INPUT: return "end_of_input";
    case DIPC_E_SIZE_TOO_SMALL: return "size_too_small";
    case DIPC_E_BYTES_AFTER_MESSAGE: return "bytes_after_message";
    case DIPC_E_BAD_MAGIC: return "bad_magic";
    case DIPC_E_UNEXPECTED_COMMAND: return "unexpected_command";
    case DIPC_E_UNEXPECTED_END: return "unexpected_end";
    case DIPC_E_COUNT_TOO_LARGE: return "count_too_large";
    case DIPC_E_MISSING_TERMINATOR: return "missing_terminator";
    case DIPC_E_UNKNOWN_SESSION_TYPE: return "unknown_session_type";
    case DIPC_E_ZERO_BUFFER: return "zero_buffer";
    case DIPC_E_UNKNOWN_FORMAT: return "unknown_format";
    case DIPC_E_NO_PROVIDERS: return "no_providers";
    case DIPC_E_TOO_MANY_PROVIDERS: return "too_many_providers";
    case DIPC_E_LOG_LEVEL_OUT_OF_RANGE: return "log_level_out_of_range";
    case DIPC_E_EMPTY_PROVIDER_NAME: return "empty_provider_name";
    case DIPC_E_NO_TRACEPOINT: return "no_tracepoint";
    case DIPC_E_TRACEPOINT_NAME_TOO_LONG: return "tracepoint_name_too_long";
    case DIPC_E_EMPTY_TRACEPOINT_NAME: return "empty_tracepoint_name";
    case DIPC_E_DUPLICATE_EVENT_ID: return "duplicate_event_id";
    case DIPC_E_UNKNOWN_BUFFER_MODE: return "unknown_buffer_mode";
    case DIPC_E_UNKNOWN_PERF_MAP_TYPE: return "unknown_perf_map_type";
    case DIPC_E_ABSENT_NAME: return "absent_name";
    case DIPC_E_UNKNOWN_DUMP_TYPE: return "unknown_dump_type";
    case DIPC_E_NOT_A_REPLY: return "not_a_reply";
    case DIPC_E_TOO_LARGE: return "message_too_large";
    case DIPC_E_INTERRUPTED: return "error_message";
    case DIPC_E_ORDER: return "order";
    case DIPC_E_ROOM: return "room";
    case DIPC_E_RANGE: return "range";
    case DIPC_E_UTF8: return "utf8";
    default: return "";
    }
}
const char *dipc_hresult_name(uint32_t hresult) {
    switch (hresult) {
    case 0x00000000u: return "S_OK";
    case 0x80131384u: return "DS_IPC_E_BAD_ENCODING";
    case 0x80131385u: return "DS_IPC_E_UNKNOWN_COMMAND";
    case 0x80131386u: return "DS_IPC_E_UNKNOWN_MAGIC";
    case 0x80131387u: return "CORDIAGIPC_E_UNKNOWN_ERROR";
    case 0x80131515u: return "DS_IPC_E_NOTSUPPORTED";
    case 0x80004005u: return "DS_IPC_E_FAIL";
    case 0x8013135Bu: return "DS_IPC_E_NOT_YET_AVAILABLE";
    case 0x80131371u: return "DS_IPC_E_RUNTIME_UNINITIALIZED";
    case 0x80070057u: return "DS_IPC_E_INVALIDARG";
    case 0x8007007Au: return "DS_IPC_E_INSUFFICIENT_BUFFER";
    case 0x800000CBu: return "DS_IPC_E_ENVVAR_NOT_FOUND";
    case 0x800700CBu: return "ERROR_ENVVAR_NOT_FOUND";
    case 0x8007007Eu: return "ERROR_MOD_NOT_FOUND";
    case 0x80070008u: return "ERROR_NOT_ENOUGH_MEMORY";
    case 0x80070002u: return "ERROR_FILE_NOT_FOUND";
    case 0x80070003u: return "ERROR_PATH_NOT_FOUND";
    case 0x80070005u: return "E_ACCESSDENIED";
    case 0x8007000Eu: return "E_OUTOFMEMORY";
    case 0x800700B7u: return "ERROR_ALREADY_EXISTS";
    case 0x8013136Au: return "CORPROF_E_PROFILER_ALREADY_ACTIVE";
    case 0xFFFFFFFFu: return "setenv failed (-1)";
    default: return "";
    }
}
#endif

static uint32_t dipci_u16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t dipci_u32(const uint8_t *p) { return dipci_u16(p) | dipci_u16(p + 2) << 16; }
static uint64_t dipci_number(const uint8_t *p, unsigned width) {
    switch (width) {
    case 1: return p[0];
    case 2: return dipci_u16(p);
    case 4: return dipci_u32(p);
    default: return dipci_u32(p) | (uint64_t)dipci_u32(p + 4) << 32;
    }
}
static int dipci_begins(const uint8_t *bytes, size_t length, const uint8_t *magic, size_t size) {
    size_t i;
    for (i = 0; i < size && i < length; i++)
        if (bytes[i] != magic[i]) return 0;
    return 1;
}
static const uint8_t *dipci_command(unsigned code) {
    size_t i;
    for (i = 0; i < sizeof dipci_commands / sizeof *dipci_commands; i++)
        if (((unsigned)dipci_commands[i][0] << 8 | dipci_commands[i][1]) == code) return dipci_commands[i];
    return NULL;
}
static void dipci_enter(dipc_cursor *c, unsigned program, uint32_t items) {
    dipci_frame *frame;
    if (items == 0) return;
    frame = &c->frames[++c->depth];
    frame->next = dipci_programs + dipci_program_at[program];
    frame->left = items;
    frame->item = 0;
    frame->program = (uint8_t)program;
}
static void dipci_begin(dipc_cursor *c, const uint8_t *base, uint32_t end, unsigned program) {
    c->base = base;
    c->at = DIPCI_HEADER;
    c->end = end;
    c->depth = 0xFF;
    c->variant = c->is_error = 0;
    dipci_enter(c, program, 1);
}
/* Returns the next applicable instruction as a field, with its argument, for reading and writing. */
static unsigned dipci_step(dipc_cursor *c, dipc_field *f, unsigned *argument, unsigned *optional) {
    for (;;) {
        dipci_frame *frame = &c->frames[c->depth];
        const uint8_t *at = frame->next;
        unsigned kind = at[0] & 0x0F, when = at[0] >> 4 & 3u;
        f->depth = c->depth;
        f->item = frame->item;
        if (kind == DIPCI_END) {
            if (frame->left > 1) {
                frame->left--;
                frame->item++;
                frame->next = dipci_programs + dipci_program_at[frame->program];
            } else if (c->depth == 0) {
                f->id = f->kind = 0;
                return DIPCI_END;
            } else {
                c->depth--;
            }
            continue;
        }
        *argument = kind >= DIPC_ARRAY ? at[2] : 0;
        frame->next += kind >= DIPC_ARRAY ? 3 : 2;
        if (when != 0 && when != c->variant + 1u) continue;
        *optional = at[0] & 0x40u;
        f->id = at[1];
        f->kind = (uint8_t)(kind == DIPCI_ONLY ? (unsigned)DIPC_UINT : kind);
        f->count = 0;
        f->number = 0;
        f->data = NULL;
        return kind;
    }
}
/* The number of bytes at the start of each kind. */
static const uint8_t dipci_width[] = {0, 1, 2, 4, 8, 1, 4, 16, 4, 4, 0, 4, 4, 0, 4};

int dipc_next(dipc_cursor *c, dipc_field *f) {
    unsigned argument, optional, kind, width, unit;
    uint32_t left;
    do {
        kind = dipci_step(c, f, &argument, &optional);
        f->offset = c->at;
        left = c->end - c->at;
    } while (kind != DIPCI_END && optional && left == 0);
    if (kind == DIPCI_END) return DIPC_DONE;
    width = dipci_width[kind];
    if (left < width) return DIPC_E_UNEXPECTED_END;
    f->data = c->base + c->at;
    if (width != 16 && width != 0) f->number = dipci_number(f->data, width);
    c->at += width;
    left -= width;
    f->count = kind == DIPC_REST ? left : (uint32_t)f->number;
    switch (kind) {
    case DIPC_BOOL: f->number = f->number != 0; return DIPC_FIELD;
    case DIPC_STRUCT: dipci_enter(c, argument, 1); return DIPC_FIELD;
    case DIPCI_ONLY:
        if (f->number >= argument) return DIPC_E_UNKNOWN_SESSION_TYPE;
        c->variant = (uint8_t)f->number;
        return DIPC_FIELD;
    case DIPC_STRING: unit = 2; break;
    case DIPC_BYTES: case DIPC_REST: unit = 1; break;
    case DIPC_UINTS: unit = 4; break;
    case DIPC_ARRAY: unit = dipci_least[argument]; break;
    default: f->count = 0; return DIPC_FIELD;
    }
    /* Neither overflows, because less than 65,536 bytes are left. */
    if (f->count > left || f->count * unit > left) {
        f->count = 0; /* `data` has none of it */
        return DIPC_E_COUNT_TOO_LARGE;
    }
    if (kind == DIPC_ARRAY) {
        dipci_enter(c, argument, f->count);
        return DIPC_FIELD;
    }
    f->data = c->base + c->at;
    c->at += f->count * unit;
    if (kind == DIPC_STRING) {
        if (f->count == 0) {
            f->data = NULL;
        } else if (dipci_u16(c->base + c->at - 2) != 0) {
            f->offset = c->at - 2;
            return DIPC_E_MISSING_TERMINATOR;
        } else {
            f->count--;
        }
    }
    return DIPC_FIELD;
}

int dipc_size(const uint8_t *bytes, size_t length) {
    if (!dipci_begins(bytes, length, dipci_magic, DIPCI_MAGIC)) return DIPC_E_BAD_MAGIC;
    if (length < DIPCI_HEADER) return DIPC_E_END_OF_INPUT;
    if (dipci_u16(bytes + DIPCI_MAGIC) < DIPCI_HEADER) return DIPC_E_SIZE_TOO_SMALL;
    return (int)dipci_u16(bytes + DIPCI_MAGIC);
}
static int dipci_message(const uint8_t *message, size_t length) {
    int size = dipc_size(message, length);
    if (size < 0) return size;
    return (size_t)size > length ? DIPC_E_END_OF_INPUT : (size_t)size < length ? DIPC_E_BYTES_AFTER_MESSAGE : size;
}
static unsigned dipci_code(const uint8_t *message) { return (unsigned)message[DIPCI_MAGIC + 2] << 8 | message[DIPCI_MAGIC + 3]; }

int dipc_read_request(dipc_cursor *c, const uint8_t *message, size_t length) {
    const uint8_t *command;
    int size = dipci_message(message, length);
    if (size < 0) return size;
    command = dipci_command(dipci_code(message));
    if (command == NULL) return DIPC_E_UNEXPECTED_COMMAND;
    dipci_begin(c, message, (uint32_t)size, command[2]);
    return DIPC_DONE;
}
int dipc_read_reply(dipc_cursor *c, unsigned code, const uint8_t *message, size_t length) {
    const uint8_t *command = dipci_command(code);
    int size = dipci_message(message, length), error;
    if (size < 0) return size;
    error = dipci_code(message) == 0xFFFF;
    if (!error && dipci_code(message) != 0xFF00) return DIPC_E_NOT_A_REPLY;
    if (command == NULL && !error && size > DIPCI_HEADER) return DIPC_E_UNEXPECTED_COMMAND;
    dipci_begin(c, message, (uint32_t)size, error ? (command == NULL ? 8u : command[4]) : size == DIPCI_HEADER ? 0u : command[3]);
    c->is_error = (uint8_t)error;
    return DIPC_DONE;
}
int dipc_is_error(const dipc_cursor *c) { return c->is_error; }
uint32_t dipc_uint_at(const dipc_field *f, uint32_t index) { return f->kind == DIPC_UINTS && index < f->count ? dipci_u32(f->data + 4 * (size_t)index) : 0; }

/* Reads a code point from `count` units at `data`, and returns its number of units. */
static uint32_t dipci_point(const uint8_t *data, uint32_t count, uint32_t *point) {
    uint32_t high = dipci_u16(data), low = count > 1 ? dipci_u16(data + 2) : 0;
    *point = high;
    if ((high & 0xF800) != 0xD800) return 1;
    *point = 0xFFFD;
    if (high >= 0xDC00 || (low & 0xFC00) != 0xDC00) return 1;
    *point = 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
    return 2;
}
static size_t dipci_to_utf8(const uint8_t *data, uint32_t count, char *to, size_t room) {
    size_t all = 0;
    while (count > 0) {
        uint8_t bytes[4];
        uint32_t point, units = dipci_point(data, count, &point);
        unsigned n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4, i;
        for (i = n - 1; i > 0; i--) {
            bytes[i] = (uint8_t)(0x80 | (point & 0x3F));
            point >>= 6;
        }
        bytes[0] = (uint8_t)(n == 1 ? point : (0xF00u >> n & 0xFFu) | point);
        if (n <= room && all <= room - n) DIPC_MEMCPY(to + all, bytes, n);
        else room = 0;
        all += n;
        data += 2 * (size_t)units;
        count -= units;
    }
    return all;
}
size_t dipc_utf8(const dipc_field *f, char *to, size_t room) { return f->kind == DIPC_STRING ? dipci_to_utf8(f->data, f->count, to, room) : 0; }

/* Limits. */
static uint32_t dipci_measure(const dipc_field *f, unsigned measure) {
    uint32_t units = 0, visible = 0;
    if (measure == DIPCI_VALUE) return (uint32_t)f->number;
    if (measure == DIPCI_COUNT) return f->count + (f->kind == DIPC_STRING && f->data != NULL);
    for (; units < f->count; units++) {
        const uint32_t unit = dipci_u16(f->data + 2 * (size_t)units);
        if (unit == 0) break;
        if (unit != 32 && unit - 9 > 4) visible++;
    }
    return measure == DIPCI_VISIBLE ? visible : (uint32_t)dipci_to_utf8(f->data, units, NULL, 0);
}
/* Returns whether the number at `here` is in an earlier array of ids, from `c` on. */
static int dipci_repeated(dipc_cursor c, const uint8_t *here) {
    dipc_field f;
    while (dipc_next(&c, &f) == DIPC_FIELD) {
        const uint8_t *at = f.data, *end;
        if (f.id != DIPC_EVENT_IDS) continue;
        for (end = at + 4 * (size_t)f.count; at < end; at += 4) {
            if (at >= here) return 0;
            if (dipci_u32(at) == dipci_u32(here)) return 1;
        }
    }
    return 0;
}
int dipc_check_limits(const uint8_t *request, size_t length, dipc_field *where) {
    dipc_cursor c, sets;
    dipc_field own, *f = where != NULL ? where : &own;
    uint32_t n, sum = 0;
    size_t i;
    int inside = -1, status = dipc_read_request(&c, request, length);
    while (status >= 0 && (status = dipc_next(&c, f)) == DIPC_FIELD) {
        for (i = 0; i < sizeof dipci_limits / sizeof *dipci_limits; i++) {
            unsigned error = dipci_limits[i].error;
            int within = 0;
            if (dipci_limits[i].field != f->id) continue;
            for (;; i++) {
                n = dipci_measure(f, dipci_limits[i].measure);
                within |= dipci_limits[i].low <= n && n <= dipci_limits[i].high;
                if (i + 1 == sizeof dipci_limits / sizeof *dipci_limits || dipci_limits[i + 1].field != f->id || dipci_limits[i + 1].error != error) break;
            }
            if (!within) return -(int)error;
        }
        if (f->id == DIPC_DEFAULT_TRACEPOINT_NAME) sum = dipci_measure(f, DIPCI_COUNT);
        if (f->id == DIPC_TRACEPOINTS && sum + f->count < 1u) return DIPC_E_NO_TRACEPOINT;
        if (f->depth <= inside) inside = -1;
        if (f->id == DIPC_TRACEPOINTS) {
            inside = f->depth;
            sets = c;
        }
        if (f->id == DIPC_EVENT_IDS && inside >= 0)
            for (n = 0; n < f->count; n++)
                if (dipci_repeated(sets, f->data + 4 * (size_t)n)) return DIPC_E_DUPLICATE_EVENT_ID;
    }
    return status;
}

/* Writing. */
static void dipci_put(dipc_writer *w, const void *bytes, size_t n) {
    if (n != 0 && n <= w->room && w->len <= w->room - n) DIPC_MEMCPY(w->to + w->len, bytes, n);
    w->len += n;
}
static void dipci_put_number(dipc_writer *w, uint64_t number, unsigned width) {
    uint8_t bytes[8];
    unsigned i;
    for (i = 0; i < width; i++) {
        bytes[i] = (uint8_t)number;
        number >>= 8;
    }
    dipci_put(w, bytes, width);
}
static void dipci_write(dipc_writer *w, unsigned code, unsigned program, uint8_t *to, size_t room) {
    w->to = to;
    w->room = room;
    w->len = 0;
    w->status = DIPC_DONE;
    dipci_begin(&w->state, to, 0, program);
    dipci_put(w, dipci_magic, DIPCI_MAGIC);
    dipci_put_number(w, 0, 2);
    dipci_put_number(w, (code & 0xFF) << 8 | code >> 8, 4);
}
static void dipci_write_known(dipc_writer *w, unsigned code, unsigned what, unsigned as, uint8_t *to, size_t room) {
    const uint8_t *command = dipci_command(code);
    dipci_write(w, as, command == NULL ? 0u : command[what], to, room);
    if (command == NULL) w->status = DIPC_E_UNEXPECTED_COMMAND;
}
void dipc_write_request(dipc_writer *w, unsigned code, uint8_t *to, size_t room) { dipci_write_known(w, code, 2, code, to, room); }
void dipc_write_reply(dipc_writer *w, unsigned code, uint8_t *to, size_t room) { dipci_write_known(w, code, 3, 0xFF00, to, room); }
void dipc_write_error(dipc_writer *w, unsigned code, uint8_t *to, size_t room) {
    const uint8_t *command = dipci_command(code);
    dipci_write(w, 0xFFFF, command == NULL ? 8u : command[4], to, room);
}
void dipc_write_generic_ok(dipc_writer *w, uint8_t *to, size_t room) { dipci_write(w, 0xFF00, 0, to, room); }

int dipc_wants(const dipc_writer *w, dipc_field *f) {
    dipc_cursor state = w->state;
    unsigned argument, optional;
    if (w->status < 0) return w->status;
    f->offset = (uint32_t)w->len;
    return dipci_step(&state, f, &argument, &optional) == DIPCI_END ? DIPC_DONE : DIPC_FIELD;
}
/* Enters structs, then returns the kind of the current field if it is one of `kinds`. 0 after an error. */
static unsigned dipci_expect(dipc_writer *w, unsigned kinds, unsigned *argument) {
    dipc_field f;
    unsigned optional, kind;
    if (w->status < 0) return 0;
    while ((kind = dipci_step(&w->state, &f, argument, &optional)) == DIPC_STRUCT) dipci_enter(&w->state, *argument, 1);
    if (kinds >> kind & 1u) return kind;
    w->status = DIPC_E_ORDER;
    return 0;
}
int dipc_enter_struct(dipc_writer *w) {
    dipc_field f;
    unsigned argument, optional;
    if (w->status < 0) return w->status;
    if (dipci_step(&w->state, &f, &argument, &optional) != DIPC_STRUCT) return w->status = DIPC_E_ORDER;
    dipci_enter(&w->state, argument, 1);
    return w->status;
}
int dipc_put_number(dipc_writer *w, uint64_t number) {
    unsigned argument, width;
    unsigned kind = dipci_expect(w, 1u << DIPC_BYTE | 1u << DIPC_USHORT | 1u << DIPC_UINT | 1u << DIPC_ULONG | 1u << DIPC_BOOL | 1u << DIPC_HRESULT_CODE | 1u << DIPC_ARRAY | 1u << DIPCI_ONLY, &argument);
    if (kind == 0) return w->status;
    width = dipci_width[kind];
    if ((width < 8 && number >> 8 * width != 0) || (kind == DIPC_BOOL && number > 1)) return w->status = DIPC_E_RANGE;
    if (kind == DIPCI_ONLY && number >= argument) return w->status = DIPC_E_UNKNOWN_SESSION_TYPE;
    if (kind == DIPCI_ONLY) w->state.variant = (uint8_t)number;
    if (kind == DIPC_ARRAY) dipci_enter(&w->state, argument, (uint32_t)number);
    dipci_put_number(w, number, width);
    return w->status;
}
/* Begins a field with a count of at most 32 bits. */
static int dipci_put_count(dipc_writer *w, unsigned kind, size_t count) {
    unsigned argument;
    if (dipci_expect(w, 1u << kind, &argument) == 0) return w->status;
    if (count > 0xFFFFFFFFu) return w->status = DIPC_E_RANGE;
    dipci_put_number(w, count, 4);
    return w->status;
}
int dipc_put_units(dipc_writer *w, const uint8_t *utf16le, size_t units) {
    if (dipci_put_count(w, DIPC_STRING, utf16le == NULL ? 0 : units + 1) < 0 || utf16le == NULL) return w->status;
    dipci_put(w, utf16le, 2 * units);
    dipci_put_number(w, 0, 2);
    return w->status;
}
int dipc_put_utf8(dipc_writer *w, const char *utf8, size_t length) {
    const uint8_t *at = (const uint8_t *)utf8, *end;
    size_t count_at = w->len, units = 0;
    if (utf8 == NULL) return dipc_put_units(w, NULL, 0);
    end = at + length;
    if (dipci_put_count(w, DIPC_STRING, 0) < 0) return w->status;
    while (at < end) {
        uint32_t point = *at++;
        unsigned more = point < 0x80 ? 0 : point < 0xC2 ? 4 : point < 0xE0 ? 1 : point < 0xF0 ? 2 : point < 0xF5 ? 3 : 4, i;
        if (more == 4 || (size_t)(end - at) < more) return w->status = DIPC_E_UTF8;
        if (more > 0) point &= 0x3Fu >> more;
        for (i = 0; i < more; i++) {
            if ((*at & 0xC0) != 0x80) return w->status = DIPC_E_UTF8;
            point = point << 6 | (*at++ & 0x3Fu);
        }
        if ((more == 2 && (point < 0x800 || (point & 0xF800) == 0xD800)) || (more == 3 && (point < 0x10000 || point > 0x10FFFF))) return w->status = DIPC_E_UTF8;
        if (point > 0xFFFF) {
            point -= 0x10000;
            dipci_put_number(w, 0xD800 + (point >> 10), 2);
            point = 0xDC00 + (point & 0x3FF);
            units++;
        }
        dipci_put_number(w, point, 2);
        units++;
    }
    dipci_put_number(w, 0, 2);
    units++;
    length = w->len;
    w->len = count_at;
    dipci_put_number(w, units, 4);
    w->len = length;
    return w->status;
}
int dipc_put_text(dipc_writer *w, const char *utf8) {
    size_t length = 0;
    while (utf8 != NULL && utf8[length] != 0) length++;
    return dipc_put_utf8(w, utf8, length);
}
int dipc_put_bytes(dipc_writer *w, const void *bytes, size_t length) {
    unsigned argument, kind = dipci_expect(w, 1u << DIPC_GUID | 1u << DIPC_BYTES | 1u << DIPC_REST, &argument);
    if (kind == 0) return w->status;
    if ((kind == DIPC_GUID && length != 16) || length > 0xFFFFFFFFu) return w->status = DIPC_E_RANGE;
    if (kind == DIPC_BYTES) dipci_put_number(w, length, 4);
    dipci_put(w, bytes, length);
    return w->status;
}
int dipc_put_uints(dipc_writer *w, const uint32_t *numbers, size_t count) {
    size_t i;
    if (dipci_put_count(w, DIPC_UINTS, count) < 0) return w->status;
    for (i = 0; i < count; i++) dipci_put_number(w, numbers[i], 4);
    return w->status;
}
int dipc_write_end(dipc_writer *w, size_t *size) {
    dipc_field f;
    unsigned argument, optional, kind;
    *size = w->len;
    if (w->status < 0) return w->status;
    do kind = dipci_step(&w->state, &f, &argument, &optional);
    while (kind != DIPCI_END && optional);
    if (kind != DIPCI_END) return w->status = DIPC_E_ORDER;
    if (w->len > DIPCI_LARGEST) return w->status = DIPC_E_TOO_LARGE;
    if (w->len > w->room) return w->status = DIPC_E_ROOM;
    w->to[DIPCI_MAGIC] = (uint8_t)w->len;
    w->to[DIPCI_MAGIC + 1] = (uint8_t)(w->len >> 8);
    return DIPC_DONE;
}

/* The client's side. */
static void dipci_idle(dipc_client *client, int status) {
    client->action = DIPC_MALFORMED;
    client->continuation = DIPC_CLOSE;
    client->code = 0;
    client->at = client->size = client->hresult = 0;
    client->number = 0;
    client->status = status;
}
int dipc_client_start_unchecked(dipc_client *client, const uint8_t *request, size_t length) {
    dipc_cursor c;
    dipc_field f;
    int status = dipc_read_request(&c, request, length);
    while (status >= 0 && (status = dipc_next(&c, &f)) == DIPC_FIELD) {}
    dipci_idle(client, status);
    if (status < 0) return status;
    client->action = DIPC_SEND;
    client->code = (uint16_t)dipci_code(request);
    client->continuation = (uint8_t)(dipci_command(client->code)[5] >> (c.variant ? 4 : 0) & 0x0F);
    client->size = (uint32_t)length;
    return DIPC_DONE;
}
int dipc_client_start(dipc_client *client, const uint8_t *request, size_t length) {
    int status = dipc_check_limits(request, length, NULL);
    if (status >= 0) return dipc_client_start_unchecked(client, request, length);
    dipci_idle(client, status);
    return status;
}
static void dipci_receive(dipc_client *client) {
    client->action = DIPC_RECEIVE;
    client->at = 0;
    client->size = DIPCI_HEADER;
}
int dipc_client_send_failed(dipc_client *client) {
    if (client->action > DIPC_SEND_FD) return DIPC_E_ORDER;
    dipci_receive(client);
    return DIPC_DONE;
}
int dipc_client_ended(dipc_client *client) {
    if (client->action > DIPC_RECEIVE) return DIPC_E_ORDER;
    client->action = client->action == DIPC_RECEIVE && client->at > 0 ? DIPC_CUT : DIPC_NO_REPLY;
    return DIPC_DONE;
}
int dipc_client_enlarged(dipc_client *client) {
    if (client->action != DIPC_ENLARGE) return DIPC_E_ORDER;
    client->action = DIPC_RECEIVE;
    return DIPC_DONE;
}
int dipc_client_did(dipc_client *client, const uint8_t *buffer, size_t room, size_t n) {
    dipc_cursor c;
    dipc_field f;
    int status;
    if (client->action == DIPC_SEND_FD && n == 1) {
        dipci_receive(client);
        return DIPC_DONE;
    }
    if ((client->action != DIPC_SEND && client->action != DIPC_RECEIVE) || n == 0 || n > client->size - client->at) return DIPC_E_ORDER;
    client->at += (uint32_t)n;
    if (client->at < client->size) return DIPC_DONE;
    if (client->action == DIPC_SEND) {
        if (client->continuation == DIPC_USER_EVENTS) client->action = DIPC_SEND_FD;
        else dipci_receive(client);
        return DIPC_DONE;
    }
    status = dipc_size(buffer, client->size);
    if (status >= 0 && client->size == DIPCI_HEADER && status > DIPCI_HEADER) {
        client->size = (uint32_t)status;
        if (client->size > room) client->action = DIPC_ENLARGE;
        return DIPC_DONE;
    }
    if (status >= 0) status = dipc_read_reply(&c, client->code, buffer, client->size);
    while (status >= 0 && (status = dipc_next(&c, &f)) == DIPC_FIELD) {
        if (f.id == DIPC_HRESULT) client->hresult = (uint32_t)f.number;
        if (f.id == DIPC_SESSION_ID || f.id == DIPC_N_INCOMING_BYTES) client->number = f.number;
    }
    client->status = status;
    client->action = status < 0 ? DIPC_MALFORMED : (c.is_error | client->hresult >> 31) != 0 ? DIPC_REFUSED : DIPC_REPLIED;
    return DIPC_DONE;
}

/* What follows a reply. */
static int dipci_environment_count(dipc_environment *e, uint32_t unit, uint32_t *count) {
    size_t left = (size_t)(e->end - e->at);
    if (left < 4) return DIPC_E_UNEXPECTED_END;
    *count = dipci_u32(e->at);
    if (*count <= (left - 4) / unit) {
        e->at += 4;
        return DIPC_DONE;
    }
    if (left < DIPCI_HEADER + 4 || dipc_size(e->at, left) < DIPCI_HEADER + 4 || dipci_code(e->at) != 0xFFFF) return DIPC_E_COUNT_TOO_LARGE;
    e->hresult = dipci_u32(e->at + DIPCI_HEADER);
    return DIPC_E_INTERRUPTED;
}
int dipc_environment_start(dipc_environment *e, const uint8_t *block, size_t size) {
    e->at = block;
    e->end = block + size;
    e->left = e->hresult = 0;
    return dipci_environment_count(e, 4, &e->left);
}
int dipc_environment_next(dipc_environment *e, dipc_entry *entry) {
    uint32_t count, i;
    int status;
    if (e->left == 0) return e->at == e->end ? DIPC_DONE : DIPC_E_BYTES_AFTER_MESSAGE;
    status = dipci_environment_count(e, 2, &count);
    if (status < 0) return status;
    e->left--;
    entry->name.id = DIPC_NAME;
    entry->name.kind = DIPC_STRING;
    entry->name.depth = 0;
    entry->name.item = entry->name.offset = 0;
    entry->name.number = 0;
    entry->name.data = e->at;
    e->at += 2 * (size_t)count;
    entry->is_terminated = count > 0 && dipci_u16(e->at - 2) == 0;
    if (entry->is_terminated) count--;
    entry->value = entry->name;
    entry->value.id = DIPC_VALUE;
    entry->value.data = NULL;
    entry->value.count = 0;
    for (i = 1; i < count && dipci_u16(entry->name.data + 2 * (size_t)i) != 61; i++) {}
    entry->name.count = i < count ? i : count;
    if (i < count) {
        entry->value.data = entry->name.data + 2 * ((size_t)i + 1);
        entry->value.count = count - i - 1;
    }
    return DIPC_FIELD;
}
int dipc_stream_start(const uint8_t *bytes, size_t length) {
    static const uint8_t starts[] = {
        32, 32, 78, 101, 116, 116, 114, 97, 99, 101, 20, 0, 0, 0, 33, 70, 97, 115, 116, 83, 101, 114, 105, 97, 108, 105, 122, 97, 116, 105, 111, 110, 46, 49, 
        12, 20, 78, 101, 116, 116, 114, 97, 99, 101, 0, 0, 0, 0, 
        24, 24, 20, 0, 0, 0, 33, 70, 97, 115, 116, 83, 101, 114, 105, 97, 108, 105, 122, 97, 116, 105, 111, 110, 46, 49, 0};
    const uint8_t *start = starts;
    int nth, more = 0;
    for (nth = DIPC_NEED_MORE + 1; nth < DIPC_OPAQUE; nth++, start += 2 + start[0])
        if (dipci_begins(bytes, length, start + 2, start[0])) {
            if (length >= start[1]) return nth;
            more = 1;
        }
    return more ? DIPC_NEED_MORE : DIPC_OPAQUE;
}
int dipc_read_advertise(dipc_advertise *advertise, const uint8_t *bytes, size_t length) {
    if (!dipci_begins(bytes, length, dipci_advertise_magic, sizeof dipci_advertise_magic)) return DIPC_E_BAD_MAGIC;
    if (length < DIPC_ADVERTISE_SIZE) return DIPC_E_END_OF_INPUT;
    if (length > DIPC_ADVERTISE_SIZE) return DIPC_E_BYTES_AFTER_MESSAGE;
    bytes += sizeof dipci_advertise_magic;
    DIPC_MEMCPY(advertise->cookie, bytes, 16);
    advertise->process_id = dipci_number(bytes + 16, 8);
    advertise->future = (uint16_t)dipci_u16(bytes + 24);
    return DIPC_DONE;
}
void dipc_write_advertise(const dipc_advertise *advertise, uint8_t to[34]) {
    dipc_writer w;
    w.to = to;
    w.room = DIPC_ADVERTISE_SIZE;
    w.len = 0;
    dipci_put(&w, dipci_advertise_magic, sizeof dipci_advertise_magic);
    dipci_put(&w, advertise->cookie, 16);
    dipci_put_number(&w, advertise->process_id, 8);
    dipci_put_number(&w, advertise->future, 2);
}
#ifdef __cplusplus
}
#endif
#endif /* DOTNET_IPC_IMPLEMENTATION */
