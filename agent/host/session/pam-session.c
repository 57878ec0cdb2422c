#define _GNU_SOURCE
#include "pam-session.h"
#include "guardian.h"
#include "pam-library.h"
#include "pam-words.h"
#include "session-environment.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pam_handle_t *handle;
static bool has_credentials;

/* As sshd(8) does where there is no terminal; some modules do nothing without one. */
static const char no_terminal[] = "ssh";

void need_pam(void) {
  const char *missing = open_pam_library();
  if (missing != NULL) give_up("%s", missing);
}

/* PAM's answer: the messages of its modules and its own. */
static void refuse(const struct order *order, const char *did, int status) {
  give_up("PAM (service %s, %s) refuses %s: %s%s", order->service, did, order->user, words, pam.strerror(handle, status));
}

static void put_variables(void) {
  static const char set[] = order_prefix "SET_";
  for (char **at = given_environment; *at != NULL; at++) {
    if (strncmp(*at, set, sizeof set - 1) == 0) pam.putenv(handle, *at + sizeof set - 1);
  }
}

void ask_account(const struct order *order) {
  int status = pam.start(order->service, order->user, &conversation, &handle);
  if (status != PAM_SUCCESS) give_up("could not ask PAM (service %s)", order->service);
  if (order->rhost != NULL) pam.set_item(handle, PAM_RHOST, order->rhost);
  if (order->ruser != NULL) pam.set_item(handle, PAM_RUSER, order->ruser);
  pam.set_item(handle, PAM_TTY, order->terminal != NULL ? order->terminal : no_terminal);
  put_variables();
  status = pam.acct_mgmt(handle, 0);
  if (status != PAM_SUCCESS) refuse(order, "account", status);
}

void end_question(void) { pam.end(handle, PAM_SUCCESS); }

/* In the guardian. */
static void close_session(void) {
  int status = pam.close_session(handle, 0);
  if (has_credentials) pam.setcred(handle, PAM_DELETE_CRED);
  pam.end(handle, status);
}

void open_session(const struct order *order) {
  if (initgroups(order->user, order->gid) != 0) give_up("could not set the groups of %s: %s", order->user, strerror(errno));
  /* As in sshd(8): nobody was authenticated by PAM, so that a module may know of no credentials. */
  has_credentials = pam.setcred(handle, PAM_ESTABLISH_CRED) == PAM_SUCCESS;
  int status = pam.open_session(handle, 0);
  if (status != PAM_SUCCESS) {
    if (has_credentials) pam.setcred(handle, PAM_DELETE_CRED);
    refuse(order, "session", status);
  }
  if (!start_guardian(close_session)) {
    close_session();
    give_up("could not start the process that closes the PAM session");
  }
}

char **pam_variables(void) { return handle == NULL ? NULL : pam.getenvlist(handle); }

void show_words(const struct order *order) {
  if (!order->shows || access(".hushlogin", F_OK) == 0) return;
  for (size_t at = 0, length = strlen(words); at < length;) {
    ssize_t written = write(1, words + at, length - at);
    if (written < 0) return;
    at += (size_t)written;
  }
}
