#pragma once
#include "pam-library.h"

/* What modules have said so far, each on a line of its own. Never more than fits. */
extern char words[4096];

/* Collects what modules say. A module that asks for something gets no answer: nobody is there to give one. */
extern const struct pam_conv conversation;
