/* Blocks that double in size, and jansson's allocator over them while a parse runs.
 * Outside of a parse jansson gets plain malloc, since its allocator is one for the whole process.
 */
#include "json_memory.h"

#include "limits.h"
#include "operation.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdlib.h>

#define FIRST_BLOCK_SIZE ((size_t)8 << 10)
#define LARGEST_BLOCK_SIZE ((size_t)1 << 20)

struct api_json_block {
    struct api_json_block *next;
    size_t size;
    max_align_t data[];
};

struct json_run {
    struct api_json_memory *memory;
    enum api_code code;
    jmp_buf out;
};

/* jansson hands no context to its allocator: this is the parse that this thread is at. */
static _Thread_local struct json_run *current_run;

_Noreturn static void leave(struct json_run *run, enum api_code code) {
    run->code = code;
    longjmp(run->out, 1);
}

static void add_block(struct json_run *run, size_t size) {
    struct api_json_memory *memory = run->memory;
    size_t block_size = memory->blocks == NULL ? FIRST_BLOCK_SIZE : 2 * memory->blocks->size;
    block_size = block_size < LARGEST_BLOCK_SIZE ? block_size : LARGEST_BLOCK_SIZE;
    block_size = block_size < size ? size : block_size;
    if (block_size > API_MAX_JSON_MEMORY - memory->total) {
        leave(run, API_PAYLOAD_TOO_LARGE);
    }
    struct api_json_block *block = malloc(sizeof *block + block_size);
    if (block == NULL) {
        leave(run, API_OVERLOADED);
    }
    block->next = memory->blocks;
    block->size = block_size;
    memory->blocks = block;
    memory->used = 0;
    memory->total += block_size;
}

static void *json_allocate(size_t size) {
    struct json_run *run = current_run;
    if (run == NULL) {
        return malloc(size);
    }
    if (size > API_MAX_JSON_MEMORY) {
        leave(run, API_PAYLOAD_TOO_LARGE);
    }
    struct api_json_memory *memory = run->memory;
    const size_t unit = sizeof(max_align_t);
    size = (size + unit - 1) / unit * unit;
    if (memory->blocks == NULL || size > memory->blocks->size - memory->used) {
        add_block(run, size);
    }
    char *place = (char *)memory->blocks->data + memory->used;
    memory->used += size;
    return place;
}

static void json_release(void *memory) {
    if (current_run == NULL) {
        free(memory);
    }
}

void api_init(void) {
    json_set_alloc_funcs(json_allocate, json_release);
}

static json_t *load(struct json_run *run, const char *text, size_t size, size_t flags,
                    json_error_t *error) {
    json_t *root = NULL;
    current_run = run;
    if (setjmp(run->out) == 0) { /* NOLINT(cert-err52-cpp): see the header */
        root = json_loadb(text, size, flags, error);
        current_run = NULL;
        return root;
    }
    current_run = NULL;
    return NULL;
}

struct json_t *api_json_load(struct api_json_memory *memory, const char *text, size_t size,
                             size_t flags, struct json_error_t *error, enum api_code *code) {
    struct json_run run = {.memory = memory, .code = API_OK};
    json_t *root = load(&run, text, size, flags, error);
    *code = run.code;
    return root;
}

void api_json_memory_finish(struct api_json_memory *memory) {
    while (memory->blocks != NULL) {
        struct api_json_block *block = memory->blocks;
        memory->blocks = block->next;
        free(block);
    }
    *memory = (struct api_json_memory){.blocks = NULL};
}
