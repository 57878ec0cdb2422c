#pragma once
#include <stdbool.h>
#include <stddef.h>

/*
 * Linux-PAM as its ABI is, without its headers: a host may have none of it. The library is opened when it is used.
 */

typedef struct pam_handle pam_handle_t;

struct pam_message {
  int style;
  const char *text;
};

struct pam_response {
  char *text;
  int unused;
};

struct pam_conv {
  int (*converse)(int count, const struct pam_message **messages, struct pam_response **responses, void *data);
  void *data;
};

enum { PAM_SUCCESS = 0, PAM_BUF_ERR = 5, PAM_NEW_AUTHTOK_REQD = 12, PAM_CONV_ERR = 19 };
enum { PAM_TTY = 3, PAM_RHOST = 4, PAM_RUSER = 8 };
enum { PAM_ESTABLISH_CRED = 2, PAM_DELETE_CRED = 4 };
enum { PAM_ERROR_MSG = 3, PAM_TEXT_INFO = 4 };

struct pam_library {
  int (*start)(const char *service, const char *user, const struct pam_conv *conversation, pam_handle_t **handle);
  int (*end)(pam_handle_t *handle, int status);
  int (*set_item)(pam_handle_t *handle, int item, const void *value);
  int (*acct_mgmt)(pam_handle_t *handle, int flags);
  int (*setcred)(pam_handle_t *handle, int flags);
  int (*open_session)(pam_handle_t *handle, int flags);
  int (*close_session)(pam_handle_t *handle, int flags);
  int (*putenv)(pam_handle_t *handle, const char *pair);
  char **(*getenvlist)(pam_handle_t *handle);
  const char *(*strerror)(pam_handle_t *handle, int status);
};

extern struct pam_library pam;

/* NULL, or why there is no PAM on this host. */
const char *open_pam_library(void);
