#include "pam-library.h"

#include <dlfcn.h>
#include <string.h>

struct pam_library pam;

static const struct {
  const char *name;
  void *place;
} functions[] = {
    {"pam_start", &pam.start},
    {"pam_end", &pam.end},
    {"pam_set_item", &pam.set_item},
    {"pam_acct_mgmt", &pam.acct_mgmt},
    {"pam_setcred", &pam.setcred},
    {"pam_open_session", &pam.open_session},
    {"pam_close_session", &pam.close_session},
    {"pam_putenv", &pam.putenv},
    {"pam_getenvlist", &pam.getenvlist},
    {"pam_strerror", &pam.strerror},
};

const char *open_pam_library(void) {
  void *library = dlopen("libpam.so.0", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return dlerror();
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *function = dlsym(library, functions[i].name);
    if (function == NULL) return dlerror();
    memcpy(functions[i].place, &function, sizeof function);
  }
  return NULL;
}
