#define _GNU_SOURCE
#include "session-environment.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { most_variables = 512, most_length = 65536 };

char **given_environment;
static char *made[most_variables + 1];
static size_t count;

static size_t name_length(const char *pair) {
  size_t length = 0;
  while (isalnum((unsigned char)pair[length]) || pair[length] == '_') length++;
  return pair[length] == '=' && !isdigit((unsigned char)pair[0]) ? length : 0;
}

static char **place_of(const char *pair, size_t length) {
  for (size_t i = 0; i < count; i++) {
    if (strncmp(made[i], pair, length + 1) == 0) return &made[i];
  }
  return NULL;
}

static bool is_one_of(const char *pair, size_t length, const char *const *names) {
  for (; *names != NULL; names++) {
    if (strlen(*names) == length && strncmp(pair, *names, length) == 0) return true;
  }
  return false;
}

/* As sshd(8): a module may change all but the variables of the connection. An agent, a display or a terminal of the client's stays too. */
static bool is_accepted(const char *pair, size_t length, bool is_there) {
  static const char *const never[] = {"SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "PLATFORM_SESSION", NULL};
  static const char *const unless_there[] = {"SSH_AUTH_SOCK", "DISPLAY", "TERM", NULL};
  if (length == 0 || strlen(pair) > most_length || strncmp(pair, "SSH_AUTH_INFO", 13) == 0) return false;
  return !is_one_of(pair, length, never) && !(is_there && is_one_of(pair, length, unless_there));
}

char **session_environment(char **from_pam) {
  for (char **at = given_environment; *at != NULL && count < most_variables; at++) {
    if (strncmp(*at, order_prefix, sizeof order_prefix - 1) != 0) made[count++] = *at;
  }
  for (char **at = from_pam; at != NULL && *at != NULL; at++) {
    size_t length = name_length(*at);
    char **place = place_of(*at, length);
    if (!is_accepted(*at, length, place != NULL)) continue;
    if (place != NULL) *place = *at;
    else if (count < most_variables) made[count++] = *at;
  }
  return made;
}
