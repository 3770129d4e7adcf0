#include "data.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 100000, TEST_EVERY = 5 };

/* One line: 64 numbers of 0..16 and a digit, with commas between. */
static int read_sample(struct sample *sample, char *line)
{
    char *at = line;
    for (int i = 0; i <= PIXELS; i++) {
        char *end;
        long value = strtol(at, &end, 10);
        long most = i < PIXELS ? 16 : CLASSES - 1;
        char expected = i < PIXELS ? ',' : '\n';
        if (end == at || value < 0 || value > most ||
            (*end != expected && *end != '\0'))
            return -1;
        if (i < PIXELS)
            sample->pixels[i] = (float)value / 16.0f;
        else
            sample->digit = (int)value;
        at = end + 1;
    }
    return 0;
}

static int read_lines(struct data *data, FILE *file, const char *path)
{
    char line[512];
    while (fgets(line, sizeof line, file) != NULL) {
        if (data->count == MAX_SAMPLES ||
            read_sample(&data->samples[data->count], line) != 0) {
            fprintf(stderr, "digits: %s:%zu: not a sample\n", path,
                    data->count + 1);
            return -1;
        }
        data->count++;
    }
    if (data->count < TEST_EVERY) {
        fprintf(stderr, "digits: %s: too few samples\n", path);
        return -1;
    }
    return 0;
}

/* Every fifth sample to the end, where the test takes it. */
static int split(struct data *data)
{
    struct sample *split = malloc(data->count * sizeof *split);
    if (split == NULL)
        return -1;
    data->training = 0;
    for (int test = 0; test <= 1; test++)
        for (size_t i = 0, at = data->training; i < data->count; i++)
            if ((i % TEST_EVERY == TEST_EVERY - 1) == test) {
                split[at++] = data->samples[i];
                data->training += !test;
            }
    free(data->samples);
    data->samples = split;
    return 0;
}

int data_read(struct data *data, const char *path)
{
    *data = (struct data){0};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "digits: %s: %s\n", path, strerror(errno));
        return -1;
    }
    data->samples = malloc(MAX_SAMPLES * sizeof *data->samples);
    int status = data->samples != NULL ? read_lines(data, file, path) : -1;
    fclose(file);
    return status == 0 ? split(data) : -1;
}

void data_free(struct data *data)
{
    free(data->samples);
    *data = (struct data){0};
}

void data_shuffle(struct data *data, unsigned epoch)
{
    uint64_t state = epoch + UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = data->training; i > 1; i--) {
        state = state * UINT64_C(6364136223846793005) + 1;
        size_t j = (size_t)(state >> 33) % i;
        struct sample swap = data->samples[i - 1];
        data->samples[i - 1] = data->samples[j];
        data->samples[j] = swap;
    }
}
