#include "pam-words.h"

#include <stdlib.h>
#include <string.h>

char words[4096];

/* Modules must not send control characters to a terminal. */
static void add(const char *text) {
  size_t at = strlen(words);
  size_t begin = at;
  for (; *text != '\0' && at < sizeof words - 2; text++) {
    unsigned char sign = (unsigned char)*text;
    words[at++] = (sign < ' ' && sign != '\n' && sign != '\t') || sign == 0x7f ? '?' : *text;
  }
  if (at > begin && words[at - 1] != '\n') words[at++] = '\n';
  words[at] = '\0';
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  *responses = NULL;
  if (count <= 0 || count > 32) return PAM_CONV_ERR;
  for (int i = 0; i < count; i++) {
    if (messages[i]->style != PAM_TEXT_INFO && messages[i]->style != PAM_ERROR_MSG) return PAM_CONV_ERR;
    if (messages[i]->text != NULL) add(messages[i]->text);
  }
  *responses = calloc((size_t)count, sizeof **responses);
  return *responses == NULL ? PAM_BUF_ERR : PAM_SUCCESS;
}

const struct pam_conv conversation = {converse, NULL};
