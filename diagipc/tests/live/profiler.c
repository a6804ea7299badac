/* A profiler that records how it was attached: it writes the requested class id (16 bytes as received) and the client data to
   $DIAG_PROFILER_FILE. The other functions of ICorProfilerCallback3 do nothing. See effects.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t HRESULT;
#define S_OK 0
#define E_NOINTERFACE ((HRESULT)0x80004002)
#define E_FAIL ((HRESULT)0x80004005)

/* A COM object is a pointer to its functions. */
typedef struct {
    void *const *functions;
} Object;

/* The first four bytes distinguish the interfaces that are requested here from all others. */
enum {
    IUNKNOWN = 0x00000000,
    ICLASSFACTORY = 0x00000001,
    ICORPROFILERCALLBACK = 0x176FBED1,
    ICORPROFILERCALLBACK2 = (int)0x8A8CC829,
    ICORPROFILERCALLBACK3 = 0x4FD2ED52
};

/* IUnknown has 3 functions, ICorProfilerCallback 69, the second version 8, the third 3. */
enum { INITIALIZE_FOR_ATTACH = 3 + 69 + 8, FUNCTIONS = 3 + 69 + 8 + 3 };

static uint8_t class_id[16];

static uint32_t count(Object *self)
{
    (void)self;
    return 1; /* nothing is ever freed */
}

static HRESULT nothing(void)
{
    return S_OK;
}

static HRESULT query_callback(Object *self, const int32_t *interface, Object **found)
{
    switch (*interface) {
    case IUNKNOWN:
    case ICORPROFILERCALLBACK:
    case ICORPROFILERCALLBACK2:
    case ICORPROFILERCALLBACK3:
        *found = self;
        return S_OK;
    default:
        *found = NULL;
        return E_NOINTERFACE;
    }
}

static HRESULT initialize_for_attach(Object *self, Object *information, const void *client_data, uint32_t size)
{
    const char *path = getenv("DIAG_PROFILER_FILE");
    char whole[4096];
    FILE *file;
    (void)self;
    (void)information;
    /* The file is written under another name first, so that whoever waits for it finds all of it. */
    if (!path || snprintf(whole, sizeof whole, "%s.part", path) >= (int)sizeof whole || !(file = fopen(whole, "wb")))
        return E_FAIL;
    fwrite(class_id, 1, sizeof class_id, file);
    if (size)
        fwrite(client_data, 1, size, file);
    return fclose(file) || rename(whole, path) ? E_FAIL : S_OK;
}

static void *callback_functions[FUNCTIONS] = {(void *)query_callback, (void *)count, (void *)count};
static Object callback = {callback_functions};

static HRESULT query_factory(Object *self, const int32_t *interface, Object **found)
{
    int is_known = *interface == IUNKNOWN || *interface == ICLASSFACTORY;
    *found = is_known ? self : NULL;
    return is_known ? S_OK : E_NOINTERFACE;
}

static HRESULT create_instance(Object *self, Object *outer, const int32_t *interface, Object **found)
{
    int number;
    (void)self;
    (void)outer;
    for (number = 3; number < FUNCTIONS; number++)
        callback_functions[number] = (void *)nothing;
    callback_functions[INITIALIZE_FOR_ATTACH] = (void *)initialize_for_attach;
    return query_callback(&callback, interface, found);
}

static void *const factory_functions[] = {(void *)query_factory, (void *)count, (void *)count, (void *)create_instance, (void *)nothing};
static Object factory = {factory_functions};

HRESULT DllGetClassObject(const uint8_t *wanted, const int32_t *interface, Object **found)
{
    memcpy(class_id, wanted, sizeof class_id);
    return query_factory(&factory, interface, found);
}
