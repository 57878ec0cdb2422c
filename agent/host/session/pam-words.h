#pragma once
#include "pam-library.h"

/* The modules' messages so far, one per line, truncated to the buffer. */
extern char words[4096];

/* Collects the modules' messages. A module that prompts gets no answer: no user is there to give one. */
extern const struct pam_conv conversation;
