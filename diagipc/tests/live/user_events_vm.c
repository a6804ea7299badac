/* Asks a real kernel with user_events what it takes: registrations, unregistrations, records. Prints one line a question, with the
 * answer; exits with 1 if an answer is not the expected one. user_events.h is the kernel's own header.
 *
 * Arguments: the directory of tracefs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>
#include "user_events.h"

/* F-64, F-87, against the kernel's own structures. */
#define AT(type, field, at, len) \
    _Static_assert(offsetof(struct type, field) == at && sizeof(((struct type *)0)->field) == len, #type "." #field)
AT(user_reg, size, 0, 4);
AT(user_reg, enable_bit, 4, 1);
AT(user_reg, enable_size, 5, 1);
AT(user_reg, flags, 6, 2);
AT(user_reg, enable_addr, 8, 8);
AT(user_reg, name_args, 16, 8);
AT(user_reg, write_index, 24, 4);
AT(user_unreg, size, 0, 4);
AT(user_unreg, disable_bit, 4, 1);
AT(user_unreg, __reserved, 5, 1);
AT(user_unreg, __reserved2, 6, 2);
AT(user_unreg, disable_addr, 8, 8);
_Static_assert(sizeof(struct user_reg) == 28 && sizeof(struct user_unreg) == 16, "F-64, F-87");
_Static_assert(DIAG_IOCSREG == 0xC0082A00 && DIAG_IOCSUNREG == 0x40082A02, "F-64");

#define FIELDS "u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload"
enum { PAGE = 4096, NO_INDEX = 0x7FFFFFFF };

static int file, failures;
static const char *tracefs;
static uint32_t enabled;  /* the word whose bits the kernel sets */

static int opens(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/user_events_data", tracefs);
    int fd = open(path, O_RDWR);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void line(const char *question, int error, const char *more, int expected)
{
    printf("kernel: %s: %s%s", question, error ? strerrorname_np(error) : "taken", more);
    if (error != expected) {
        printf(": FAILED, expected %s", expected ? strerrorname_np(expected) : "that it is taken");
        failures++;
    }
    printf("\n");
    fflush(stdout);
}

/* The structure, and room behind it. */
union registration {
    struct user_reg reg;
    uint8_t bytes[2 * PAGE];
};

static union registration filled(uint32_t size, int bit, const char *name_args)
{
    union registration one = {.bytes = {0}};
    one.reg.size = size;
    one.reg.enable_bit = (uint8_t)bit;
    one.reg.enable_size = 4;
    one.reg.enable_addr = (uintptr_t)&enabled;
    one.reg.name_args = (uintptr_t)name_args;
    one.reg.write_index = NO_INDEX;
    return one;
}

static int asks(int fd, const char *question, union registration *one, int expected)
{
    char more[64] = "";
    int error = ioctl(fd, DIAG_IOCSREG, one) ? errno : 0;
    if (!error)
        snprintf(more, sizeof more, ", write index %u", one->reg.write_index);
    line(question, error, more, expected);
    return error ? -1 : (int)one->reg.write_index;
}

static void unregisters(const char *question, const void *structure, int expected)
{
    line(question, ioctl(file, DIAG_IOCSUNREG, structure) ? errno : 0, "", expected);
}

/* Without a word: for what was registered by the way. */
static void drop(int bit)
{
    struct user_unreg unreg = {.size = sizeof unreg, .disable_bit = (uint8_t)bit, .disable_addr = (uintptr_t)&enabled};
    ioctl(file, DIAG_IOCSUNREG, &unreg);
}

/* A registration, and its end. */
static int tries(const char *question, const char *name_args, int expected)
{
    union registration one = filled(sizeof(struct user_reg), 30, name_args);
    int index = asks(file, question, &one, expected);
    drop(30);
    return index;
}

static void same(const char *question, int condition)
{
    printf("kernel: %s: %s\n", question, condition ? "yes" : "FAILED, no");
    failures += !condition;
    fflush(stdout);
}

static void sizes(void)
{
    static const struct {
        uint32_t size;
        uint32_t not_zero;  /* offset of a byte that is 1 */
        int expected;
        const char *question;
    } cases[] = {
        {28, 0, 0, "user_reg of size 28"},
        {32, 0, 0, "user_reg of size 32, 4 zero bytes behind (P-18)"},
        {32, 28, E2BIG, "user_reg of size 32, the first byte behind not zero"},
        {32, 31, E2BIG, "user_reg of size 32, the last byte behind not zero"},
        {28, 28, 0, "user_reg of size 28, bytes behind it not zero"},
        {27, 0, EINVAL, "user_reg of size 27"},
        {24, 0, EINVAL, "user_reg of size 24"},
        {0, 0, EINVAL, "user_reg of size 0"},
        {PAGE, 0, 0, "user_reg of size 4096, zero bytes behind"},
        {PAGE + 1, 0, E2BIG, "user_reg of size 4097, zero bytes behind"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        union registration one = filled(cases[i].size, 31, "VmSize " FIELDS);
        if (cases[i].not_zero)
            one.bytes[cases[i].not_zero] = 1;
        asks(file, cases[i].question, &one, cases[i].expected);
        drop(31);
    }
}

static void fields(void)
{
    union registration one = filled(28, 32, "VmBit " FIELDS);
    asks(file, "enable_bit 32 of 4 bytes", &one, EINVAL);
    one = filled(28, 31, "VmBit " FIELDS);
    one.reg.enable_size = 2;
    asks(file, "enable_size 2", &one, EINVAL);
    one = filled(28, 31, "VmBit " FIELDS);
    one.reg.enable_addr += 2;
    asks(file, "enable_addr not aligned", &one, EINVAL);
    one = filled(28, 31, "VmBit " FIELDS);
    one.reg.enable_addr = 8;
    asks(file, "enable_addr where there is no memory", &one, ENOMEM);
    one = filled(28, 31, "VmBit " FIELDS);
    one.reg.flags = 4;
    asks(file, "flags 4, which is not known", &one, EINVAL);
    one = filled(28, 31, NULL);
    asks(file, "name_args 0", &one, EFAULT);
}

static void indexes(void)
{
    union registration one = filled(28, 31, "VmFirst " FIELDS), two = filled(28, 29, "VmFirst " FIELDS);
    union registration other = filled(28, 28, "VmOther " FIELDS), elsewhere = filled(28, 27, "VmOther " FIELDS);
    int first = asks(file, "a name", &one, 0);
    same("the same name on another bit: the same write index", asks(file, "the same name on another bit", &two, 0) == first);
    same("another name: another write index", asks(file, "another name", &other, 0) != first);
    two = filled(28, 31, "VmThird " FIELDS);
    asks(file, "another name on a bit that is in use", &two, EADDRINUSE);
    one = filled(28, 26, "VmFirst u8 version");
    asks(file, "a name that is there, with other fields", &one, EADDRINUSE);
    int fd = opens();
    same("another descriptor counts its write indexes from 0", asks(fd, "a known name on another descriptor", &elsewhere, 0) == 0);
    close(fd);
    for (int bit = 26; bit < 32; bit++)
        drop(bit);
}

static void names(void)
{
    char text[1024];
    tries("name and fields", "VmName " FIELDS, 0);
    tries("a space before the name", " VmSpace " FIELDS, EINVAL);
    tries("a space in the name", "Vm two " FIELDS, EINVAL);
    tries("two spaces behind the name", "VmTwo  " FIELDS, 0);
    tries("no name", " " FIELDS, 0);
    tries("a name without fields", "VmBare", 0);
    tries("a colon in the name", "Vm:colon " FIELDS, EINVAL);  /* flags are behind it */
    tries("a colon at its end", "Vm: " FIELDS, EINVAL);
    tries("a slash in the name", "Vm/slash " FIELDS, 0);
    tries("a tab in the name", "Vm\ttab " FIELDS, 0);
    tries("a name in UTF-8", "Vm\xc3\x9c\xe8\xa8\xba\xf0\x9f\x98\x80 " FIELDS, 0);
    tries("a name that is not UTF-8", "Vm\xff\xfe " FIELDS, 0);
    for (int len = 436; len <= 437; len++) {
        memset(text, 'n', (size_t)len);
        strcpy(text + len, " " FIELDS);
        char question[64];
        snprintf(question, sizeof question, "a name of %d bytes, %zu with fields and NUL (F-65)", len, strlen(text) + 1);
        tries(question, text, len == 436 ? 0 : EINVAL);
    }
}

static void unregistrations(void)
{
    struct {
        struct user_unreg unreg;
        uint32_t behind[2];
    } one = {.unreg = {.size = 16, .disable_bit = 31, .disable_addr = (uintptr_t)&enabled}};
    union registration reg = filled(28, 31, "VmGone " FIELDS);
    unregisters("user_unreg of what was never registered", &one, ENOENT);
    asks(file, "a name to unregister", &reg, 0);
    one.unreg.size = 15;
    unregisters("user_unreg of size 15", &one, EINVAL);
    one.unreg.size = 16;
    one.unreg.__reserved = 1;
    unregisters("user_unreg with a reserved byte", &one, EINVAL);
    one.unreg.__reserved = 0;
    one.unreg.__reserved2 = 1;
    unregisters("user_unreg with the other reserved field", &one, EINVAL);
    one.unreg.__reserved2 = 0;
    one.unreg.size = 24;
    one.behind[0] = 1;
    unregisters("user_unreg of size 24, not zero behind", &one, E2BIG);
    one.unreg.size = 16;
    unregisters("user_unreg of size 16 (F-87)", &one, 0);
    unregisters("the same again", &one, ENOENT);
    asks(file, "the name again", &reg, 0);
    one.unreg.size = 24;
    one.behind[0] = 0;
    unregisters("user_unreg of size 24, zero behind", &one, 0);
}

/* F-66. */
struct record {
    uint32_t write_index;
    uint8_t version;
    uint16_t event_id;
    uint32_t extension, payload;
    uint8_t data[70000];
} __attribute__((packed));

static void switches(const char *name, const char *value)
{
    char path[256];
    snprintf(path, sizeof path, "%s/events/user_events/%s/enable", tracefs, name);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, 1) != 1) {
        perror(path);
        exit(1);
    }
    close(fd);
}

/* How many records tracefs has room for, since the last question. */
static long traced(void)
{
    char path[256], text[4096];
    snprintf(path, sizeof path, "%s/trace", tracefs);
    long count = 0;
    FILE *trace = fopen(path, "r+");
    while (trace && fgets(text, sizeof text, trace))
        count += strstr(text, "VmRecord:") != NULL;
    if (trace)
        fclose(trace);
    int fd = open(path, O_WRONLY | O_TRUNC);  /* empties it */
    if (fd >= 0)
        close(fd);
    return count;
}

static void writes(const char *question, const struct record *one, size_t len, int expected, long records)
{
    /* In three parts, as the runtime does with writev. */
    size_t head = len < 4 ? len : 4, middle = len < 15 ? len - head : 11;
    struct iovec parts[] = {
        {(void *)one, head},
        {(char *)one + head, middle},
        {(char *)one + head + middle, len - head - middle},
    };
    ssize_t written = writev(file, parts, 3);
    int error = written < 0 ? errno : 0;
    char more[96] = "";
    long seen = traced();
    if (!error)
        snprintf(more, sizeof more, ", %zd of %zu bytes, %ld in the trace", written, len, seen);
    line(question, error, more, expected);
    if (seen != records || (!error && written != (ssize_t)len)) {
        printf("kernel: %s: FAILED, expected %ld in the trace\n", question, records);
        failures++;
    }
}

static struct record made(uint32_t index, uint32_t extension, uint32_t payload)
{
    struct record one = {index, 1, 80, extension << 16 | 4, payload << 16 | extension, {0}};
    return one;
}

static void records(void)
{
    enum { HEAD = 15 };
    union registration reg = filled(32, 31, "VmRecord " FIELDS);
    uint32_t index = (uint32_t)asks(file, "a name for records", &reg, 0);
    static struct record one;
    one = made(index, 0, 8);
    same("enabled before anybody listens: no bit set", !(enabled >> 31));
    writes("a record before that", &one, HEAD + 8, EBADF, 0);
    switches("VmRecord", "1");
    same("enabled through tracefs: bit 31 set and no other", enabled == 1u << 31);
    writes("a record (F-66)", &one, HEAD + 8, 0, 1);
    one = made(index, 17, 8);
    writes("a record with an extension", &one, HEAD + 25, 0, 1);
    one = made(index, 0, 0);
    writes("a record with neither", &one, HEAD, 0, 1);
    writes("a record cut by one byte", &one, HEAD - 1, EINVAL, 0);
    writes("a write index alone", &one, 4, EINVAL, 0);
    writes("half a write index", &one, 2, EFAULT, 0);
    one.write_index = index + 1;
    writes("a write index that was not given", &one, HEAD, ENOENT, 0);
    one.write_index = 0xFFFFFFFF;
    writes("a write index of 0xFFFFFFFF", &one, HEAD, EINVAL, 0);
    one = made(index, 0, 9);
    writes("a payload location that ends beyond the record", &one, HEAD + 8, EFAULT, 0);
    one = made(index, 0, 8);
    one.version = 2;
    writes("version 2", &one, HEAD + 8, 0, 1);
    one = made(index, 0, 8);
    writes("a byte behind the payload", &one, HEAD + 9, 0, 1);
    one = made(index, 0, 4000);
    writes("a payload of 4000 bytes", &one, HEAD + 4000, 0, 1);
    one = made(index, 0, 5000);
    writes("a payload of 5000 bytes: beyond one page of the trace", &one, HEAD + 5000, 0, 0);
    one = made(index, 0, 65535);
    writes("a payload of 65535 bytes", &one, HEAD + 65535, 0, 0);
    switches("VmRecord", "0");
    same("disabled through tracefs: no bit set", enabled == 0);
    one = made(index, 0, 8);
    writes("a record after that", &one, HEAD + 8, EBADF, 0);
    drop(31);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    tracefs = argv[1];
    file = opens();
    sizes();
    fields();
    indexes();
    names();
    unregistrations();
    records();
    return failures != 0;
}
