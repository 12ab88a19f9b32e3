/* Carries openapi.json inside the program. The text is the contract; nothing here reads it. */
#include "operation.h"

__asm__(".section .rodata\n"
        ".global api_openapi_start\n"
        ".global api_openapi_end\n"
        "api_openapi_start:\n"
        ".incbin \"api/openapi.json\"\n"
        "api_openapi_end:\n"
        ".previous\n");

extern const char api_openapi_start[];
extern const char api_openapi_end[];

const char *api_openapi_text(size_t *size) {
    /* cppcheck-suppress comparePointers ; the two mark one piece of memory */
    *size = (size_t)(api_openapi_end - api_openapi_start);
    return api_openapi_start;
}
