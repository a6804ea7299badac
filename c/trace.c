/* trace SOCKET FILE [SECONDS]: traces a .NET process to FILE. Build with cc -std=c99 -o trace trace.c */
#define _POSIX_C_SOURCE 200809L
#define DOTNET_IPC_IMPLEMENTATION
#include "dotnet_ipc.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int give_up(const char *what, unsigned code) {
    fprintf(stderr, "trace: %s (0x%08X %s)\n", what, code, dipc_hresult_name(code));
    exit(1);
}
static int connected(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) give_up("cannot connect", 0);
    return fd;
}
/* Performs the actions of the client before `until`, which is DIPC_RECEIVE (the request is sent) or DIPC_REPLIED. */
static void ask(dipc_client *client, uint8_t *buffer, size_t room, int fd, int until) {
    while (client->action < until) {
        uint8_t *at = buffer + client->at;
        ssize_t n = client->action == DIPC_SEND ? send(fd, at, client->size - client->at, MSG_NOSIGNAL) : read(fd, at, client->size - client->at);
        if (n > 0) dipc_client_did(client, buffer, room, (size_t)n);
        else if (n < 0 && errno == EINTR) continue;
        else if (client->action == DIPC_SEND) dipc_client_send_failed(client);
        else dipc_client_ended(client);
    }
    if (client->action > DIPC_REPLIED) give_up(client->action == DIPC_REFUSED ? "refused" : "no reply", client->hresult);
}
int main(int argc, char **argv) {
    static uint8_t buffer[65536], stop_buffer[64];
    const dipc_provider providers[] = {{"Microsoft-Windows-DotNETRuntime", NULL, 0x1, DIPC_LOG_LEVEL_INFORMATIONAL},
                                       {"System.Runtime", "EventCounterIntervalSec=1", UINT64_MAX, DIPC_LOG_LEVEL_VERBOSE}};
    size_t size;
    int fd, stop_fd = -1, status = dipc_collect_tracing2(buffer, sizeof buffer, &size, 16, 1, providers, 2);
    FILE *file = argc > 2 ? fopen(argv[2], "wb") : NULL;
    time_t end = time(NULL) + (argc > 3 ? atoi(argv[3]) : 2);
    int has_begun = 0;
    dipc_client client, stop;
    if (file == NULL || status < 0 || dipc_client_start(&client, buffer, size) < 0) give_up("trace SOCKET FILE [SECONDS]", 0);
    ask(&client, buffer, sizeof buffer, fd = connected(argv[1]), DIPC_REPLIED);
    for (struct pollfd readable = {fd, POLLIN, 0};;) {
        if (poll(&readable, 1, 100) > 0) {
            ssize_t n = read(fd, buffer, sizeof buffer);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) break; /* the stream is complete */
            has_begun = 1;
            if (fwrite(buffer, 1, (size_t)n, file) != (size_t)n) give_up("cannot write", 0);
        }
        if (stop_fd < 0 && time(NULL) >= end) { /* the answer arrives after the rest of the stream */
            /* The process may still wait at its start, and a stop would kill it at its resume. */
            if (!has_begun) give_up("no byte of the stream has arrived", 0);
            status = dipc_stop_tracing(stop_buffer, sizeof stop_buffer, &size, client.number);
            if (status < 0 || dipc_client_start(&stop, stop_buffer, size) < 0) give_up("cannot stop", 0);
            stop_fd = connected(argv[1]);
            ask(&stop, stop_buffer, sizeof stop_buffer, stop_fd, DIPC_RECEIVE);
        }
    }
    if (stop_fd >= 0) ask(&stop, stop_buffer, sizeof stop_buffer, stop_fd, DIPC_REPLIED);
    return fclose(file) != 0;
}
