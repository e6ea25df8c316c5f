/* One sentence that says why: a pure function of a diagnosis. */
#ifndef CRN_TOOLS_WHY_OUTPUT_SENTENCE_H
#define CRN_TOOLS_WHY_OUTPUT_SENTENCE_H

#include "tools/why/cause/diagnosis.h"

#define CRN_SENTENCE_BYTES 1024

/* "late: view 3 arrived 212 ms after view 2 (CNN or camera)", without a full stop. */
void crn_sentence(const crn_diagnosis *diagnosis, char text[CRN_SENTENCE_BYTES]);

#endif
