/*
 * parse_yaml FILE...: the bare lower bound for reading specs. Pulls libyaml's events of each file,
 * and does nothing with them.
 */
#include <stdio.h>
#include <yaml.h>

static int parse(const char *path)
{
    yaml_parser_t parser;
    FILE *file = fopen(path, "rb");
    if (file == NULL || !yaml_parser_initialize(&parser)) {
        perror(path);
        return 1;
    }
    yaml_parser_set_input_file(&parser, file);
    int good = 1, done = 0;
    while (good && !done) {
        yaml_event_t event;
        good = yaml_parser_parse(&parser, &event);
        done = good && event.type == YAML_STREAM_END_EVENT;
        if (good)
            yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    (void)fclose(file);
    return !good;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= parse(argv[i]);
    return failed;
}
