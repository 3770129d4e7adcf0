/*
 * What jobrun and a sampler say to each other: lines of JSON.
 *
 *   {"ask": 7}                      which values shall cell 7 have?
 *   {"values": {"vars.lr": 0.1}}    these
 *   {"done": true}                  there shall be no other cell
 *   {"tell": 7, "values": {...}, "status": "succeeded", "result": {...}}
 *                                   what became of cell 7; no answer
 */
#ifndef JR_SAMPLER_LINES_H
#define JR_SAMPLER_LINES_H

#include <stddef.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/json.h"

/* Append the question for a cell. */
void jr_sampler_ask(struct jr_buf *out, uint32_t cell);

/* Append what became of a cell. `result` NULL: there is none. */
void jr_sampler_tell(struct jr_buf *out, uint32_t cell, const json_t *values, const char *status,
                     const json_t *result);

enum jr_sampler_answer {
    JR_SAMPLER_VALUES,
    JR_SAMPLER_DONE,
    JR_SAMPLER_WRONG /* see the error */
};

/* Read a line without its end. With VALUES, *ret_values is an object that is not empty; the
 * caller's. */
enum jr_sampler_answer jr_sampler_read(const char *line, size_t len, json_t **ret_values,
                                       struct jr_error *err);

#endif
