/* A function that takes the place of another wherever the program calls it: CMakeLists.txt lists
 * its name for the linker's --wrap, and __real_name is the one that it replaces. */
#ifndef CRN_TESTS_SIMULATION_MACHINE_WRAP_H
#define CRN_TESTS_SIMULATION_MACHINE_WRAP_H

#define CRN_SIM_WRAP(type, name, ...)                                                              \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

#endif
