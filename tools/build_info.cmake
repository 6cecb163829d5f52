# Writes OUTPUT, the source of sim/build_info.hpp, from VERSION and the git id of SOURCE. Run by
# every build; file(CONFIGURE) leaves the file alone when its text would be the same.
set(id unknown)
if(EXISTS ${SOURCE}/.git)  # not an archive unpacked inside somebody else's checkout
  # safe.directory: a build by another user (root in CI) may read the id too. The lock stays with
  # whoever is committing meanwhile.
  execute_process(
    COMMAND git --no-optional-locks -c safe.directory=${SOURCE} describe --always --dirty
    WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE failed)
  if(NOT failed AND described)
    set(id ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "sim/build_info.hpp"

std::string_view trainyard::version_string() { return "@VERSION@"; }
std::string_view trainyard::git_id() { return "@id@"; }
]])
