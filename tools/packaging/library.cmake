# libcernita as others see it: which symbols it exports, its archive, its installation (component "library").
# Included by CMakeLists.txt, whose targets and variables it uses.

# The list is what the library promises. Programs of this tree also use what CRN_API marks inside: it has a version of its
# own, which names the exact release, so that a program never starts with another release's.
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/packaging/cernita.symbols CRN_SYMBOLS)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/packaging/cernita.symbols)
list(JOIN CRN_SYMBOLS ";\n        " symbols)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/cernita.map @ONLY CONTENT
"CERNITA_@PROJECT_VERSION_MAJOR@.@PROJECT_VERSION_MINOR@ {
    global:
        @symbols@;
    local:
        *;
};
CERNITA_PRIVATE_@PROJECT_VERSION@ {
    global:
        crn_*;
};
")
target_link_options(cernita PRIVATE
    -Wl,--version-script=${CMAKE_BINARY_DIR}/cernita.map -Wl,--gc-sections -Wl,--no-undefined-version)
set_property(TARGET cernita APPEND PROPERTY LINK_DEPENDS ${CMAKE_BINARY_DIR}/cernita.map)

# check_abi reads the interface from the debug information of the files that define it, whatever the build leaves out.
set_source_files_properties(stages/context.c stages/library/context.c stages/library/operators.c stages/serial/haar.c
    stages/chain/chain.c stages/chain/open.c stages/producer/cernita_producer.c
    stages/producer/cernita_producer_gpu.c stages/surface/surface.c stages/surface/pose.c
    stages/surface/roll.c PROPERTIES
    COMPILE_OPTIONS -g)

# A folder with the public headers, for programs that are built together with the library.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
set(CRN_PUBLIC_HEADERS stages/cernita.h stages/cernita_surface.h stages/producer/cernita_producer.h
    stages/producer/cernita_producer_gpu.h stages/producer/cernita_producer.hpp)
foreach(header ${CRN_PUBLIC_HEADERS})
    get_filename_component(name ${header} NAME)
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${header} ${CMAKE_BINARY_DIR}/include/${name} SYMBOLIC)
endforeach()
target_include_directories(cernita INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# The archive has one member, in which all names but those of the list are local: an archive of many would give its
# inner names to the program that links it.
set(wanted "")
foreach(symbol ${CRN_SYMBOLS})
    list(APPEND wanted -u ${symbol})
endforeach()
set(CRN_ARCHIVE ${CMAKE_BINARY_DIR}/lib/libcernita.a)
add_custom_command(OUTPUT ${CRN_ARCHIVE}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o cernita.o ${wanted} $<TARGET_FILE:cernita_static>
    COMMAND ${CMAKE_OBJCOPY} --strip-debug --keep-global-symbols=${CMAKE_SOURCE_DIR}/tools/packaging/cernita.symbols
        cernita.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${CRN_ARCHIVE}
    COMMAND ${CMAKE_AR} rcs ${CRN_ARCHIVE} cernita.o
    DEPENDS cernita_static ${CMAKE_SOURCE_DIR}/tools/packaging/cernita.symbols VERBATIM)
add_custom_target(cernita_archive ALL DEPENDS ${CRN_ARCHIVE})

# What a program needs that links the archive.
set(CRN_PC_PRIVATE -ltiff -lpng -ljpeg -lyaml -lm -lpthread)
foreach(library ${OpenMP_C_LIB_NAMES})
    if(library STREQUAL "gomp")
        list(PREPEND CRN_PC_PRIVATE -lgomp)
    elseif(NOT library STREQUAL "pthread") # clang's lies where other compilers do not look
        get_filename_component(folder ${OpenMP_${library}_LIBRARY} DIRECTORY)
        list(PREPEND CRN_PC_PRIVATE -L${folder} -l${library})
    endif()
endforeach()
if(CMAKE_CUDA_COMPILER)
    list(PREPEND CRN_PC_PRIVATE -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lstdc++)
endif()
list(JOIN CRN_PC_PRIVATE " " CRN_PC_PRIVATE)

include(CMakePackageConfigHelpers)
set(CRN_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/cernita)
configure_package_config_file(tools/packaging/cernita-config.cmake.in cernita-config.cmake
    INSTALL_DESTINATION ${CRN_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(cernita-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH CRN_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" CRN_PC_TO_PREFIX "${CRN_PC_TO_PREFIX}")
configure_file(tools/packaging/cernita.pc.in cernita.pc @ONLY)

install(TARGETS cernita EXPORT cernita LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT library NAMELINK_COMPONENT library)
install(FILES ${CRN_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(FILES ${CRN_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/cernita-config.cmake ${CMAKE_BINARY_DIR}/cernita-config-version.cmake
    DESTINATION ${CRN_PACKAGE_DIR} COMPONENT library)
install(EXPORT cernita NAMESPACE cernita:: FILE cernita-targets.cmake DESTINATION ${CRN_PACKAGE_DIR}
    COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/cernita.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
