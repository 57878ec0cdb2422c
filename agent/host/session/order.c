#define _GNU_SOURCE
#include "order.h"
#include "session-environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *taken(const char *name) {
  for (char **at = given_environment; *at != NULL; at++) {
    size_t length = strlen(name);
    if (strncmp(*at, order_prefix, sizeof order_prefix - 1) != 0) continue;
    const char *own = *at + sizeof order_prefix - 1;
    if (strncmp(own, name, length) == 0 && own[length] == '=') return own + length + 1;
  }
  return NULL;
}

static bool taken_id(const char *name, unsigned int *id) {
  const char *text = taken(name);
  char *end;
  if (text == NULL || *text < '0' || *text > '9') return false;
  unsigned long value = strtoul(text, &end, 10);
  *id = (unsigned int)value;
  return *end == '\0' && value < 0xffffffff;
}

bool take_order(struct order *order) {
  static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  static char *plain[] = {path, NULL};
  given_environment = environ;
  environ = plain;
  order->user = taken("USER");
  order->home = taken("HOME");
  order->becomes = taken("BECOME") != NULL;
  order->terminal = taken("TERMINAL");
  order->modes = taken("MODES");
  order->rhost = taken("RHOST");
  order->service = taken("SERVICE");
  order->ruser = taken("RUSER");
  order->shows = taken("SHOWS") != NULL;
  order->groups = taken("GROUPS");
  if (!taken_id("TASKS", &order->tasks)) order->tasks = 0;
  return taken_id("UID", &order->uid) && taken_id("GID", &order->gid) && order->user != NULL && order->home != NULL;
}

bool is_fed;

void drain(int flags) {
  char away[4096];
  while (is_fed && recv(answer_fd, away, sizeof away, flags) > 0) {}
}

void give_up(const char *format, ...) {
  char text[4096];
  va_list values;
  va_start(values, format);
  int length = vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (length >= (int)sizeof text) length = sizeof text - 1;
  drain(0);
  /* The agent may have gone: then only the exit status is left. */
  _exit(length > 0 && write(answer_fd, text, (size_t)length) < 0 ? 254 : 255);
}
