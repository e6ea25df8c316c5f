# The documents, in share/doc/cernita in the layout of the tree, so that their links hold there. What lies in .github is
# at the top, where its readers look; links to it are rewritten. Included by CMakeLists.txt.

set(folders config gpu src stages systemd tests tools)
list(TRANSFORM folders REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/\\1/*.md" OUTPUT_VARIABLE patterns)
foreach(picture png svg)
    list(TRANSFORM folders REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/\\1/*.${picture}" OUTPUT_VARIABLE pictures)
    list(APPEND patterns ${pictures})
endforeach()
file(GLOB_RECURSE documents RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
list(APPEND documents README.md .github/CHANGELOG.md .github/CONTRIBUTING.md)

# What documents link to beside each other: check_install names one that is missing.
list(APPEND documents src/formats/view/wire.h src/formats/view/reason.h src/monitor/http/responses/fruit_page.h
    src/formats/view/maps_format.h src/publish/status.h stages/cernita.h stages/cernita_surface.h
    stages/producer/cernita_producer.h
    stages/producer/cernita_producer_gpu.h stages/producer/cernita_producer_gpu.c
    stages/producer/cernita_producer.c stages/producer/cernita_producer.hpp stages/ops.h stages/stage/stage.h
    tools/bench/idc.c)

file(GLOB examples RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS tools/examples/[!R]*)
list(APPEND documents ${examples})

foreach(document ${documents})
    string(REPLACE ".github/" "" name ${document})
    get_filename_component(folder ${name} DIRECTORY)
    set(from ${CMAKE_SOURCE_DIR}/${document})
    if(document MATCHES "[.]md$")
        file(READ ${from} text)
        string(REPLACE ".github/" "" rewritten "${text}")
        if(document MATCHES "^[.]github/")
            string(REPLACE "](../" "](" rewritten "${rewritten}")
        endif()
        if(NOT rewritten STREQUAL text)
            set(from ${CMAKE_BINARY_DIR}/documents/${name})
            file(WRITE ${from} "${rewritten}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${document})
        endif()
    endif()
    install(FILES ${from} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT documents)
endforeach()
