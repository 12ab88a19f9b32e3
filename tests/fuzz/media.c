/* A Content-Type on the first line, Accept headers on the others: what is chosen was offered and is
 * wanted. */
#include "server/media.h"
#include "tests/fuzz/fuzz.h"

#include <strings.h>

static void check_type(const char *text) {
    enum api_media media;
    if (!media_type_parse(text, &media)) {
        return;
    }
    const char *name = text + strspn(text, " \t");
    const char *wanted = media == API_MEDIA_JSON ? API_TYPE_JSON : API_TYPE_OCTETS;
    fuzz_require(media == API_MEDIA_JSON || media == API_MEDIA_OCTETS);
    fuzz_require(strncasecmp(name, wanted, strlen(wanted)) == 0);
    name += strlen(wanted);
    name += strspn(name, " \t");
    fuzz_require(*name == '\0' || *name == ';');
}

static void check_choice(const struct media_preference *preference) {
    for (int offered = 0; offered < 2; ++offered) {
        for (int usual = 0; usual <= offered; ++usual) {
            enum api_media chosen = API_MEDIA_JSON;
            const int json = preference->of[API_MEDIA_JSON].quality;
            const int octets = offered ? preference->of[API_MEDIA_OCTETS].quality : 0;
            const bool is_chosen =
                media_accept_choose(preference, offered, (enum api_media)usual, &chosen);
            fuzz_require(is_chosen == (json > 0 || octets > 0));
            fuzz_require(!is_chosen || preference->of[chosen].quality > 0);
            fuzz_require(!is_chosen || offered || chosen == API_MEDIA_JSON);
            fuzz_require(!is_chosen ||
                         preference->of[chosen].quality >= (json > octets ? json : octets));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct media_preference preference = {{{0}}};
    const uint8_t *at = data;
    size_t line_size;
    const uint8_t *line = fuzz_piece(&at, data + size, '\n', &line_size);
    char *text = fuzz_text(line, line_size);
    check_type(text);
    free(text);
    while (at < data + size) {
        line = fuzz_piece(&at, data + size, '\n', &line_size);
        text = fuzz_text(line, line_size);
        media_accept_add(&preference, text);
        free(text);
        for (int media = 0; media < 2; ++media) {
            const int specificity = preference.of[media].specificity;
            const int quality = preference.of[media].quality;
            fuzz_require(specificity >= 0 && specificity <= 3);
            fuzz_require(quality >= 0 && quality <= 1000 && (specificity > 0 || quality == 0));
        }
        check_choice(&preference);
    }
    return 0;
}
