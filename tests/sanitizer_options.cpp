// Run-time options of the sanitizers, compiled into the tests so that they hold under ctest, during
// its test discovery, and when a test is run by hand. The *_OPTIONS variables still override them.
extern "C" {

const char* __asan_default_options() {
  return "halt_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1";
}

const char* __ubsan_default_options() { return "print_stacktrace=1:halt_on_error=1"; }
}
