#define _GNU_SOURCE
#include <node_api.h>
#include <signal.h>
#include <string.h>

/*
 * host.node: what an agent does on its host and JavaScript cannot. Node-API alone; what a function may not do it throws.
 */

/*
 * resetSignals(): void. No signal blocked, none ignored, none caught: as init starts a process. Node blocks SIGUSR1 and ignores
 * SIGPIPE, and both would go on through execve(2).
 */
static napi_value reset_signals(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  sigset_t none;
  struct sigaction usual;
  memset(&usual, 0, sizeof usual);
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  return NULL;
}

static const struct {
  const char *name;
  napi_callback function;
} functions[] = {
    {"resetSignals", reset_signals},
};

NAPI_MODULE_INIT() {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL, &function) != napi_ok) return NULL;
    if (napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) return NULL;
  }
  return exports;
}
