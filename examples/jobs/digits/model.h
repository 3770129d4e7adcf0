/* A network of 64 pixels, 32 hidden units and 10 classes. */
#ifndef DIGITS_MODEL_H
#define DIGITS_MODEL_H

#include "data.h"

enum { HIDDEN = 32 };

/* Weights, or their gradient: one block of floats, so that it can be summed
 * and hashed as it stands. */
struct weights {
    float in[HIDDEN][PIXELS];
    float in_bias[HIDDEN];
    float out[CLASSES][HIDDEN];
    float out_bias[CLASSES];
};

enum { WEIGHTS = sizeof(struct weights) / sizeof(float) };

/* The same start on every rank. */
void model_init(struct weights *weights);

/* The loss (cross entropy) of one sample; *guess is the likeliest digit. With a
 * `gradient`, its gradient is added there. */
float model_loss(const struct weights *weights, const struct sample *sample,
                 int *guess, struct weights *gradient);

/* weights -= rate * gradient */
void model_step(struct weights *weights, const struct weights *gradient,
                float rate);

#endif
