/* The system calls and the first instructions of programs without libc, for x64 and arm64. */

typedef long Word;
typedef unsigned long Address;

#if defined(__x86_64__)

static Word call(Word number, Address a, Address b, Address c, Address d, Address e, Address f) {
  Word result;
  register Address r10 __asm__("r10") = d;
  register Address r8 __asm__("r8") = e;
  register Address r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

/* The kernel puts the arguments on the stack. Calls need a stack that is aligned to 16 bytes. */
__asm__(".globl _start\n_start:\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call begin\n");

#elif defined(__aarch64__)

static Word call(Word number, Address a, Address b, Address c, Address d, Address e, Address f) {
  register Address x8 __asm__("x8") = (Address)number;
  register Address x0 __asm__("x0") = a;
  register Address x1 __asm__("x1") = b;
  register Address x2 __asm__("x2") = c;
  register Address x3 __asm__("x3") = d;
  register Address x4 __asm__("x4") = e;
  register Address x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return (Word)x0;
}

__asm__(".globl _start\n_start:\n  mov x0, sp\n  bl begin\n");

#else
#error "Only x64 and arm64 are supported."
#endif
