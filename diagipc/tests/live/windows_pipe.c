/* Opens pipes on the Windows side of wine for windows.py, because a Linux program cannot.
 *
 *   connect NAME SECONDS   opens the pipe, with retries for so long, and reports the kind of pipe
 *   listen NAME            makes a pipe, waits until a runtime has connected, and relays its advertise (34 bytes)
 *   run                    starts the command line in the first line of standard input, and reports its process id; the process
 *                          ends when standard input does, or by itself, and its exit code is reported
 *
 * connect and listen then send all of standard input, and relay to standard output what they receive, up to the end. Reports go to
 * standard error (run: standard output), a line each. Exit code 2: a call failed, whose name and error number are reported. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { ADVERTISE = 34, BUFFER = 16384 };

static DWORD fail(const char *call)
{
    fprintf(stderr, "failed %s %lu\n", call, GetLastError());
    fflush(stderr);
    ExitProcess(2);
}

static void write_all(HANDLE to, const char *bytes, DWORD size)
{
    for (DWORD written; size; bytes += written, size -= written)
        if (!WriteFile(to, bytes, size, &written, NULL))
            fail("WriteFile");
}

/* Copies so many bytes, or up to the end; returns how many. The end of a pipe is an error of the read. */
static DWORD copy(HANDLE from, HANDLE to, DWORD most)
{
    static char buffer[BUFFER];
    DWORD copied = 0, size;
    while (copied < most) {
        DWORD wanted = most - copied < sizeof buffer ? most - copied : sizeof buffer;
        if (!ReadFile(from, buffer, wanted, &size, NULL)) {
            DWORD error = GetLastError();
            if (error == ERROR_BROKEN_PIPE || error == ERROR_PIPE_NOT_CONNECTED || error == ERROR_HANDLE_EOF)
                break;
            fail("ReadFile");
        }
        if (!size)
            break;
        write_all(to, buffer, size);
        copied += size;
    }
    return copied;
}

/* Between two clients of a runtime there may for a moment be no free pipe. The runtime may not wait at a new pipe yet, and a runtime that
   is overtaken there serves nobody any more, so it gets a moment first. */
static HANDLE opened(const char *name, DWORD milliseconds)
{
    for (DWORD waited = 0;; waited += 20) {
        if (WaitNamedPipeA(name, 2))
            Sleep(150);
        HANDLE pipe = CreateFileA(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
        if (pipe != INVALID_HANDLE_VALUE)
            return pipe;
        if ((GetLastError() != ERROR_FILE_NOT_FOUND && GetLastError() != ERROR_PIPE_BUSY) || waited >= milliseconds)
            fail("CreateFile");
        Sleep(20);
    }
}

static void say_kind(HANDLE pipe)
{
    DWORD flags, out, in, instances, state;
    if (!GetNamedPipeInfo(pipe, &flags, &out, &in, &instances))
        fail("GetNamedPipeInfo");
    if (!GetNamedPipeHandleStateA(pipe, &state, NULL, NULL, NULL, NULL, 0))
        fail("GetNamedPipeHandleState");
    fprintf(stderr, "pipe %s, read by %s, out %lu, in %lu, instances %lu\n", flags & PIPE_TYPE_MESSAGE ? "message" : "byte",
            state & PIPE_READMODE_MESSAGE ? "message" : "byte", out, in, instances);
    fflush(stderr);
}

static HANDLE listened(const char *name, HANDLE to)
{
    HANDLE pipe = CreateNamedPipeA(name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, 1, BUFFER, BUFFER, 0,
                                   NULL);
    if (pipe == INVALID_HANDLE_VALUE)
        fail("CreateNamedPipe");
    fprintf(stderr, "listening\n");
    fflush(stderr);
    if (!ConnectNamedPipe(pipe, NULL) && GetLastError() != ERROR_PIPE_CONNECTED)
        fail("ConnectNamedPipe");
    if (copy(pipe, to, ADVERTISE) != ADVERTISE)
        fail("the advertise");
    return pipe;
}

static DWORD WINAPI end_with_input(LPVOID process)
{
    char byte;
    DWORD size;
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), &byte, 1, &size, NULL) && size)
        ;
    TerminateProcess(process, 99);
    return 0;
}

static void run(void)
{
    static char line[8192];
    static WCHAR command[8192];
    STARTUPINFOW startup = { .cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES };
    SECURITY_ATTRIBUTES inherited = { .nLength = sizeof inherited, .bInheritHandle = TRUE };
    PROCESS_INFORMATION started;
    HANDLE kept;
    DWORD code, size;
    for (size_t length = 0; length + 1 < sizeof line; length++)
        if (!ReadFile(GetStdHandle(STD_INPUT_HANDLE), line + length, 1, &size, NULL) || !size || line[length] == '\n') {
            line[length] = 0;
            break;
        }
    if (!MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, line, -1, command, sizeof command / sizeof *command))
        fail("MultiByteToWideChar");
    /* cmd.exe sets this in the environment of the programs that it starts (F-43). */
    if (!SetEnvironmentVariableW(L"=C:", L"C:\\windows"))
        fail("SetEnvironmentVariable");
    /* The other end of its standard input stays open, because a started server reads from there. */
    if (!CreatePipe(&startup.hStdInput, &kept, &inherited, 0) || !SetHandleInformation(kept, HANDLE_FLAG_INHERIT, 0))
        fail("CreatePipe");
    startup.hStdOutput = startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!SetHandleInformation(startup.hStdError, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT))
        fail("SetHandleInformation");
    if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &started))
        fail("CreateProcess");
    printf("pid %lu\n", started.dwProcessId);
    fflush(stdout);
    if (!CreateThread(NULL, 0, end_with_input, started.hProcess, 0, NULL))
        fail("CreateThread");
    WaitForSingleObject(started.hProcess, INFINITE);
    if (!GetExitCodeProcess(started.hProcess, &code))
        fail("GetExitCodeProcess");
    printf("exit %lu\n", code);
    fflush(stdout);
    ExitProcess(0); /* the thread may still be reading */
}

int main(int count, char **arguments)
{
    HANDLE in = GetStdHandle(STD_INPUT_HANDLE), out = GetStdHandle(STD_OUTPUT_HANDLE), pipe;
    if (count == 2 && !strcmp(arguments[1], "run")) {
        run();
    } else if (count == 4 && !strcmp(arguments[1], "connect")) {
        pipe = opened(arguments[2], (DWORD)(atof(arguments[3]) * 1000));
        say_kind(pipe);
    } else if (count == 3 && !strcmp(arguments[1], "listen")) {
        pipe = listened(arguments[2], out);
    } else {
        fprintf(stderr, "usage: connect NAME SECONDS | listen NAME | run\n");
        return 1;
    }
    copy(in, pipe, MAXDWORD);
    copy(pipe, out, MAXDWORD);
    return 0;
}
