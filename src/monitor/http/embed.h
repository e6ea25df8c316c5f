/* Files that become part of a program when it is built. */
#ifndef CRN_SRC_MONITOR_HTTP_EMBED_H
#define CRN_SRC_MONITOR_HTTP_EMBED_H

/* The bytes of a file, from crn_asset_NAME to crn_asset_NAME_end. CMakeLists.txt defines where the
 * files lie, and builds anew what embeds them when one changes. */
#define CRN_EMBED(name, path)                                                                      \
    __asm__(".pushsection .rodata\n"                                                               \
            ".globl crn_asset_" #name "\n"                                                         \
            "crn_asset_" #name ":\n"                                                               \
            ".incbin \"" path "\"\n"                                                               \
            ".globl crn_asset_" #name "_end\n"                                                     \
            "crn_asset_" #name "_end:\n"                                                           \
            ".popsection\n");                                                                      \
    extern const unsigned char crn_asset_##name[], crn_asset_##name##_end[];

#endif
