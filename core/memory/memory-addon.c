#define _GNU_SOURCE
#include <limits.h>
#include <malloc.h>
#include <node_api.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * memory.node: releases memory that an idle process does not need, such as what start-up took. Two things that JavaScript cannot do:
 * malloc_trim(3), also by itself, and dropping the pages of its own executable (madvise(2), MADV_DONTNEED). Those stay in the kernel's page
 * cache and come back without a disk at the first touch; until then they do not count as this process's.
 */

struct range {
  unsigned long from, to;
};

enum { most_ranges = 64, longest_line = PATH_MAX + 256 };

/*
 * The executable's mappings that are not writable and have never been written: dropping other pages would lose what is in them
 * (relocated data). Libraries are left alone: one may be half loaded by another thread.
 */
static int unchanged_ranges(struct range *found) {
  char own[PATH_MAX], line[longest_line];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  FILE *maps = length > 0 ? fopen("/proc/self/smaps", "re") : NULL;
  if (maps == NULL) return 0;
  own[length] = '\0';
  int count = 0, ours = 0;
  struct range current = {0, 0};
  while (count < most_ranges && fgets(line, sizeof line, maps) != NULL) {
    char permissions[5];
    int path = 0;
    unsigned long from, to, kib;
    if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %n", &from, &to, permissions, &path) == 3 && path > 0) {
      current = (struct range){from, to};
      line[strcspn(line, "\n")] = '\0';
      ours = permissions[1] == '-' && permissions[3] == 'p' && strcmp(line + path, own) == 0;
    } else if (ours && sscanf(line, "Anonymous: %lu kB", &kib) == 1 && kib == 0) {
      found[count++] = current;
    }
  }
  fclose(maps);
  return count;
}

/* trim(): void */
static napi_value trim(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  malloc_trim(0);
  return NULL;
}

/* release(): void */
static napi_value release(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  struct range found[most_ranges];
  malloc_trim(0);
  int count = unchanged_ranges(found);
  for (int i = 0; i < count; i++) madvise((void *)found[i].from, found[i].to - found[i].from, MADV_DONTNEED);
  return NULL;
}

NAPI_MODULE_INIT() {
  napi_property_descriptor functions[] = {
      {"release", NULL, release, NULL, NULL, NULL, napi_enumerable, NULL},
      {"trim", NULL, trim, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  return napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions) == napi_ok ? exports : NULL;
}
