#define _GNU_SOURCE
#include <errno.h>
#include <node_api.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * process.node: calls on a service's own process that JavaScript lacks. Datagrams of the Unix family, sent by this very process:
 * a service manager accepts them from the main process only (NotifyAccess=main), and a helper program is another one.
 */

enum { longest_text = 4096 };

/* These return 0 or errno, for which Node has no text. */
static napi_value result(napi_env env, int error) {
  napi_value value;
  return napi_create_int32(env, error, &value) == napi_ok ? value : NULL;
}

/* A path, or @ and a name of the abstract kind. Its length; 0 if it does not fit. */
static socklen_t address_of(const char *text, struct sockaddr_un *address) {
  size_t length = strlen(text);
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (length < 2 || length >= sizeof address->sun_path || (text[0] != '/' && text[0] != '@')) return 0;
  memcpy(address->sun_path, text, length);
  if (text[0] == '@') address->sun_path[0] = '\0';
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (text[0] == '/'));
}

/* On behalf of another process, for which the kernel requires CAP_SYS_ADMIN. */
static void sign_as(struct msghdr *message, void *control, size_t size, pid_t pid) {
  struct ucred who = {.pid = pid, .uid = getuid(), .gid = getgid()};
  memset(control, 0, size);
  message->msg_control = control;
  message->msg_controllen = size;
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof who);
  memcpy(CMSG_DATA(header), &who, sizeof who);
}

/* notify(address: string, text: string, pid: number): number. One datagram, as of sd_notify(3), without waiting; pid 0: as ourselves. */
static napi_value notify(napi_env env, napi_callback_info info) {
  size_t count = 3, length;
  napi_value args[3];
  char path[256], text[longest_text];
  int32_t pid;
  struct sockaddr_un address;
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(struct ucred))];
  } control;
  if (napi_get_cb_info(env, info, &count, args, NULL, NULL) != napi_ok || count != 3) return result(env, EINVAL);
  if (napi_get_value_string_utf8(env, args[0], path, sizeof path, NULL) != napi_ok) return result(env, EINVAL);
  if (napi_get_value_string_utf8(env, args[1], text, sizeof text, &length) != napi_ok) return result(env, EINVAL);
  if (napi_get_value_int32(env, args[2], &pid) != napi_ok) return result(env, EINVAL);
  struct iovec part = {.iov_base = text, .iov_len = length};
  struct msghdr message = {.msg_name = &address, .msg_namelen = address_of(path, &address), .msg_iov = &part, .msg_iovlen = 1};
  if (message.msg_namelen == 0) return result(env, EINVAL);
  if (pid != 0) sign_as(&message, &control, sizeof control, pid);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return result(env, errno);
  int error = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
  close(fd);
  return result(env, error);
}

/* forbidDumps(): number. Disables core dumps of this process, and inspection by other processes of this user. */
static napi_value forbid_dumps(napi_env env, napi_callback_info info) {
  (void)info;
  return result(env, prctl(PR_SET_DUMPABLE, 0) == 0 ? 0 : errno);
}

NAPI_MODULE_INIT() {
  static const struct {
    const char *name;
    napi_callback function;
  } functions[] = {{"notify", notify}, {"forbidDumps", forbid_dumps}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL, &function) != napi_ok) return NULL;
    if (napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) return NULL;
  }
  return exports;
}
