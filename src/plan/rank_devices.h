/*
 * Which of a rank's variables say what devices it sees: they are jobrun's where it has chosen the
 * devices, and a spec that states one of them is told so.
 */
#ifndef JR_RANK_DEVICES_H
#define JR_RANK_DEVICES_H

#include <stdbool.h>

struct jr_env_entry;
struct jr_job;

/* In which order CUDA counts devices, and the order of everybody else. */
#define JR_DEVICE_ORDER     "CUDA_DEVICE_ORDER"
#define JR_DEVICE_ORDER_BUS "PCI_BUS_ID"

/* Whether variables give the ranks the devices that the plan has for them. */
bool jr_rank_devices_chosen(const struct jr_job *job);

/* The variables, NULL-terminated, that would choose once more within what the vendor's own leaves:
 * ranks must not have them. Static. */
const char *const *jr_rank_devices_filters(const struct jr_job *job);

/* Whether JR_DEVICE_ORDER must be stated, since devices are chosen by index. */
bool jr_rank_devices_ordered(const struct jr_job *job);

/* Whether a variable that a spec states gives ranks other devices than those that were chosen, or
 * counts them otherwise. */
bool jr_rank_devices_replaced(const struct jr_job *job, const struct jr_env_entry *entry);

#endif
