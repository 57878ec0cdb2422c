#define _GNU_SOURCE
#include "host-addon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>

/*
 * host.node: what an agent does on its host and JavaScript cannot. Node-API alone; what a function may not do it throws.
 */

bool get_text(napi_env env, napi_value value, char *text, size_t size) {
  size_t length;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &length) == napi_ok && length < size) {
    return napi_get_value_string_utf8(env, value, text, size, &length) == napi_ok;
  }
  napi_throw_type_error(env, NULL, "a text that is none or too long");
  return false;
}

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

/* keepAtExec(fd: number): void. Node closes what it was given, but for the standard streams, at execve(2). */
static napi_value keep_at_exec(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arg;
  int32_t fd;
  if (napi_get_cb_info(env, info, &count, &arg, NULL, NULL) != napi_ok || count != 1) return NULL;
  if (napi_get_value_int32(env, arg, &fd) == napi_ok && fcntl(fd, F_SETFD, 0) != 0) napi_throw_error(env, NULL, strerror(errno));
  return NULL;
}

/* tryLock(fd: number, exclusive: boolean): boolean. flock(2) without waiting. Falls with its last descriptor, so also at kill -9. */
static napi_value try_lock(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value args[2], locked;
  int32_t fd;
  bool exclusive;
  if (napi_get_cb_info(env, info, &count, args, NULL, NULL) != napi_ok || count != 2) return NULL;
  if (napi_get_value_int32(env, args[0], &fd) != napi_ok || napi_get_value_bool(env, args[1], &exclusive) != napi_ok) return NULL;
  int result = flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB);
  if (result != 0 && errno != EWOULDBLOCK) {
    napi_throw_error(env, NULL, strerror(errno));
    return NULL;
  }
  return napi_get_boolean(env, result == 0, &locked) == napi_ok ? locked : NULL;
}

static const struct {
  const char *name;
  napi_callback function;
} functions[] = {
    {"resetSignals", reset_signals},
    {"keepAtExec", keep_at_exec},
    {"tryLock", try_lock},
    {"recordLogin", record_login},
    {"recordLogout", record_logout},
};

NAPI_MODULE_INIT() {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL, &function) != napi_ok) return NULL;
    if (napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) return NULL;
  }
  return exports;
}
