# Manual pages and completions of PROGRAMS, from what they print. Included by CMakeLists.txt.

find_program(CRN_LOWDOWN lowdown)
if(NOT Python3_FOUND OR NOT CRN_LOWDOWN)
    message(STATUS "manual pages and completions: left out (python3 or lowdown not found)")
    return()
elseif(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "manual pages and completions: left out (programs of another processor)")
    return()
endif()

set(manual ${CMAKE_BINARY_DIR}/manual)
set(scripts ${CMAKE_CURRENT_LIST_DIR})
list(TRANSFORM PROGRAMS REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE program_files)
add_custom_command(OUTPUT ${manual}/made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
    COMMAND ${Python3_EXECUTABLE} -B ${scripts}/manual.py --out ${manual}/man --documents ${CMAKE_SOURCE_DIR} ${program_files}
    COMMAND ${Python3_EXECUTABLE} -B ${scripts}/completion.py --out ${manual}/share ${program_files}
    COMMAND ${CMAKE_COMMAND} -E touch ${manual}/made
    DEPENDS ${PROGRAMS} ${scripts}/manual.py ${scripts}/completion.py ${scripts}/help_text.py
        ${CMAKE_SOURCE_DIR}/config/README.md ${CMAKE_SOURCE_DIR}/tools/sorter/README.md
    COMMENT "Making manual pages and completions" VERBATIM)
add_custom_target(manual ALL DEPENDS ${manual}/made)
install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
install(DIRECTORY ${manual}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
