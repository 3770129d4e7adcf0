/* A setting as a spec has it, and as an option. */
#include "base/setting_words.h"

#include "unit.h"

TEST(writes_for_the_reader)
{
    static const struct {
        const char *text, *field, *option;
    } rows[] = {
        {"", "", ""},
        {"no setting", "no setting", "no setting"},
        {"state `" JR_SETTING("device", "cpu") "`, or not", "state `device: cpu`, or not",
         "state `-s device=cpu`, or not"},
        {JR_SETTING("a.b.c", "1"), "a: {b: {c: 1}}", "-s a.b.c=1"},
        {JR_SETTING("vars.lr", "1"), "vars: {lr: 1}", "-s +vars.lr=1"},
        {JR_SETTING("devices", "[0, 1]") JR_SETTING("mpi", "none"), "devices: [0, 1]mpi: none",
         "-s 'devices=[0, 1]'-s mpi=none"},
        {JR_SETTING("required", "\"0\""), "required: \"0\"", "-s 'required=\"0\"'"},
    };
    JR_EACH(row, rows)
        for (int option = 0; option < 2; option++) {
            struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
            jr_setting_words(&out, row->text, option == 1 ? "-s" : NULL);
            JR_ASSERT_TEXT(out.data == NULL ? "" : out.data,
                           option == 1 ? row->option : row->field);
        }
}
