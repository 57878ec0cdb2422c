#define _GNU_SOURCE
#include "host-addon.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>

/* What the kernel knows about the other end of a TCP connection. */

/*
 * peerState(fd: number): [unanswered: number, silentMs: number] | undefined. Packets sent again, or probes, since the peer's last word, and the time
 * since that word; undefined: it is not TCP.
 */
napi_value peer_state(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arg, result, one;
  int32_t fd;
  struct tcp_info state = {0};
  socklen_t size = sizeof state;
  if (napi_get_cb_info(env, info, &count, &arg, NULL, NULL) != napi_ok || count != 1) return NULL;
  if (napi_get_value_int32(env, arg, &fd) != napi_ok) return NULL;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &size) != 0) return NULL;
  uint32_t unanswered = state.tcpi_retransmits > state.tcpi_probes ? state.tcpi_retransmits : state.tcpi_probes;
  uint32_t silent = state.tcpi_last_ack_recv < state.tcpi_last_data_recv ? state.tcpi_last_ack_recv : state.tcpi_last_data_recv;
  const uint32_t values[] = {unanswered, silent};
  if (napi_create_array_with_length(env, 2, &result) != napi_ok) return NULL;
  for (uint32_t i = 0; i < 2; i++) {
    if (napi_create_uint32(env, values[i], &one) != napi_ok || napi_set_element(env, result, i, one) != napi_ok) return NULL;
  }
  return result;
}
