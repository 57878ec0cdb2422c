#define _GNU_SOURCE
#include "host-addon.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>

/*
 * host.node: system calls of the agent that JavaScript lacks. Node-API only; a function that fails throws.
 */

/* tryLock(fd: number, exclusive: boolean): boolean. flock(2) without waiting. Released with its last descriptor, so also at kill -9. */
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
    {"tryLock", try_lock},
    {"packetPair", packet_pair},
    {"peerState", peer_state},
    {"recordLogout", record_logout},
    {"socketPair", socket_pair},
    {"startProgram", start_program},
    {"takeDescriptor", take_descriptor},
    {"takeEnd", take_end},
};

NAPI_MODULE_INIT() {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL, &function) != napi_ok) return NULL;
    if (napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) return NULL;
  }
  return exports;
}
