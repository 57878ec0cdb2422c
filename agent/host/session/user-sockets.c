#define _GNU_SOURCE
#include "user-sockets.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of connections that are being made and listeners; bytes of a line; ms to wait where no file can be opened. */
enum { most_open = 1024, longest_line = 160, full_pause = 100, backlog = 128 };

struct entry {
  uint32_t id;
  bool listens;
};

/* The first place of `polled` is for the agent's lines; entry i is at place i + 1. */
static struct entry entries[most_open];
static struct pollfd polled[most_open + 1];
static size_t count;
static bool is_over;

static void answer(uint32_t id, const char *what, int value) {
  char line[64];
  int length = snprintf(line, sizeof line, "%u %s %d\n", id, what, value);
  for (int at = 0; at < length && !is_over;) {
    ssize_t written = write(1, line + at, (size_t)(length - at));
    if (written < 0 && errno != EINTR) is_over = true;
    if (written > 0) at += (int)written;
  }
}

static void keep(uint32_t id, int fd, bool listens) {
  entries[count] = (struct entry){id, listens};
  polled[count + 1] = (struct pollfd){.fd = fd, .events = listens ? POLLIN : POLLOUT};
  count++;
}

static void drop(size_t at) {
  count--;
  entries[at] = entries[count];
  polled[at + 1] = polled[count + 1];
}

/* To the agent; it is ours no more. */
static void hand_over(uint32_t id, int fd, const char *what) {
  struct iovec part = {.iov_base = &id, .iov_len = sizeof id};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof fd)];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  ssize_t sent;
  while ((sent = sendmsg(sockets_fd, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {}
  int error = errno;
  close(fd);
  answer(id, sent < 0 ? "failed" : what, sent < 0 ? error : 0);
}

/* A new socket, and the address in the kernel's form; less than 0 on failure, with errno set. */
static int open_socket(const char *text, int port, struct sockaddr_storage *address, socklen_t *length) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
  char service[8];
  snprintf(service, sizeof service, "%d", port);
  if (getaddrinfo(text, service, &hints, &found) != 0) return errno = EINVAL, -1;
  *length = found->ai_addrlen;
  memcpy(address, found->ai_addr, found->ai_addrlen);
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  freeaddrinfo(found);
  return fd;
}

static void set(int fd, int level, int name) {
  static const int yes = 1;
  if (setsockopt(fd, level, name, &yes, sizeof yes) != 0) errno = 0;
}

static void start_connection(uint32_t id, int port, const char *text) {
  struct sockaddr_storage address;
  socklen_t length;
  int fd = open_socket(text, port, &address, &length);
  if (fd < 0) return answer(id, "failed", errno);
  set(fd, IPPROTO_TCP, TCP_NODELAY);
  if (connect(fd, (struct sockaddr *)&address, length) == 0) return hand_over(id, fd, "connected");
  if (errno == EINPROGRESS && count < most_open) return keep(id, fd, false);
  int error = errno == EINPROGRESS ? EMFILE : errno;
  close(fd);
  answer(id, "failed", error);
}

static void start_listener(uint32_t id, int port, const char *text) {
  struct sockaddr_storage address;
  socklen_t length;
  int fd = count < most_open ? open_socket(text, port, &address, &length) : (errno = EMFILE, -1);
  if (fd < 0) return answer(id, "failed", errno);
  set(fd, SOL_SOCKET, SO_REUSEADDR);
  if (address.ss_family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY);
  bool listens = bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, backlog) == 0 &&
                 getsockname(fd, (struct sockaddr *)&address, &length) == 0;
  if (!listens) {
    int error = errno;
    close(fd);
    return answer(id, "failed", error);
  }
  keep(id, fd, true);
  in_port_t bound = address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port : ((struct sockaddr_in *)&address)->sin_port;
  answer(id, "listening", ntohs(bound));
}

static void forget(uint32_t id) {
  for (size_t i = 0; i < count; i++) {
    if (entries[i].id != id) continue;
    close(polled[i + 1].fd);
    return drop(i);
  }
}

static void perform(const char *line) {
  char what[16], text[96];
  uint32_t id;
  int port;
  int words = sscanf(line, "%15s %u %d %95s", what, &id, &port, text);
  if (words == 2 && strcmp(what, "forget") == 0) forget(id);
  else if (words == 4 && strcmp(what, "connect") == 0) start_connection(id, port, text);
  else if (words == 4 && strcmp(what, "listen") == 0) start_listener(id, port, text);
  else is_over = true;
}

/* Whole lines; what is left waits for its rest. */
static void read_lines(void) {
  static char held[longest_line * 32];
  static size_t length;
  ssize_t got = read(0, held + length, sizeof held - length - 1);
  if (got <= 0) {
    is_over = got == 0 || errno != EINTR;
    return;
  }
  length += (size_t)got;
  held[length] = '\0';
  char *line = held;
  for (char *end; !is_over && (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    perform(line);
  }
  length = strlen(line);
  memmove(held, line, length + 1);
  if (length >= longest_line) is_over = true;
}

static void accept_one(size_t at) {
  int fd = accept4(polled[at + 1].fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    set(fd, IPPROTO_TCP, TCP_NODELAY);
    hand_over(entries[at].id, fd, "arrived");
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
    poll(NULL, 0, full_pause);
  }
}

static void finish_connection(size_t at) {
  int fd = polled[at + 1].fd, error = 0;
  uint32_t id = entries[at].id;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  drop(at);
  if (error == 0) return hand_over(id, fd, "connected");
  close(fd);
  answer(id, "failed", error);
}

void serve_sockets(void) {
  polled[0] = (struct pollfd){.fd = 0, .events = POLLIN};
  while (!is_over) {
    if (poll(polled, count + 1, -1) < 0 && errno != EINTR) return;
    /* From the last one: a dropped entry is replaced by one that was checked already. */
    for (size_t i = count; i-- > 0;) {
      if (polled[i + 1].revents == 0) continue;
      polled[i + 1].revents = 0;
      if (entries[i].listens) accept_one(i);
      else finish_connection(i);
    }
    if (polled[0].revents != 0) read_lines();
  }
}
