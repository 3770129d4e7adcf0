/*
 * Any bytes as what a rank tells of its steps: a pattern in the first line and the text of a stream
 * behind it; lines of a progress file; lines of a node; a progress.json. However the text is cut
 * into pieces, the same steps are found in it and the same is warned of, and what is understood is
 * understood of it written anew.
 */
#include "fuzz.h"

#include "base/regex.h"
#include "output/step_lines.h"
#include "store/step_tracker.h"

enum {
    RANKS = 2,
    STRETCH = '\016' /* once in a text it is as many blanks as nearly make a
                        line too long */
};

/* A job that tells its steps; all but its rank 0 are on other nodes. */
struct job {
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
    struct jr_progress *progress;
    struct jr_step_tracker tracker;
    int64_t steps[8192]; /* those that were told */
    size_t told;
};

static void note_step(void *owner)
{
    struct job *job = owner;
    if (job->told < sizeof job->steps / sizeof *job->steps)
        job->steps[job->told] = job->progress->ranks[0].step;
    job->told++;
}

static void begin(struct job *job)
{
    *job = (struct job){.progress = jr_progress_new(RANKS), .ranks = {{.rank = 0}, {.rank = 1}}};
    require(job->progress != NULL);
    static char ranks[] = "0-1";
    job->policy.progress.ranks = ranks;
    job->plan = (struct jr_plan){
        .policy = &job->policy, .ranks = job->ranks, .world_size = RANKS, .count = RANKS};
    require(jr_step_tracker_open(&job->tracker, &job->plan, job->progress, -1, 0600) == 0);
    job->tracker.told = note_step;
    job->tracker.owner = job;
}

static void end(struct job *job)
{
    jr_step_tracker_close(&job->tracker, 1);
    jr_progress_free(job->progress);
}

/* Read the text in pieces of so many bytes. Returns whether the pattern never took too long. */
static bool read_text(struct job *job, const char *pattern, const char *text, size_t len,
                      size_t piece)
{
    struct jr_step_lines lines;
    struct jr_step_text stream = {.i = 0};
    require(jr_step_lines_open(&lines, &job->tracker, pattern) == 0);
    for (size_t at = 0; at < len; at += piece)
        jr_step_lines_add(&lines, &stream, text + at, len - at < piece ? len - at : piece);
    jr_step_lines_end(&lines, &stream);
    bool good = lines.limited == 0;
    jr_step_lines_close(&lines);
    return good;
}

static bool is_pattern(const char *pattern)
{
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    size_t bad;
    bool good = jr_regex_new(&regex, pattern, &bad, &err) == 0;
    jr_regex_free(regex);
    return good;
}

static void compare_jobs(const struct job *whole, const struct job *cut)
{
    const struct jr_progress *one = whole->progress, *other = cut->progress;
    require(whole->told == cut->told);
    require(memcmp(whole->steps, cut->steps, sizeof whole->steps) == 0);
    require(one->warnings_count == other->warnings_count);
    for (uint32_t i = 0; i < one->warnings_count; i++) {
        const struct jr_step_warning *said = &one->warnings[i];
        const struct jr_step_warning *again = &other->warnings[i];
        require(said->problem == again->problem);
        require(said->count == again->count);
        require(strcmp(said->text, again->text) == 0);
    }
}

static void check_pieces(const char *pattern, const char *text, size_t len)
{
    static const size_t pieces[] = {100, 7, 1};
    static struct job whole, cut;
    size_t count = len > JR_STEP_LINE_MOST ? 1 : sizeof pieces / sizeof *pieces;
    for (size_t i = 0; i < count; i++) {
        begin(&whole);
        begin(&cut);
        bool good = read_text(&whole, pattern, text, len, len + 1);
        good = read_text(&cut, pattern, text, len, pieces[i]) && good;
        if (good)
            compare_jobs(&whole, &cut);
        end(&whole);
        end(&cut);
    }
}

static void check_text(const char *pattern, const char *text, size_t len)
{
    enum { BLANKS = JR_STEP_LINE_MOST - 16 };
    size_t made = 0;
    bool any = false;
    char *stretched = malloc(len + BLANKS);
    require(stretched != NULL);
    for (size_t i = 0; i < len; i++)
        if (text[i] == STRETCH && !any) {
            any = true;
            memset(stretched + made, ' ', BLANKS);
            made += BLANKS;
        } else {
            stretched[made++] = text[i];
        }
    check_pieces(pattern, stretched, made);
    free(stretched);
}

/* Apart from the time of day: two clocks are read for it, one after the other, and how long that
 * takes is not the same each time. */
static bool says_the_same(const struct jr_buf *one, const struct jr_buf *other)
{
    json_t *said = jr_json_parse(one->data, one->len, NULL);
    json_t *again = jr_json_parse(other->data, other->len, NULL);
    require(json_object_del(said, "time") == 0);
    require(json_object_del(again, "time") == 0);
    bool same = json_equal(said, again);
    json_decref(said);
    json_decref(again);
    return same;
}

/* What a line of a node says, and the next node would say the same. */
static void check_message(const char *line, size_t len)
{
    static struct job job, same;
    static const uint32_t ranks[] = {0, RANKS};
    begin(&job);
    begin(&same);
    if (jr_step_message_take(&job.tracker, line, len, ranks, 0)) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, again = JR_BUF_INIT;
        for (uint32_t i = 0; i < RANKS; i++)
            if (job.progress->ranks[i].any) {
                jr_step_message_put(&text, &job.tracker, i);
                require(text.len > 0 && text.data[text.len - 1] == '\n');
                require(jr_step_message_take(&same.tracker, text.data, text.len - 1, ranks, 0));
                jr_step_message_put(&again, &same.tracker, i);
                require(says_the_same(&text, &again));
                jr_buf_clear(&text);
                jr_buf_clear(&again);
            }
    }
    end(&job);
    end(&same);
}

static void check_lines(const char *text, size_t len)
{
    for (const char *at = text, *stop = text + len, *next; at < stop; at = next + 1) {
        next = memchr(at, '\n', (size_t)(stop - at));
        next = next == NULL ? stop : next;
        check_message(at, (size_t)(next - at));
    }
}

static void check_record(const char *text, size_t len)
{
    json_t *object = jr_json_parse(text, len, NULL);
    struct jr_progress *one = jr_progress_new(RANKS);
    struct jr_progress *other = jr_progress_new(RANKS);
    require(one != NULL && other != NULL);
    jr_progress_get(one, object);
    json_t *told = jr_progress_json(one);
    jr_progress_get(other, told);
    json_t *again = jr_progress_json(other);
    require(json_equal(told, again));
    json_decref(object);
    json_decref(told);
    json_decref(again);
    jr_progress_free(one);
    jr_progress_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    const char *stop = size == 0 ? NULL : memchr(bytes, '\n', size);
    if (stop != NULL) {
        char *pattern = strndup(bytes, (size_t)(stop - bytes));
        require(pattern != NULL);
        if (is_pattern(pattern))
            check_text(pattern, stop + 1, size - (size_t)(stop + 1 - bytes));
        free(pattern);
    }
    check_text(NULL, bytes, size);
    check_lines(bytes, size);
    check_record(bytes, size);
    return 0;
}
