#include "session/send_left.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "judge/judgement.h"
#include "session/left_files.h"
#include "session/left_records.h"
#include "session/own_folder.h"
#include "session/session.h"

#include "base/banned.h"

/* What goes to the controller, and who sends it. */
struct sending {
    const struct jr_session *session;
    struct jr_left_sender sender;
    const struct jr_plan_rank *rank; /* that is sent now */
    enum jr_left_kind kind;          /* of it */
};

/* The keys of a record. The caller's. */
static json_t *describe_left(const struct sending *sending)
{
    json_t *head = json_object();
    jr_json_set_int(head, "rank", sending->rank->rank);
    jr_json_set_str(head, "what", jr_left_word(sending->kind));
    return head;
}

static int send_left_file(const struct sending *sending)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    uint64_t most = jr_left_most(sending->session->plan.policy, sending->kind);
    jr_left_path(&path, &sending->session->plan, sending->rank, sending->kind);
    if (most == 0 || path.len == 0 || path.failed)
        return 0;
    json_t *head = describe_left(sending);
    int failed = jr_left_send_file(&sending->sender, head, path.data, most);
    json_decref(head);
    return failed;
}

static int send_rank_files(struct sending *sending)
{
    for (unsigned i = JR_LEFT_RESULT; i <= JR_LEFT_STDERR; i++) {
        sending->kind = (enum jr_left_kind)i;
        if (send_left_file(sending) != 0)
            return -1;
    }
    return 0;
}

static int send_delivery(struct sending *sending, const struct jr_judgement *report, size_t i)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *delivery = jr_delivery_pack(report, i);
    sending->kind = JR_LEFT_DELIVERY;
    if (delivery == NULL)
        return 0;
    jr_json_print(&text, delivery, 0);
    json_decref(delivery);
    if (text.failed)
        return -1;
    json_t *head = describe_left(sending);
    int failed = jr_left_send_record(&sending->sender, head, text.data, text.len);
    json_decref(head);
    return failed;
}

/* What was before the ranks, and all of them. */
static int send_all_left(struct sending *sending, const struct jr_judgement *report)
{
    const struct jr_plan *plan = &sending->session->plan;
    for (size_t i = 0; i < report->count; i++) {
        sending->rank = &plan->ranks[plan->first + i];
        if (send_delivery(sending, report, i) != 0 || send_rank_files(sending) != 0)
            return -1;
    }
    for (unsigned i = JR_LEFT_SETUP; i <= JR_LEFT_HELPER; i++) {
        sending->rank = &plan->ranks[plan->first];
        sending->kind = (enum jr_left_kind)i;
        if (send_left_file(sending) != 0)
            return -1;
    }
    return 0;
}

int jr_left_send(struct jr_session *session, const struct jr_outcome *outcome, int fd,
                 struct jr_error *err)
{
    const struct jr_left left = {
        .run_fd = session->dir.fd, .before = session->before, .apart = true};
    struct jr_judgement report;
    JR_FREE char *piece = malloc(JR_LEFT_PIECE);
    if (piece == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (jr_judgement_make(&report, &session->plan, outcome, &left, err) != 0)
        return -1;
    jr_judgement_hide_files(&report, &session->plan, session->dir.fd);
    jr_own_folder_keep(session, &report, outcome);
    struct sending sending = {
        .session = session,
        .sender = {
            .fd = fd, .piece = piece, .run_fd = session->dir.fd, .folder = session->plan.own_dir}};
    int failed = send_all_left(&sending, &report);
    if (failed != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH,
                           "what its ranks have delivered could not be sent");
    jr_judgement_release(&report);
    return failed;
}
