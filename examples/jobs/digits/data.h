/* The handwritten digits: 8 x 8 pixels in 0..1, and what digit it is. */
#ifndef DIGITS_DATA_H
#define DIGITS_DATA_H

#include <stddef.h>

enum { PIXELS = 64, CLASSES = 10 };

struct sample {
    float pixels[PIXELS];
    int digit;
};

struct data {
    struct sample *samples; /* those for training first */
    size_t count, training;
};

/* Read the file. 0, or -1 after saying what is wrong, and in which line. */
int data_read(struct data *data, const char *path);

void data_free(struct data *data);

/* Put the samples for training into the order of an epoch: the same on every
 * rank, since it depends on the epoch alone. */
void data_shuffle(struct data *data, unsigned epoch);

#endif
