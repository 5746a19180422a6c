/*
 * ptrace(2) as User-Mode Linux before 6.13 calls it, on processors with AMX.
 *
 * Such a kernel keeps 2,696 bytes of what XSAVE stores of a guest's process
 * (HOST_FP_SIZE, arch/x86/um/user-offsets.c). The host gives as much of it as
 * there is room for, but takes back a whole area only (xstateregs_set,
 * arch/x86/kernel/fpu/regset.c), which AMX's tiles make larger: EFAULT. What
 * is missing belongs to tiles, which no guest may use (arch_prctl(2),
 * ARCH_REQ_XCOMP_PERM): it is zero.
 *
 * Made without the C library's headers and start-up code, so that a compiler
 * alone will do.
 */
#define SETREGSET 0x4205
#define GETREGSET 0x4204
#define XSTATE 0x202 /* NT_X86_XSTATE */
#define PEEKS 3      /* PTRACE_PEEKTEXT, _PEEKDATA and _PEEKUSER are 1 to 3 */

struct iovec {
	void *base;
	unsigned long len;
};

int *__errno_location(void);
void *memcpy(void *, const void *, unsigned long);
void *memset(void *, int, unsigned long);

static long call(long request, long pid, long addr, void *data)
{
	long result;
	register void *fourth __asm__("r10") = data;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(101L), "D"(request), "S"(pid), "d"(addr), "r"(fourth)
			 : "rcx", "r11", "memory");
	if (result < 0) {
		*__errno_location() = -result;
		return -1;
	}
	return result;
}

long ptrace(long request, long pid, long addr, void *data)
{
	static char area[1 << 16];
	static unsigned long size;
	struct iovec *part = data, whole = { area, sizeof area };
	long peeked, result;

	request = (int)request;
	pid = (int)pid;
	if (request > 0 && request <= PEEKS) {
		result = call(request, pid, addr, &peeked);
		if (result < 0)
			return result;
		*__errno_location() = 0;
		return peeked;
	}
	if (request != SETREGSET || addr != XSTATE)
		return call(request, pid, addr, data);
	if (size == 0) {
		if (call(GETREGSET, pid, addr, &whole) < 0)
			return -1;
		size = whole.len;
		memset(area, 0, size);
	}
	whole.len = size;
	memcpy(area, part->base, part->len < size ? part->len : size);
	return call(request, pid, addr, &whole);
}
