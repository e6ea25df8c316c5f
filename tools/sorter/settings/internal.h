/* Shared by the files of this folder. */
#ifndef CRN_TOOLS_SORTER_SETTINGS_INTERNAL_H
#define CRN_TOOLS_SORTER_SETTINGS_INTERNAL_H

#include "stages/config/reader.h"
#include "tools/sorter/settings/settings.h"

extern const crn_section crn_sorter_sections[];

/* An entry of `ejectors`, as the file has it. */
typedef struct crn_sorter_ejector {
    char outlet[CRN_TEXT_BYTES];
    int64_t lane, distance, coil, delay_ms, pulse_ms, confirm_ms, input;
} crn_sorter_ejector;

extern const crn_param crn_sorter_ejector_keys[];

/* Reads the section `ejectors`; crn_sorter_check_firing() looks up their outlets. */
void crn_sorter_read_ejectors(crn_reader *reader, const crn_section *section,
                              crn_source_position position, const crn_node *node);

/* Looks up the ejectors' outlets, and checks what ejectors need. */
void crn_sorter_check_firing(crn_reader *reader);

#endif
