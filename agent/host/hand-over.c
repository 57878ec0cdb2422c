#define _GNU_SOURCE
#include "host-addon.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors that another process of ours hands over (SCM_RIGHTS). The kernel counts a socket as its creator's, even after another process holds it. */

static napi_value pair_of(napi_env env, int64_t first, int64_t second) {
  napi_value result, one;
  const int64_t values[] = {first, second};
  if (napi_create_array_with_length(env, 2, &result) != napi_ok) return NULL;
  for (uint32_t i = 0; i < 2; i++) {
    if (napi_create_int64(env, values[i], &one) != napi_ok || napi_set_element(env, result, i, one) != napi_ok) return NULL;
  }
  return result;
}

/* packetPair(): [ours: number, the program's: number]. Two sockets that keep packets apart. */
napi_value packet_pair(napi_env env, napi_callback_info info) {
  (void)info;
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    napi_throw_error(env, NULL, strerror(errno));
    return NULL;
  }
  napi_value result = pair_of(env, fds[0], fds[1]);
  for (int i = 0; i < 2 && result == NULL; i++) close(fds[i]);
  return result;
}

/* The descriptor of a message, -1 if there is none. More than one never fits. */
static int descriptor_of(struct msghdr *message) {
  int fd = -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  bool is_one = header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof fd);
  if (is_one) memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

/* takeDescriptor(fd: number): [id: number, descriptor: number] | undefined. Does not wait. */
napi_value take_descriptor(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arg;
  int32_t from;
  uint32_t id = 0;
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {.iov_base = &id, .iov_len = sizeof id};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  if (napi_get_cb_info(env, info, &count, &arg, NULL, NULL) != napi_ok || count != 1) return NULL;
  if (napi_get_value_int32(env, arg, &from) != napi_ok) return NULL;
  ssize_t got = recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  int fd = got < 0 ? -1 : descriptor_of(&message);
  if (fd < 0) return NULL;
  if (got == sizeof id) return pair_of(env, id, fd);
  close(fd);
  return NULL;
}
