/*
 * glibc 2.34 gave the start of programs a new version, and a program built with it would ask for that. This starts as before: the
 * old function takes the places of constructors, of which there are none.
 */
#if defined(__x86_64__)
__asm__(".symver old_libc_start_main, __libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver old_libc_start_main, __libc_start_main@GLIBC_2.17");
#endif

typedef int (*main_function)(int, char **, char **);
int old_libc_start_main(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
__attribute__((visibility("hidden"))) int __libc_start_main(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*end)(void), void *stack) {
  (void)init;
  (void)fini;
  return old_libc_start_main(main, argc, argv, 0, 0, end, stack);
}
