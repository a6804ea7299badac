/* bcryptprimitives.dll for wine 8, which lacks it: Rust's standard library calls its ProcessPrng. */
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG); /* RtlGenRandom */
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE at, SIZE_T len)
{
    while (len > 0) {
        ULONG some = len > 0x10000 ? 0x10000 : (ULONG)len;
        if (!SystemFunction036(at, some))
            return FALSE;
        at += some;
        len -= some;
    }
    return TRUE;
}
