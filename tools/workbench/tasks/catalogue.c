/* What there is to choose from: operators with their options, backends, the stages of a chain. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/formats/encoding/encoder.h"
#include "stages/backend.h"
#include "stages/stage/stage.h"
#include "tools/common/cores.h"
#include "tools/common/scene/scene.h"
#include "tools/workbench/levels/labels.h"
#include "tools/workbench/tasks/tasks.h"

static void write_texts(crn_encoder *encoder, const char *key, const char *const *texts)
{
    uint32_t count = 0;
    while (texts && texts[count])
        count++;
    crn_encoder_text(encoder, key);
    if (!texts) {
        crn_encoder_null(encoder);
        return;
    }
    crn_encoder_array(encoder, count);
    for (uint32_t i = 0; i < count; i++)
        crn_encoder_text(encoder, texts[i]);
    crn_encoder_array_end(encoder);
}

static void write_limit(crn_encoder *encoder, const char *key, bool there, double value)
{
    crn_encoder_text(encoder, key);
    if (there)
        crn_encoder_real(encoder, value);
    else
        crn_encoder_null(encoder);
}

/* --- operators -------------------------------------------------------------------------------- */

/* A parameter of an operator or a stage, for a form. */
static void write_row(crn_encoder *encoder, const char *type, const crn_option *row)
{
    bool number = strcmp(type, "integer") == 0 || strcmp(type, "real") == 0;
    crn_encoder_map(encoder, 8);
    crn_encoder_pair_text(encoder, "name", row->name);
    crn_encoder_pair_text(encoder, "type", type);
    crn_encoder_pair_text(encoder, "help", row->help);
    write_limit(encoder, "min", number, row->min);
    write_limit(encoder, "max", number, row->max);
    crn_encoder_pair_text(encoder, "initial", row->initial ? row->initial : "");
    write_texts(encoder, "choices", row->choices);
    crn_encoder_pair_bool(encoder, "required", row->required);
    crn_encoder_map_end(encoder);
}

static const char *type_of(const crn_option *option)
{
    switch (option->kind) {
    case CRN_OPTION_SWITCH:
        return "bool";
    case CRN_OPTION_REAL:
        return "real";
    case CRN_OPTION_SIZE:
        return "size";
    case CRN_OPTION_TEXT:
    case CRN_OPTION_OTHER:
        return "text";
    default:
        return option->choices ? "choice" : "integer";
    }
}

static void write_operator(crn_encoder *encoder, const crn_operator *operator)
{
    uint32_t endings = 0, options = 0;
    while (operator->endings[endings])
        endings++;
    while (operator->options[options].name)
        options++;
    crn_encoder_map(encoder, 5);
    crn_encoder_pair_text(encoder, "name", operator->name);
    crn_encoder_pair_text(encoder, "about", operator->about);
    crn_encoder_pair_bool(encoder, "input", !operator->generates);
    crn_encoder_text(encoder, "outputs");
    crn_encoder_array(encoder, endings);
    for (uint32_t i = 0; i < endings; i++)
        crn_encoder_text(encoder, operator->endings[i] + 1);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "options");
    crn_encoder_array(encoder, options);
    for (uint32_t i = 0; i < options; i++)
        write_row(encoder, type_of(&operator->options[i]), &operator->options[i]);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}

/* --- backends and steps ----------------------------------------------------------------------- */

static void write_backends(crn_encoder *encoder)
{
    static const crn_backend backends[] = {CRN_BACKEND_SERIAL, CRN_BACKEND_OPENMP,
                                           CRN_BACKEND_CUDA};
    crn_encoder_text(encoder, "backends");
    crn_encoder_array(encoder, 3);
    for (int i = 0; i < 3; i++) {
        const char *why = NULL;
        const crn_ops *ops = crn_backend_ops(backends[i], &why);
        crn_encoder_map(encoder, 2);
        crn_encoder_pair_text(encoder, "name", crn_backend_names[backends[i]]);
        crn_encoder_pair_text(encoder, "why", ops ? "" : why ? why : "not in this build");
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
}

static void write_key(crn_encoder *encoder, const crn_param *param)
{
    static const char *const types[] = {"bool",  "integer", "real",  "choice", "text",
                                        "texts", "size",    "sizes", "numbers"};
    const crn_option row = {.name = param->key,
                            .help = param->help,
                            .min = param->min,
                            .max = param->max,
                            .choices = param->choices ? param->choices : param->names,
                            .initial = param->fallback,
                            .required = !param->fallback};
    write_row(encoder, types[param->type], &row);
}

static void write_steps(crn_encoder *encoder)
{
    static const char *const kinds[] = {"image", "contours", "feature"};
    uint32_t count = 0;
    while (crn_stages[count])
        count++;
    crn_encoder_text(encoder, "chain");
    crn_encoder_array(encoder, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t keys = 0;
        while (crn_stages[i]->params && crn_stages[i]->params[keys].key)
            keys++;
        crn_encoder_map(encoder, 4);
        crn_encoder_pair_text(encoder, "name", crn_stages[i]->name);
        crn_encoder_pair_text(encoder, "kind", kinds[crn_stages[i]->kind]);
        crn_encoder_pair_text(encoder, "help", crn_stages[i]->help);
        crn_encoder_text(encoder, "keys");
        crn_encoder_array(encoder, keys);
        for (uint32_t k = 0; k < keys; k++)
            write_key(encoder, &crn_stages[i]->params[k]);
        crn_encoder_array_end(encoder);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
}

static void write_all(crn_encoder *encoder)
{
    crn_encoder_map(encoder, 8);
    crn_encoder_pair_text(encoder, "version", CRN_VERSION);
    crn_encoder_pair_text(encoder, "label_names", CRN_LABEL_NAMES);
    crn_encoder_pair_unsigned(encoder, "cores", (uint64_t)crn_core_count());
    crn_encoder_text(encoder, "limits");
    crn_encoder_map(encoder, 2);
    crn_encoder_pair_unsigned(encoder, "upload_bytes", CRN_UPLOAD_BYTES_MAX);
    crn_encoder_pair_unsigned(encoder, "pixels", CRN_PIXELS_MAX);
    crn_encoder_map_end(encoder);
    write_backends(encoder);
    crn_encoder_text(encoder, "operators");
    crn_encoder_array(encoder, CRN_OPERATORS);
    for (int i = 0; i < CRN_OPERATORS; i++)
        write_operator(encoder, crn_operators[i]);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "classes");
    crn_encoder_array(encoder, CRN_SCENE_CLASSES);
    for (int i = 0; i < CRN_SCENE_CLASSES; i++)
        crn_encoder_text(encoder, crn_scene_class_names[i]);
    crn_encoder_array_end(encoder);
    write_steps(encoder);
    crn_encoder_map_end(encoder);
}

int crn_task_catalogue(const void *settings, crn_job_report *report)
{
    crn_encoder *encoder;
    const unsigned char *bytes;
    size_t size;
    crn_error error = {0};
    (void)settings;
    (void)report;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r == 0) {
        crn_encoder_begin(encoder);
        write_all(encoder);
        r = crn_encoder_end(encoder, &bytes, &size);
        if (r == 0)
            fwrite(bytes, 1, size, stdout);
        crn_encoder_free(&encoder);
    }
    if (r < 0)
        crn_error_set(&error, r, "no memory for the list of operators");
    return crn_task_end(r, &error);
}
