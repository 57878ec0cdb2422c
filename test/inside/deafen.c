#define _GNU_SOURCE
#include <linux/filter.h>
#include <node_api.h>
#include <sys/socket.h>

/* deafen(fd: number): boolean. From now on the kernel drops every packet for this socket before TCP sees it, so that none is acknowledged. */
static napi_value deafen(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arg, result;
  int32_t fd;
  struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {.len = 1, .filter = &none};
  if (napi_get_cb_info(env, info, &count, &arg, NULL, NULL) != napi_ok || napi_get_value_int32(env, arg, &fd) != napi_ok) return NULL;
  int failed = setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  return napi_get_boolean(env, failed == 0, &result) == napi_ok ? result : NULL;
}

NAPI_MODULE_INIT() {
  napi_value function;
  if (napi_create_function(env, "deafen", NAPI_AUTO_LENGTH, deafen, NULL, &function) != napi_ok) return NULL;
  return napi_set_named_property(env, exports, "deafen", function) == napi_ok ? exports : NULL;
}
