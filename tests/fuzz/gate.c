/* A request's head, a line each for "METHOD TARGET VERSION" and "NAME:VALUE", through gate, target
 * split and admission: what passes has one end that all readers agree on. */
#include "server/admit.h"
#include "tests/fuzz/fuzz.h"

#include <strings.h>

#define MAX_BODY_SIZE ((size_t)16 << 20)

struct head {
    char *method;
    char *target;
    char *version;
    struct gate_header headers[GATE_MAX_HEADERS];
    struct gate_request gate;
};

static void read_header(struct head *head, const uint8_t *line, size_t size) {
    const uint8_t *at = line;
    size_t name_size;
    (void)fuzz_piece(&at, line + size, ':', &name_size);
    if (head->gate.header_count == GATE_MAX_HEADERS) {
        head->gate.more_headers = true;
        return;
    }
    const size_t value_size = size - (size_t)(at - line);
    head->headers[head->gate.header_count++] = (struct gate_header){
        fuzz_text(line, name_size), name_size, fuzz_text(at, value_size), value_size};
}

static char *read_word(const uint8_t **at, const uint8_t *end, char mark) {
    size_t size;
    const uint8_t *word = fuzz_piece(at, end, mark, &size);
    const uint8_t *zero = size > 0 ? memchr(word, '\0', size) : NULL;
    return fuzz_text(word, zero != NULL ? (size_t)(zero - word) : size); /* as the library does */
}

static void head_init(struct head *head, const uint8_t *data, size_t size) {
    const uint8_t *at = data;
    const uint8_t *end = data + size;
    *head = (struct head){.gate = {.more_headers = false}};
    head->method = read_word(&at, end, ' ');
    head->target = read_word(&at, end, ' ');
    head->version = read_word(&at, end, '\n');
    head->gate.method = head->method;
    head->gate.target = head->target;
    head->gate.target_size = strlen(head->target);
    /* the library answers for all other versions itself */
    head->gate.version = strcmp(head->version, "HTTP/1.0") == 0 ? "HTTP/1.0" : "HTTP/1.1";
    head->gate.headers = head->headers;
    while (at < end) {
        size_t line_size;
        const uint8_t *line = fuzz_piece(&at, end, '\n', &line_size);
        read_header(head, line, line_size);
    }
}

static void head_finish(struct head *head) {
    for (size_t i = 0; i < head->gate.header_count; ++i) {
        free((char *)head->headers[i].name);
        free((char *)head->headers[i].value);
    }
    free(head->method);
    free(head->target);
    free(head->version);
}

static const struct gate_header *find(const struct head *head, const char *name, size_t *count) {
    const struct gate_header *found = NULL;
    *count = 0;
    for (size_t i = 0; i < head->gate.header_count; ++i) {
        if (strcasecmp(head->headers[i].name, name) == 0) {
            found = &head->headers[i];
            ++*count;
        }
    }
    return found;
}

static void check_framing(const struct head *head, const struct gate_verdict *verdict) {
    size_t lengths;
    size_t codings;
    const struct gate_header *length = find(head, "Content-Length", &lengths);
    const struct gate_header *coding = find(head, "Transfer-Encoding", &codings);
    fuzz_require(lengths + codings <= 1);
    if (length != NULL) {
        fuzz_require(verdict->body == GATE_BODY_SIZED);
        fuzz_require(length->value_size > 0 &&
                     strspn(length->value, "0123456789") == length->value_size);
        fuzz_require(strtoull(length->value, NULL, 10) == verdict->body_size);
    } else if (coding != NULL) {
        fuzz_require(verdict->body == GATE_BODY_CHUNKED && verdict->body_size == 0);
        fuzz_require(coding->value_size == 7 && strcasecmp(coding->value, "chunked") == 0);
        fuzz_require(strcmp(head->gate.version, "HTTP/1.1") == 0);
    } else {
        fuzz_require(verdict->body == GATE_BODY_NONE && verdict->body_size == 0);
    }
}

static void check_headers(const struct head *head) {
    size_t total = 0;
    size_t hosts;
    const struct gate_header *host = find(head, "Host", &hosts);
    for (size_t i = 0; i < head->gate.header_count; ++i) {
        const struct gate_header *header = &head->headers[i];
        total += header->name_size + header->value_size + 4;
        fuzz_require(header->name_size > 0 && strlen(header->name) == header->name_size);
        fuzz_require(strpbrk(header->name, " \t\r\n\"(),/:;<=>?@[\\]{}\x7f") == NULL);
        fuzz_require(strlen(header->value) == header->value_size);
        fuzz_require(strpbrk(header->value, "\r\n\x01\x1f\x7f") == NULL);
    }
    fuzz_require(total <= GATE_MAX_HEADER_SIZE && !head->gate.more_headers);
    fuzz_require(hosts == 1 || (hosts == 0 && strcmp(head->gate.version, "HTTP/1.0") == 0));
    fuzz_require(host == NULL ||
                 (host->value[0] != '\0' && strpbrk(host->value, "/@#?\\ \t\"<>") == NULL));
}

static int hex_digit(char c) {
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* The path is what stands between authority and '?', decoded but for the separator "%2F". */
static void check_path(const char *sent, const char *path, const char *query) {
    const char *mark = strchr(sent, '?');
    const char *end = mark != NULL ? mark : sent + strlen(sent);
    fuzz_require(strcmp(query, mark != NULL ? mark + 1 : "") == 0);
    if (strncasecmp(sent, "http://", 7) == 0) {
        const char *slash = memchr(sent + 7, '/', (size_t)(end - sent - 7));
        sent = slash != NULL ? slash : end;
    }
    if (sent == end) {
        fuzz_require(strcmp(path, "/") == 0);
        return;
    }
    fuzz_require(*path == '/' || strcmp(path, "*") == 0);
    while (sent < end) {
        int expected = (unsigned char)*sent;
        if (expected == '%') {
            fuzz_require(end - sent >= 3);
            const int code = hex_digit(sent[1]) * 16 + hex_digit(sent[2]);
            fuzz_require(code > 0);
            expected = code == '/' ? '%' : code;
            sent += code == '/' ? 0 : 2;
        }
        fuzz_require((unsigned char)*path++ == expected);
        ++sent;
    }
    fuzz_require(*path == '\0');
}

static void check_admission(const struct head *head, const struct gate_verdict *verdict,
                            const char *path) {
    struct admission admission;
    admit_request(&head->gate, verdict, path, MAX_BODY_SIZE, &admission);
    if (admission.code != API_OK) {
        fuzz_require(admission.detail[0] != '\0' && api_code_status(admission.code) >= 400);
        return;
    }
    fuzz_require(admission.match.route != NULL);
    fuzz_require(verdict->body_size <= admission.body_limit);
    fuzz_require(admission.body_limit == 0 || verdict->body != GATE_BODY_NONE);
    fuzz_require(admission.body_limit <= MAX_BODY_SIZE);
}

static void check_passed(const struct head *head, const struct gate_verdict *verdict) {
    char *path;
    char *query;
    fuzz_require(verdict->code == API_OK);
    check_framing(head, verdict);
    check_headers(head);
    fuzz_require(head->gate.target_size <= GATE_MAX_TARGET_SIZE);
    fuzz_require(strstr(head->target, "%00") == NULL && strpbrk(head->target, " #\t") == NULL);
    char *target = fuzz_text(head->target, strlen(head->target));
    gate_target_split(target, &path, &query);
    check_path(head->target, path, query);
    check_admission(head, verdict, path);
    free(target);
}

static void check_refused(const struct gate_verdict *verdict) {
    const unsigned status = verdict->code == API_OK ? 0 : api_code_status(verdict->code);
    fuzz_require(status == 400 || status == 414 || status == 431 || status == 501);
    fuzz_require(verdict->detail[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct head head;
    struct gate_verdict verdict;
    head_init(&head, data, size);
    gate_check(&head.gate, &verdict);
    if (verdict.action == GATE_PASS) {
        check_passed(&head, &verdict);
    } else {
        check_refused(&verdict);
    }
    head_finish(&head);
    return 0;
}
