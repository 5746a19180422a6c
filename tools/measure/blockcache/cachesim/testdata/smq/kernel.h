/*
 * What drivers/md/dm-cache-policy-smq.c asks of the kernel, for a program: the
 * meanings of include/linux, no more of them than it uses. A second is 1e9
 * jiffies, so that the policy's clock is the nanoseconds of the model's.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

typedef uint64_t sector_t, dm_block_t;
typedef uint64_t u64;
typedef uint32_t u32;
typedef int spinlock_t;
struct list_head { struct list_head *next, *prev; };
struct module;

#define __force
#define __bitwise
#define __init
#define __exit
#define READ 0
#define WRITE 1
#define HZ 1000000000ul
extern unsigned long jiffies;
#define time_after(a, b) ((long)((b) - (a)) < 0)

#define BUG_ON(c) assert(!(c))
#define WARN_ON_ONCE(c) (c)
#define unlikely(c) (c)
#define DMERR(...) fprintf(stderr, __VA_ARGS__)
#define DMWARN(...) fprintf(stderr, __VA_ARGS__)
#define DMEMIT(s) (sz += snprintf(result + sz, maxlen - sz, s))
#define container_of(p, type, field) ((type *)((char *)(p) - offsetof(type, field)))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define array_size(n, size) ((size_t)(n) * (size))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))
#define GFP_KERNEL 0
#define kzalloc(n, flags) calloc(1, n)
#define kfree free
#define vzalloc(n) calloc(1, n)
#define vmalloc malloc
#define vfree free
#define spin_lock_init(l) ((void)(l))
#define spin_lock_irqsave(l, f) ((void)(l), (void)((f) = 0))
#define spin_unlock_irqrestore(l, f) ((void)(l), (void)(f))
#define THIS_MODULE NULL
#define module_init(f) static int (*const at_init)(void) __attribute__((unused)) = f
#define module_exit(f) static void (*const at_exit)(void) __attribute__((unused)) = f
#define MODULE_AUTHOR(s)
#define MODULE_LICENSE(s)
#define MODULE_DESCRIPTION(s)
#define MODULE_ALIAS(s)
#define MODULE_PARM_DESC(name, s)
#define module_param_named(...)
#define kstrtoul(s, base, v) (*(v) = strtoul(s, NULL, base), 0)

#define BITS_PER_LONG 64
#define BITS_TO_LONGS(n) (((n) + 63) / 64)
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define dm_div_up DIV_ROUND_UP

static inline bool test_and_set_bit(unsigned int n, unsigned long *bits)
{
	bool was = bits[n / 64] >> n % 64 & 1;

	bits[n / 64] |= 1ul << n % 64;
	return was;
}

static inline void clear_bit(unsigned int n, unsigned long *bits) { bits[n / 64] &= ~(1ul << n % 64); }
static inline unsigned int __ffs(unsigned long v) { return __builtin_ctzl(v); }
static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
#define sector_div(a, b) ({ sector_t rest = (a) % (b); (a) /= (b); rest; })

static inline unsigned long roundup_pow_of_two(unsigned long v)
{
	unsigned long n = 1;

	while (n < v)
		n *= 2;
	return n;
}

/* Only spreads blocks over buckets: which bucket decides nothing. */
static inline u32 hash_64(u64 v, unsigned int bits) { return v * 0x61C8864680B583EBull >> (64 - bits); }
static inline u32 hash_32(u32 v, unsigned int bits) { return v * 0x61C88647u >> (32 - bits); }
