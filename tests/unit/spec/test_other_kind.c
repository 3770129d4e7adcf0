/* Which documents are files of other programs. */
#include "diag/diag.h"
#include "doc/doc.h"
#include "spec/foreign.h"

#include "unit.h"

static void check_kind(const char *text, const char *what)
{
    struct jr_doc doc RELEASE(jr_doc_release);
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    CU_ASSERT_EQUAL_FATAL(jr_doc_load(&doc, "f", text, strlen(text), &diags), 0);
    bool other = jr_other_kind_report(&diags, doc.root);
    CU_ASSERT_EQUAL(other, what != NULL);
    CU_ASSERT_EQUAL(diags.errors, what != NULL);
    if (diags.count == 1 && what != NULL) {
        CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].message, what));
        CU_ASSERT_PTR_NOT_NULL(diags.items[0].help);
    }
}

TEST(knows_them_by_their_keys)
{
    check_kind("services: {a: {}}", "Compose");
    check_kind("{kind: Job, apiVersion: v1}", "Kubernetes");
    check_kind("stages: [a]", "GitLab");
    check_kind("stages: {a: {}}", "DVC");
    check_kind("{run_id: x, ranks: []}", "what a run delivered");
    check_kind("{run_id: x, boot_id: y}", "the record of a run");
}

TEST(takes_nothing_else_for_one)
{
    EACH_PART(part,
              "[services]|services|{}|services: 3|stages: 3|kind: Job|servicesx: {a: {}}|"
              "service: {a: {}}|{services: {a: {}}, entrypoint: [x]}|"
              "{defaults: [a], extends: base.yaml}|{defaults: [a], template: true}|version: 1")
        check_kind(part, NULL);
}
