/* What the Mono diagnostics objects want from the runtime and from emscripten's libc, as little as will do. The rest is imported
   and answered by src/dotnet.rs. Compiled for wasm32-wasi; nothing here is taken from the runtime. */
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/types.h>
#include <sys/uio.h>

__attribute__((import_module("env"), import_name("host_log"))) void host_log(int level, const char *text);
__attribute__((import_module("env"), import_name("host_die"))) void host_die(const char *text);

__attribute__((import_module("env"), import_name("host_payload"))) void host_payload(const void *payload, int is);
void host_payload_is_imported(void) { host_payload(0, 0); }

int *__errno_location(void) { return &errno; }

/* thread-specific data of the one thread */
static const void *tls[64];
static int tls_n = 1;
int pthread_key_create(unsigned *key, void (*dtor)(void *)) { (void)dtor; *key = (unsigned)tls_n++; return 0; }
void *pthread_getspecific(unsigned key) { return (void *)tls[key & 63]; }
int pthread_setspecific(unsigned key, const void *v) { tls[key & 63] = v; return 0; }
int pthread_mutex_lock(void *m) { (void)m; return 0; }
int pthread_mutex_unlock(void *m) { (void)m; return 0; }

int fiprintf(FILE *f, const char *fmt, ...) { va_list a; va_start(a, fmt); (void)f; char b[512]; vsnprintf(b, sizeof b, fmt, a); va_end(a); host_log(8, b); return 0; }
char *realpath(const char *p, char *out) { if (!out) out = malloc(4096); strcpy(out, p); return out; }
__attribute__((import_module("env"), import_name("host_ioctl"))) int host_ioctl(int fd, int req, void *arg);
__attribute__((import_module("env"), import_name("host_writev"))) int host_writev(int fd, const void *iov, int n);
int ioctl(int fd, int req, ...) { va_list a; va_start(a, req); void *p = va_arg(a, void *); va_end(a); int r = host_ioctl(fd, req, p); if (r < 0) { errno = -r; return -1; } return r; }
ssize_t writev(int fd, const struct iovec *iov, int n) { int r = host_writev(fd, iov, n); if (r < 0) { errno = -r; return -1; } return r; }
int creat(const char *p, unsigned mode) { (void)p; (void)mode; errno = EACCES; return -1; }

/* logging: all levels, so that DS_LOG_* lines can be seen */
int mono_internal_current_level = 0xff;
unsigned mono_internal_current_mask = ~0u;
void mono_tracev_inner(int level, int mask, const char *fmt, va_list a) { (void)mask; char b[1024]; vsnprintf(b, sizeof b, fmt, a); host_log(level, b); }
void monoeg_log_printf(int level, const char *fmt, ...) { va_list a; va_start(a, fmt); char b[512]; vsnprintf(b, sizeof b, fmt, a); va_end(a); host_log(level, b); }

/* memory: nothing is handed out twice; every block ends in 256 bytes of host_fill, which is also what a new or a freed block holds.
   Whatever depends on host_fill was read outside a block, before it was written, or after it was freed. */
int host_fill = 0xAA, host_fill_free = 0xDD;
unsigned host_biggest, host_refused, host_limit = 1u << 30;
extern char __heap_base;
static uintptr_t top;
void *host_alloc(size_t align, size_t n) {
  if (n > host_biggest) host_biggest = n;
  if (n > host_limit) { host_refused++; errno = ENOMEM; return NULL; }
  if (!top) top = (uintptr_t)&__heap_base;
  uintptr_t p = (top + 16 + align - 1) & ~(uintptr_t)(align - 1);
  uintptr_t end = p + n + 256;
  uintptr_t have = (uintptr_t)__builtin_wasm_memory_size(0) << 16;
  if (end > have && (long)__builtin_wasm_memory_grow(0, (end - have + 0xFFFFF) >> 16) < 0) { host_refused++; errno = ENOMEM; return NULL; }
  *(size_t *)(p - 8) = n;
  memset((void *)p, host_fill, n > 8u << 20 ? 8u << 20 : n + 256);
  top = end;
  return (void *)p;
}
void *malloc(size_t n) { return host_alloc(16, n); }
void *calloc(size_t a, size_t b) { size_t n; if (__builtin_mul_overflow(a, b, &n)) return NULL; void *p = malloc(n); if (p) memset(p, 0, n); return p; }
void free(void *p) { if (p) memset(p, host_fill_free, *(size_t *)((char *)p - 8)); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (q && p) { size_t o = *(size_t *)((char *)p - 8); memcpy(q, p, o < n ? o : n); free(p); } return q; }
void *aligned_alloc(size_t a, size_t n) { return host_alloc(a < 16 ? 16 : a, n); }
int posix_memalign(void **o, size_t a, size_t n) { *o = aligned_alloc(a, n); return *o ? 0 : ENOMEM; }
void *mono_valloc(void *addr, size_t size, int flags, int type) { (void)addr; (void)flags; (void)type; void *p = NULL; size_t n = (size + 65535) & ~(size_t)65535; p = aligned_alloc(65536, n); if (p) memset(p, 0, n); return p; }
int mono_vfree(void *addr, size_t len, int type) { (void)len; (void)type; free(addr); return 0; }
int mono_valloc_granule(void) { return 65536; }
int mono_pagesize(void) { return 65536; }

/* process */
char *environment_block[4096];
__attribute__((import_module("env"), import_name("host_pid"))) int host_pid(void);
int mono_process_current_pid(void) { return host_pid(); }
int mono_cpu_count(void) { return 1; }
void *host_thread[256], *host_domain[256];
int mono_native_thread_id_get(void) { return 1; }
void *mono_thread_info_current(void) { return host_thread; }
void *mono_thread_current(void) { return host_thread; }
void *mono_get_root_domain(void) { return host_domain; }
static char cmd_line[70000] = "managed.dll one two";
char *host_cmd_line(void) { return cmd_line; }
char *mono_runtime_get_managed_cmd_line(void) { return cmd_line[0] ? strdup(cmd_line) : NULL; }
extern char **environ;
void host_environ_clear(void) { environ = environment_block; environment_block[0] = 0; }
void host_environ_add(char *s) { int n = 0; while (environment_block[n]) n++; environment_block[n] = s; environment_block[n + 1] = 0; }
char *minipal_getexepath(void) { return strdup("/managed/dotnet"); }
__attribute__((import_module("env"), import_name("host_random"))) void host_random(uint8_t *b, int n);
int SystemJS_RandomBytes(uint8_t *b, int n) { host_random(b, n); return 0; }
int64_t mono_100ns_ticks(void) { static int64_t t; return t += 10; }
