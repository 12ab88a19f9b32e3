/* A main for a fuzz target without libFuzzer: runs the files given, each once, and counts.
 * It finds nothing new; it shows that what was found stays mended.
 *
 * Files run in a child process, which a fault ends; the next child goes on behind that file. */
#define _GNU_SOURCE
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    fuzz_require(file != NULL);
    fuzz_require(fseek(file, 0, SEEK_END) == 0);
    const long size = ftell(file);
    fuzz_require(size >= 0);
    rewind(file);
    char *data = malloc((size_t)size + 1);
    fuzz_require(data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size);
    (void)fclose(file);
    char *exact = fuzz_copy(data, (size_t)size);
    free(data);
    LLVMFuzzerTestOneInput((const uint8_t *)exact, (size_t)size);
    free(exact);
}

/* Runs files from *at on; *at is shared with the parent and tells how far it came. */
static int run_files(char **paths, int count, volatile int *at) {
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        LLVMFuzzerInitialize(NULL, NULL);
        for (; *at < count; ++*at) {
            run_file(paths[*at]);
        }
        exit(0); /* with the leak check, unlike _exit */
    }
    fuzz_require(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

int main(int argc, char **argv) {
    const int count = argc - 1;
    int failed = 0;
    volatile int *at =
        mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fuzz_require(at != MAP_FAILED);
    *at = 0;
    while (*at < count && run_files(argv + 1, count, at) != 0) {
        const char *name = *at < count ? argv[1 + *at] : "all files: a leak";
        printf("not ok %s\n", name);
        ++failed;
        ++*at;
    }
    printf("%d passed, %d failed\n", count - failed, failed);
    return failed > 0 || count == 0;
}
