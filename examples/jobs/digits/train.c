/*
 * digits FILE [--epochs N]: one rank of a data-parallel training job.
 *
 * Reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and JOBRUN_RESULT_FILE, as
 * jobrun sets them; delivers {accuracy, loss, steps, weights_sha}.
 */
#include <errno.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "model.h"
#include "ring.h"

enum { BATCH = 48 };
static const float RATE = 0.3f; /* without --lr */

/* What the ranks add up in each step: the gradient, and the loss with it. */
struct shared {
    struct weights gradient;
    float loss;
};

struct result {
    double accuracy, loss;
    long steps;
    char weights_sha[BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE) + 1];
};

static int number(const char *text, long least, long *ret)
{
    char *end;
    if (text == NULL || *text == '\0')
        return -1;
    *ret = strtol(text, &end, 10);
    return *end == '\0' && *ret >= least && *ret < 1000000 ? 0 : -1;
}

/* One step: this rank's share of the batch, the sum over all ranks, and the
 * same move on each of them. */
static int step(struct weights *weights, const struct ring *ring,
                const struct sample *batch, size_t count, float rate,
                float *loss)
{
    struct shared sum = {0};
    int guess;
    for (size_t i = (size_t)ring->rank; i < count; i += (size_t)ring->size)
        sum.loss += model_loss(weights, &batch[i], &guess, &sum.gradient);
    if (ring_sum(ring, (float *)&sum, WEIGHTS + 1) != 0)
        return -1;
    model_step(weights, &sum.gradient, rate / (float)count);
    *loss += sum.loss;
    return 0;
}

/* What the command line says. */
struct options {
    long epochs;
    float rate;
};

static int train(struct weights *weights, const struct ring *ring,
                 struct data *data, const struct options *options,
                 struct result *result)
{
    for (long epoch = 1; epoch <= options->epochs; epoch++) {
        float loss = 0;
        data_shuffle(data, (unsigned)epoch);
        for (size_t at = 0; at < data->training; at += BATCH) {
            size_t left = data->training - at;
            if (step(weights, ring, data->samples + at,
                     left < BATCH ? left : BATCH, options->rate, &loss) != 0)
                return -1;
            result->steps++;
        }
        result->loss = (double)loss / (double)data->training;
        printf("epoch %ld loss %.3f\n", epoch, result->loss);
    }
    return 0;
}

/* Of the weights' bytes: the same on every rank. */
static void fingerprint(char *ret, const struct weights *weights)
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, sizeof *weights, (const uint8_t *)weights);
    sha256_digest(&context, sizeof digest, digest);
    base16_encode_update(ret, sizeof digest, digest);
    ret[BASE16_ENCODE_LENGTH(sizeof digest)] = '\0';
}

/* Each rank tests its share; the sum is everyone's accuracy. */
static int test(const struct weights *weights, const struct ring *ring,
                const struct data *data, struct result *result)
{
    float right = 0;
    size_t first = data->training + (size_t)ring->rank;
    for (size_t i = first; i < data->count; i += (size_t)ring->size) {
        int guess;
        (void)model_loss(weights, &data->samples[i], &guess, NULL);
        right += guess == data->samples[i].digit;
    }
    if (ring_sum(ring, &right, 1) != 0)
        return -1;
    result->accuracy = (double)right / (double)(data->count - data->training);
    fingerprint(result->weights_sha, weights);
    return 0;
}

static int deliver(const struct result *result, const char *path)
{
    FILE *file = path != NULL ? fopen(path, "we") : NULL;
    if (file == NULL) {
        fprintf(stderr, "digits: JOBRUN_RESULT_FILE: %s\n",
                path != NULL ? strerror(errno) : "not set");
        return -1;
    }
    fprintf(file,
            "{\"accuracy\": %.6f, \"loss\": %.6f, \"steps\": %ld, "
            "\"weights_sha\": \"%s\"}\n",
            result->accuracy, result->loss, result->steps, result->weights_sha);
    return fclose(file) == 0 ? 0 : -1;
}

static int run(struct ring *ring, struct data *data,
               const struct options *options)
{
    static struct weights weights;
    struct result result = {0};
    model_init(&weights);
    if (train(&weights, ring, data, options, &result) != 0 ||
        test(&weights, ring, data, &result) != 0)
        return -1;
    return deliver(&result, getenv("JOBRUN_RESULT_FILE"));
}

/* FILE [--epochs N] [--lr RATE] */
static int read_options(struct options *ret, int argc, char **argv)
{
    *ret = (struct options){.epochs = 12, .rate = RATE};
    if (argc < 2 || argc % 2 != 0)
        return -1;
    for (int i = 2; i < argc; i += 2) {
        char *end = argv[i + 1];
        if (strcmp(argv[i], "--epochs") == 0) {
            if (number(argv[i + 1], 1, &ret->epochs) != 0)
                return -1;
        } else if (strcmp(argv[i], "--lr") == 0) {
            ret->rate = strtof(argv[i + 1], &end);
            if (end == argv[i + 1] || *end != '\0' || !(ret->rate > 0))
                return -1;
        } else {
            return -1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    long rank, size;
    struct options options;
    struct ring ring;
    struct data data;
    if (read_options(&options, argc, argv) != 0) {
        fprintf(stderr, "usage: digits FILE [--epochs N] [--lr RATE]\n");
        return 2;
    }
    if (number(getenv("WORLD_SIZE"), 1, &size) != 0 ||
        number(getenv("RANK"), 0, &rank) != 0 || rank >= size ||
        getenv("MASTER_ADDR") == NULL || getenv("MASTER_PORT") == NULL) {
        fprintf(stderr, "digits: RANK, WORLD_SIZE, MASTER_ADDR and "
                        "MASTER_PORT must be set: run it by jobrun\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (data_read(&data, argv[1]) != 0)
        return 1;
    int status = ring_open(&ring, (int)rank, (int)size, getenv("MASTER_ADDR"),
                           getenv("MASTER_PORT"));
    if (status == 0)
        status = run(&ring, &data, &options);
    ring_close(&ring);
    data_free(&data);
    return status == 0 ? 0 : 1;
}
