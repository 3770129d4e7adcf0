#include "model.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

void model_init(struct weights *weights)
{
    float *values = (float *)weights;
    uint64_t state = 1;
    for (int i = 0; i < WEIGHTS; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        values[i] = ((float)(state >> 40) / (float)(1 << 24) - 0.5f) * 0.3f;
    }
}

static void forward(const struct weights *weights, const struct sample *sample,
                    float hidden[HIDDEN], float odds[CLASSES])
{
    float sum = 0, top = -INFINITY;
    for (int h = 0; h < HIDDEN; h++) {
        float value = weights->in_bias[h];
        for (int p = 0; p < PIXELS; p++)
            value += weights->in[h][p] * sample->pixels[p];
        hidden[h] = tanhf(value);
    }
    for (int c = 0; c < CLASSES; c++) {
        odds[c] = weights->out_bias[c];
        for (int h = 0; h < HIDDEN; h++)
            odds[c] += weights->out[c][h] * hidden[h];
        top = fmaxf(top, odds[c]);
    }
    for (int c = 0; c < CLASSES; c++)
        sum += odds[c] = expf(odds[c] - top);
    for (int c = 0; c < CLASSES; c++)
        odds[c] /= sum;
}

static void backward(const struct weights *weights, const struct sample *sample,
                     const float hidden[HIDDEN], const float delta[CLASSES],
                     struct weights *gradient)
{
    for (int h = 0; h < HIDDEN; h++) {
        float back = 0;
        for (int c = 0; c < CLASSES; c++) {
            gradient->out[c][h] += delta[c] * hidden[h];
            back += delta[c] * weights->out[c][h];
        }
        back *= 1 - hidden[h] * hidden[h];
        gradient->in_bias[h] += back;
        for (int p = 0; p < PIXELS; p++)
            gradient->in[h][p] += back * sample->pixels[p];
    }
    for (int c = 0; c < CLASSES; c++)
        gradient->out_bias[c] += delta[c];
}

float model_loss(const struct weights *weights, const struct sample *sample,
                 int *guess, struct weights *gradient)
{
    float hidden[HIDDEN], odds[CLASSES];
    forward(weights, sample, hidden, odds);
    *guess = 0;
    for (int c = 1; c < CLASSES; c++)
        if (odds[c] > odds[*guess])
            *guess = c;
    float loss = -logf(fmaxf(odds[sample->digit], 1e-9f));
    odds[sample->digit] -= 1;
    if (gradient != NULL)
        backward(weights, sample, hidden, odds, gradient);
    return loss;
}

void model_step(struct weights *weights, const struct weights *gradient,
                float rate)
{
    float *values = (float *)weights;
    const float *slopes = (const float *)gradient;
    for (int i = 0; i < WEIGHTS; i++)
        values[i] -= rate * slopes[i];
}
