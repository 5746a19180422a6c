/*
 * The kernel's smq, compiled from drivers/md/dm-cache-policy-smq.c, under a core
 * that does its work as the model's does: what it asks for takes a fixed time,
 * it ticks when a request is done and each second, and writes dirty blocks back
 * when nobody has asked for a second.
 *
 *	drive SIZE ORIGIN MISS COPY COMMIT THRESHOLD OLD EVERY <requests
 *
 * SIZE and ORIGIN are in blocks of 64 KiB, times in ns, THRESHOLD in sectors; OLD
 * is 1 with the policy of before 2017. A request is a line "ns block write".
 * After EVERY requests it prints how many hit, and what was promoted, demoted
 * and written back.
 *
 *	drive levels
 *
 * prints the levels that promotions need, of reads and of writes: a line for each
 * number of hits among 16 accesses to the hotspot queue, with a pair for each
 * number of hits among 16 to the cache; while blocks are free, then in a full cache.
 */
#include "dm-cache-policy-smq.c"

unsigned long jiffies;

int dm_cache_policy_register(struct dm_cache_policy_type *t) { (void)t; return 0; }
void dm_cache_policy_unregister(struct dm_cache_policy_type *t) { (void)t; }

/* The tracker: a list of what is queued or under way. */
struct job {
	struct policy_work work;
	struct job *next;
	bool issued;
	long done;
};
struct background_tracker {
	struct job *jobs;
	unsigned int max, n;
};

struct background_tracker *btracker_create(unsigned int max_work)
{
	struct background_tracker *b = calloc(1, sizeof(*b));

	b->max = max_work;
	return b;
}

void btracker_destroy(struct background_tracker *b) { free(b); }

static unsigned int of(struct background_tracker *b, enum policy_operation op)
{
	unsigned int n = 0;

	for (struct job *j = b->jobs; j; j = j->next)
		n += j->work.op == op;
	return n;
}

unsigned int btracker_nr_writebacks_queued(struct background_tracker *b) { return of(b, POLICY_WRITEBACK); }
unsigned int btracker_nr_demotions_queued(struct background_tracker *b) { return of(b, POLICY_DEMOTE); }

int btracker_queue(struct background_tracker *b, struct policy_work *work, struct policy_work **copy)
{
	struct job **j = &b->jobs;

	if (b->n >= b->max)
		return -ENOMEM;
	for (; *j; j = &(*j)->next)
		if ((*j)->work.oblock == work->oblock)
			return -EINVAL;
	*j = calloc(1, sizeof(**j));
	(*j)->work = *work;
	b->n++;
	if (copy) {
		(*j)->issued = true;
		*copy = &(*j)->work;
	}
	return 0;
}

int btracker_issue(struct background_tracker *b, struct policy_work **work)
{
	for (struct job *j = b->jobs; j; j = j->next)
		if (!j->issued) {
			j->issued = true;
			*work = &j->work;
			return 0;
		}
	return -ENODATA;
}

void btracker_complete(struct background_tracker *b, struct policy_work *work)
{
	for (struct job **j = &b->jobs; *j; j = &(*j)->next)
		if (&(*j)->work == work) {
			struct job *gone = *j;

			*j = gone->next;
			free(gone);
			b->n--;
			return;
		}
	abort();
}

bool btracker_promotion_already_present(struct background_tracker *b, dm_oblock_t oblock)
{
	for (struct job *j = b->jobs; j; j = j->next)
		if (j->work.op == POLICY_PROMOTE && j->work.oblock == oblock)
			return true;
	return false;
}

/* The core. */
static struct dm_cache_policy *p;
static struct background_tracker *tracker;
static bool *dirty, old;
static long miss, copying, commit, threshold, migrating, last_done;
static long counts[3];

static void complete(struct policy_work *w)
{
	counts[w->op]++;
	if (w->op != POLICY_DEMOTE)
		migrating--;
	if (w->op != POLICY_DEMOTE) { /* force_clear_dirty(), for promotions too */
		dirty[w->cblock] = false;
		p->clear_dirty(p, w->cblock);
	}
	p->complete_background_work(p, w, true);
}

static void start(struct policy_work *w, long now)
{
	struct job *j = container_of(w, struct job, work);

	switch (w->op) {
	case POLICY_PROMOTE:
		j->done = now + copying + commit + miss;
		break;
	case POLICY_DEMOTE:
		j->done = now + commit;
		break;
	case POLICY_WRITEBACK:
		j->done = now + copying + commit;
		break;
	}
	if (w->op != POLICY_DEMOTE)
		migrating++;
	else if (old) /* what takes its place is promoted at once */
		complete(w);
}

static void writebacks(long now)
{
	bool idle = now - last_done >= (long)HZ;
	struct policy_work *w;

	if (old)
		while ((migrating + 1) * 128 < threshold && !p->get_background_work(p, idle, &w))
			start(w, now);
	else if (idle)
		while ((migrating + 1) * 128 <= threshold && !p->get_background_work(p, true, &w))
			start(w, now);
}

static long waker, tick_done;

static void catch_up(long now)
{
	for (;;) {
		enum { WAKER, TICK, JOB } what = WAKER;
		struct job *next = NULL;
		long at = waker;

		if (tick_done && tick_done <= at) {
			at = tick_done;
			what = TICK;
		}
		/* At one time promotions go first, then demotions, then writebacks. */
		for (struct job *j = tracker->jobs; j; j = j->next)
			if (j->issued && (j->done < at || (next && j->done == at && j->work.op < next->work.op))) {
				at = j->done;
				what = JOB;
				next = j;
			}
		if (at > now)
			return;
		jiffies = at;
		switch (what) {
		case WAKER:
			p->tick(p, true);
			waker = at + HZ;
			break;
		case TICK:
			p->tick(p, false);
			tick_done = 0;
			break;
		case JOB:
			complete(&next->work);
		}
		if (what != TICK || old)
			writebacks(at);
	}
}

static void levels(void)
{
	struct smq_policy *mq = to_smq_policy(smq_create(to_cblock(64), 1 << 20, 128));

	for (int full = 0; full < 2; full++) {
		if (full)
			l_init(&mq->cache_alloc.free);
		for (int hot = 0; hot <= 16; hot++)
			for (int hits = 0; hits <= 16; hits++) {
				mq->hotspot_stats.hits = hot, mq->hotspot_stats.misses = 16 - hot;
				mq->cache_stats.hits = hits, mq->cache_stats.misses = 16 - hits;
				update_promote_levels(mq);
				printf("%u,%u%c", mq->read_promote_level, mq->write_promote_level, hits < 16 ? ' ' : '\n');
			}
	}
}

int main(int argc, char **argv)
{
	long a[9] = {0}, now, n = 0, hits = 0;
	unsigned long block;
	int write;

	if (argc == 2 && !strcmp(argv[1], "levels")) {
		levels();
		return 0;
	}
	for (int i = 1; i < argc && i < 9; i++)
		a[i] = atol(argv[i]);
	if (argc != 9)
		return 2;
	miss = a[3], copying = a[4], commit = a[5], threshold = a[6], old = a[7];
	dirty = calloc(a[1], 1);
	p = smq_create(to_cblock(a[1]), a[2] * 128, 128);
	tracker = to_smq_policy(p)->bg_work;
	while (scanf("%ld %lu %d", &now, &block, &write) == 3) {
		dm_cblock_t c;
		bool queued = false;
		struct policy_work *w;
		long took = miss;

		catch_up(now);
		jiffies = now;
		if (!p->lookup(p, to_oblock(block), &c, write ? WRITE : READ, false, &queued)) {
			hits++;
			took = 100000;
			if (write && !dirty[c]) {
				dirty[c] = true;
				p->set_dirty(p, c);
			}
		}
		while (!btracker_issue(tracker, &w))
			start(w, now);
		last_done = max(last_done, now + took);
		if (!tick_done)
			tick_done = now + took;
		if (++n % a[8] == 0)
			printf("%ld %ld %ld %ld\n", hits, counts[POLICY_PROMOTE], counts[POLICY_DEMOTE], counts[POLICY_WRITEBACK]);
	}
	return 0;
}
