/* Tries to get out. {1: name of an attack, 2: a process that is not its own, 3: a secret file,
 * 4: a TCP port where somebody listens, 5: an abstract socket where somebody listens, 6: a folder}.
 * Answers {1: "open" when it got what it wanted or else "blocked", 2: what it saw}, unless the attack
 * is not to answer as it should. Nothing it does harms the host, even where it succeeds.
 */
#include "attack.h"

static const struct {
    const char *name;
    verdict (*attack)(target *);
} KNOWN[] = {
#define NAMED(name) {#name, name},
    ATTACKS(NAMED)
#undef NAMED
};

verdict judge(long result) {
    verdict made = {result >= 0, ""};
    if (result < 0)
        snprintf(made.seen, sizeof made.seen, "%s", strerror(errno));
    return made;
}

static const char *text_in(tare_bytes request, unsigned field) {
    tare_bytes found = tare_field_bytes(request, field);
    char *text = calloc(found.length + 1, 1);
    if (text && found.length)
        memcpy(text, found.bytes, found.length);
    return text;
}

static void serve(tare_host *host, tare_bytes request) {
    target at = {.host = host, .other = (pid_t)tare_number(request, 2, 1), .port = (uint16_t)tare_number(request, 4, 0)};
    at.file = text_in(request, 3);
    at.abstract = text_in(request, 5);
    at.folder = text_in(request, 6);
    const char *name = text_in(request, 1);
    verdict made = {0, "no such attack"};
    int known = 0;
    for (size_t index = 0; index < sizeof KNOWN / sizeof *KNOWN; index++) {
        if (strcmp(KNOWN[index].name, name) == 0) {
            made = KNOWN[index].attack(&at);
            known = 1;
        }
    }
    tare_message response = {0, 0, 0};
    tare_put_bytes(&response, 1, tare_text(!known ? "unknown" : made.open ? "open" : "blocked"));
    tare_put_bytes(&response, 2, tare_text(made.seen));
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}

TARE_UDF(serve)
