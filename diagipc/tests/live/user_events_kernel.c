/* Replaces the kernel's part of user_events in a runtime that is started with this library in LD_PRELOAD. So the runtime's own calls
 * can be seen even without user_events_data. The descriptor is one end of a SOCK_SEQPACKET pair, so that each
 * writev of the runtime is one packet. Any other descriptor goes to the real kernel.
 *
 * Each call becomes a line of $USER_EVENTS_LOG: "register STRUCTURE COMMAND RESULT" or "unregister STRUCTURE - RESULT", the first
 * two in hexadecimal. A tracepoint whose name begins with "Off" is registered but never enabled. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* F-64. */
struct user_reg {
    uint32_t size;
    uint8_t enable_bit;
    uint8_t enable_size;
    uint16_t flags;
    uint64_t enable_addr;
    uint64_t name_args;
    uint32_t write_index;
} __attribute__((packed));

/* F-87. */
struct user_unreg {
    uint32_t size;
    uint8_t disable_bit;
    uint8_t reserved;
    uint16_t reserved2;
    uint64_t disable_addr;
} __attribute__((packed));

#define REGISTER _IOWR('*', 0, struct user_reg *)
#define UNREGISTER _IOW('*', 2, struct user_unreg *)

_Static_assert(sizeof(struct user_reg) == 28 && sizeof(struct user_unreg) == 16, "F-64, F-87");
#if defined(__x86_64__) || defined(__aarch64__)
_Static_assert(REGISTER == 0xC0082A00 && UNREGISTER == 0x40082A02, "F-64");
/* R-UEV-006, F-85: printed as unsigned int. */
#define HAS_TYPE(expression, type) __builtin_types_compatible_p(__typeof__(expression), type)
_Static_assert(HAS_TYPE(((struct msghdr *)0)->msg_controllen, size_t), "F-85");
_Static_assert(HAS_TYPE(((struct msghdr *)0)->msg_iovlen, size_t), "F-85");
_Static_assert(HAS_TYPE(((struct cmsghdr *)0)->cmsg_len, size_t) && sizeof(size_t) == 8, "F-85");
#else
#error "only 64-bit systems are looked at"
#endif

enum { LONGEST_COMMAND = 512, LONGEST_STRUCTURE = 64, MOST = 64 }; /* MAX_EVENT_DESC of the kernel, the NUL included */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint64_t addr;
    uint8_t bit;
} registered[MOST];
static uint32_t registrations;
static char commands[MOST][LONGEST_COMMAND];

static void put_line(const char *what, const void *structure, size_t len, const char *text, int result)
{
    char line[2 * LONGEST_COMMAND + 2048];
    size_t at = (size_t)snprintf(line, sizeof line, "%s ", what);
    for (size_t i = 0; i < len; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%02x", ((const uint8_t *)structure)[i]);
    at += (size_t)snprintf(line + at, sizeof line - at, " %s", *text ? "" : "-");
    for (size_t i = 0; i < LONGEST_COMMAND + 256 && text[i]; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%02x", (uint8_t)text[i]);
    at += (size_t)snprintf(line + at, sizeof line - at, " %d\n", result);
    const char *path = getenv("USER_EVENTS_LOG");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    /* The run is useless without its log, so end it. */
    if (fd < 0 || write(fd, line, at) != (ssize_t)at)
        abort();
    close(fd);
}

static int registers(struct user_reg *reg)
{
    /* Like copy_struct_from_user, accept a longer structure if the rest is zero. */
    if (reg->size < sizeof *reg || reg->size > LONGEST_STRUCTURE)
        return EINVAL;
    for (uint32_t i = sizeof *reg; i < reg->size; i++)
        if (((const uint8_t *)reg)[i])
            return E2BIG;
    if ((reg->enable_size != 4 && reg->enable_size != 8) || reg->enable_bit >= 8 * reg->enable_size ||
        reg->flags || reg->enable_addr % reg->enable_size)
        return EINVAL;
    const char *command = (const char *)(uintptr_t)reg->name_args;
    const char *name = command;
    const char *fields = strchr(name, ' ');
    /* P-34: there is no space before the name and no colon in it. */
    if (strnlen(command, LONGEST_COMMAND) == LONGEST_COMMAND || !fields || fields == name || strchr(name, ':'))
        return EINVAL;
    /* The kernel accepts any fields that it can parse. After a name with a space, the fields begin with an unknown type. */
    if (strncmp(fields + 1, "u8 version;", 11))
        return EINVAL;
    for (uint32_t i = 0; i < registrations; i++)
        if (registered[i].addr == reg->enable_addr && registered[i].bit == reg->enable_bit)
            return EADDRINUSE;
    if (registrations == MOST)
        return ENOSPC;
    registered[registrations].addr = reg->enable_addr;
    registered[registrations].bit = reg->enable_bit;
    strcpy(commands[registrations], name);
    /* A name that was registered before keeps its index. */
    uint32_t index = 0;
    while (strcmp(commands[index], name))
        index++;
    reg->write_index = index;
    registrations++;
    if (strncmp(name, "Off", 3))
        __atomic_fetch_or((uint32_t *)(uintptr_t)reg->enable_addr, 1u << reg->enable_bit, __ATOMIC_SEQ_CST);
    return 0;
}

static int unregisters(const struct user_unreg *unreg)
{
    if (unreg->size != sizeof *unreg || unreg->reserved || unreg->reserved2)
        return EINVAL;
    for (uint32_t i = 0; i < registrations; i++)
        if (registered[i].addr && registered[i].addr == unreg->disable_addr && registered[i].bit == unreg->disable_bit) {
            registered[i].addr = 0;
            __atomic_fetch_and((uint32_t *)(uintptr_t)unreg->disable_addr, ~(1u << unreg->disable_bit), __ATOMIC_SEQ_CST);
            return 0;
        }
    return ENOENT;
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int type = 0;
    socklen_t len = sizeof type;
    unsigned int number = (unsigned int)request;
    int ours = number == REGISTER || number == UNREGISTER;
    if (!ours || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_SEQPACKET) {
        static int (*real)(int, unsigned long, ...);
        if (!real)
            real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
        return real(fd, request, argument);
    }
    pthread_mutex_lock(&lock);
    int error;
    if (number == REGISTER) {
        uint8_t given[LONGEST_STRUCTURE] = {0};
        struct user_reg *reg = argument;
        size_t size = reg->size < sizeof given ? reg->size : sizeof given;
        memcpy(given, argument, size);
        error = registers(reg);
        put_line("register", given, size, (const char *)(uintptr_t)reg->name_args, error);
    } else {
        error = unregisters(argument);
        put_line("unregister", argument, sizeof(struct user_unreg), "", error);
    }
    pthread_mutex_unlock(&lock);
    if (error) {
        errno = error;
        return -1;
    }
    return 0;
}
