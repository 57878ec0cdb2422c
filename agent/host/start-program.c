#define _GNU_SOURCE
#include "host-addon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Programs are started by posix_spawn(3), which copies nothing of this process. Node starts them by fork(2): that copies the tables of all
 * its memory, and every page that either writes afterwards, which takes an agent with hundreds of sessions longer than all the rest.
 */

/* Maximum descriptors of a program. */
enum { most_fds = 16 };

static napi_value give_up(napi_env env, int error) {
  napi_throw_error(env, NULL, strerror(error));
  return NULL;
}

/* An array of buffers without NUL as strings, as execve(2) takes it, in one piece of memory; NULL with an exception pending, or for anything else. */
static char **take_strings(napi_env env, napi_value array) {
  uint32_t count;
  size_t bytes = 0, length;
  napi_value one;
  void *from;
  if (napi_get_array_length(env, array, &count) != napi_ok) return NULL;
  for (uint32_t i = 0; i < count; i++) {
    if (napi_get_element(env, array, i, &one) != napi_ok || napi_get_buffer_info(env, one, &from, &length) != napi_ok) return NULL;
    bytes += length + 1;
  }
  char **strings = malloc((count + 1) * sizeof *strings + bytes);
  if (strings == NULL) {
    give_up(env, ENOMEM);
    return NULL;
  }
  char *at = (char *)(strings + count + 1);
  for (uint32_t i = 0; i < count; i++) {
    napi_get_element(env, array, i, &one);
    napi_get_buffer_info(env, one, &from, &length);
    memcpy(at, from, length);
    at[length] = '\0';
    strings[i] = at;
    at += length + 1;
  }
  strings[count] = NULL;
  return strings;
}

/* Copies out of the way of the numbers that they become. How many there are; less than 0 on failure, with errno set. */
static int set_aside(napi_env env, napi_value array, int *aside) {
  uint32_t count;
  napi_value one;
  int32_t fd;
  if (napi_get_array_length(env, array, &count) != napi_ok || count > most_fds) return errno = EINVAL, -1;
  for (uint32_t i = 0; i < count; i++) {
    bool is_number = napi_get_element(env, array, i, &one) == napi_ok && napi_get_value_int32(env, one, &fd) == napi_ok;
    aside[i] = is_number ? fcntl(fd, F_DUPFD_CLOEXEC, most_fds) : (errno = EINVAL, -1);
    if (aside[i] >= 0) continue;
    int error = errno;
    while (i > 0) close(aside[--i]);
    return errno = error, -1;
  }
  return (int)count;
}

/* 0, or an errno. Leads its own session, has no signal blocked, ignored or caught, and of our files only those that it is given. */
static int spawn(pid_t *pid, char *const *strings[3], const int *aside, int count) {
  posix_spawnattr_t how;
  posix_spawn_file_actions_t files;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = posix_spawnattr_init(&how);
  if (error != 0) return error;
  error = posix_spawn_file_actions_init(&files);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  for (int i = 0; i < count && error == 0; i++) error = posix_spawn_file_actions_adddup2(&files, aside[i], i);
  if (error == 0) error = posix_spawn(pid, strings[0][0], &files, &how, strings[1], strings[2]);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  return error;
}

/*
 * startProgram(path: [Buffer], argv: Buffer[], variables: Buffer[], fds: number[]): pid. Descriptor i of the program is fds[i].
 */
napi_value start_program(napi_env env, napi_callback_info info) {
  size_t count = 4;
  napi_value args[4], result = NULL;
  char **strings[3] = {NULL};
  int aside[most_fds], files = -1;
  pid_t pid;
  if (napi_get_cb_info(env, info, &count, args, NULL, NULL) != napi_ok || count != 4) return give_up(env, EINVAL);
  bool is_taken = true;
  for (int i = 0; i < 3 && is_taken; i++) is_taken = (strings[i] = take_strings(env, args[i])) != NULL;
  if (is_taken) files = set_aside(env, args[3], aside);
  int error = files < 0 ? (is_taken ? errno : EINVAL) : spawn(&pid, (char *const **)strings, aside, files);
  while (files > 0) close(aside[--files]);
  for (int i = 0; i < 3; i++) free(strings[i]);
  bool is_pending = false;
  napi_is_exception_pending(env, &is_pending);
  if (is_pending) return NULL;
  if (error != 0) return give_up(env, error);
  return napi_create_int32(env, pid, &result) == napi_ok ? result : NULL;
}

/* takeEnd(pid: number): number | undefined. The status of a program that has ended, as of waitpid(2), once; does not wait. */
napi_value take_end(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arg, result = NULL;
  int32_t pid;
  int status;
  if (napi_get_cb_info(env, info, &count, &arg, NULL, NULL) != napi_ok || count != 1) return give_up(env, EINVAL);
  if (napi_get_value_int32(env, arg, &pid) != napi_ok || pid <= 0) return give_up(env, EINVAL);
  pid_t ended = waitpid(pid, &status, WNOHANG);
  if (ended < 0) return give_up(env, errno);
  if (ended == 0) return NULL;
  return napi_create_int32(env, status, &result) == napi_ok ? result : NULL;
}

/* socketPair(): [ours: number, the program's: number]. As Node's pipes are. Ours does not block. */
napi_value socket_pair(napi_env env, napi_callback_info info) {
  (void)info;
  int fds[2];
  napi_value result, one;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return give_up(env, errno);
  if (fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0 || napi_create_array_with_length(env, 2, &result) != napi_ok) result = NULL;
  for (uint32_t i = 0; i < 2 && result != NULL; i++) {
    if (napi_create_int32(env, fds[i], &one) != napi_ok || napi_set_element(env, result, i, one) != napi_ok) result = NULL;
  }
  if (result != NULL) return result;
  close(fds[0]);
  close(fds[1]);
  return give_up(env, EIO);
}
