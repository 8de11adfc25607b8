# Warnings and sanitizers for every target of the project.
add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(RING_SANITIZE)
  string(REPLACE ";" "," RING_SANITIZE_LIST "${RING_SANITIZE}")
  add_compile_options(-fsanitize=${RING_SANITIZE_LIST} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RING_SANITIZE_LIST})
  # Not a static library: nobody asks for its functions by name.
  add_library(RingSanitizerOptions OBJECT
    ${PROJECT_SOURCE_DIR}/cmake/SanitizerOptions.c)
  link_libraries("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:RingSanitizerOptions>>")
endif()

# ring_add_doc(NAME TD ARGS...): generates build/docs/generated/NAME.md as part
# of the target ring-docs.
add_custom_target(ring-docs)
function(ring_add_doc name td)
  set(output ${PROJECT_BINARY_DIR}/docs/generated/${name}.md)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs/generated
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN}
            -I ${PROJECT_SOURCE_DIR}/include -I ${MLIR_INCLUDE_DIRS}
            -I ${LLVM_INCLUDE_DIRS} ${CMAKE_CURRENT_SOURCE_DIR}/${td} -o ${output}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
    VERBATIM)
  add_custom_target(${name}DocGen DEPENDS ${output})
  add_dependencies(ring-docs ${name}DocGen)
endfunction()

# MLIR's headers take most of the time of a small file: they are compiled once,
# with the flags that all of the compiler shares.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A time stamp in the file would keep ccache from knowing it again.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
function(ring_add_precompiled_headers)
  add_library(RingPrecompiled OBJECT ${PROJECT_SOURCE_DIR}/cmake/Precompiled.cpp)
  target_precompile_headers(RingPrecompiled PRIVATE
    ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
endfunction()

# ring_add_library(NAME SOURCES... DEPENDS ... LINK ...): a static library of
# the compiler, linked against the shared MLIR.
function(ring_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK;MLIR" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} RingIRIncGen ${ARG_DEPENDS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  mlir_target_link_libraries(${name} PUBLIC ${ARG_MLIR} MLIRIR)
  target_link_libraries(${name} PUBLIC LLVM)
  target_precompile_headers(${name} REUSE_FROM RingPrecompiled)
endfunction()
