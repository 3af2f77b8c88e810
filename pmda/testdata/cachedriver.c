/*
 * Runs operations of libpcp_pmda's instance cache, one a line of the standard input, and
 * writes what each of them returns, one a line. Names and keys are in hexadecimal; - is
 * none, . an empty one. The private value of an entry is a number, 0 for none.
 *
 *	use DOMAIN SERIAL       the instance domain of the lines that follow
 *	store FLAG NAME VALUE
 *	key FLAG NAME KEY VALUE
 *	id ID                   pmdaCacheLookup: state, name, value
 *	name NAME               pmdaCacheLookupName: state, id, value
 *	bykey NAME KEY          pmdaCacheLookupKey: state, id, value, name
 *	op NUMBER               pmdaCacheOp
 *	purge SECONDS           pmdaCachePurgeCallback: count, the values that the callback got
 *	resize MAXIMUM
 *	walk                    the active entries
 *	instance ID NAME        pmdaInstance, the default reply to a request for instances: the
 *	                        identifiers and names that it has, or the error
 *	fill N                  stores N names, instance-0 and on: nanoseconds of the processor for each
 *	time WHAT N             the same for random lookups by id or name, lookups in their order by
 *	                        nextid or nextname, or a load of a file of N instances
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static long purged[1 << 20];
static int npurged;

static void
note(void *private)
{
    purged[npurged++] = (long)private;
}

static int
unhex(const char *hex, char **out)
{
    static char buf[4][1 << 16];
    static int which;
    char *b = buf[which++ & 3];
    unsigned int c;
    int n = 0;

    *out = NULL;
    if (strcmp(hex, "-") == 0)
	return 0;
    for (; sscanf(hex, "%2x", &c) == 1; hex += 2)
	b[n++] = c;
    b[n] = '\0';
    *out = b;
    return n;
}

static void
hex(const char *s)
{
    if (*s == '\0')
	putchar('.');
    for (; *s; s++)
	printf("%02x", *s & 0xff);
}

static void
instance(pmInDom indom, int inst, char *name)
{
    static pmdaExt ext;
    pmInResult *res;
    int i, sts = pmdaInstance(indom, inst, name, &res, &ext);

    if (sts < 0) {
	printf("%d\n", sts);
	return;
    }
    for (i = 0; i < res->numinst; i++) {
	if (res->instlist != NULL)
	    printf("%d ", res->instlist[i]);
	if (res->namelist != NULL) {
	    hex(res->namelist[i]);
	    putchar(' ');
	}
    }
    putchar('\n');
}

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void
measure(pmInDom indom, const char *what, int n)
{
    char name[64], *got;
    double begin = now();
    unsigned int seed = 1;
    int i, inst, sts = 0;

    for (i = 0; i < n; i++) {
	seed = seed * 1664525 + 1013904223;
	inst = strncmp(what, "next", 4) == 0 ? i : (int)(seed % n);
	if (strstr(what, "id") != NULL)
	    sts = pmdaCacheLookup(indom, inst, &got, NULL);
	else {
	    snprintf(name, sizeof(name), "instance-%d", inst);
	    sts = pmdaCacheLookupName(indom, name, &inst, NULL);
	}
	if (sts < 0)
	    exit(1);
    }
    printf("%.1f\n", (now() - begin) * 1e9 / n);
}

int
main(void)
{
    static char line[1 << 17], a[1 << 16], b[1 << 16];
    pmInDom indom = 0;
    char *name, *key;
    void *private;
    int x, y, sts, len, inst;
    long value;
    double begin;

    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof(line), stdin) != NULL) {
	private = NULL;
	name = NULL;
	inst = -1;
	if (sscanf(line, "use %d %d", &x, &y) == 2) {
	    indom = pmInDom_build(x, y);
	    printf("0\n");
	}
	else if (sscanf(line, "store %d %s %ld", &x, a, &value) == 3) {
	    unhex(a, &name);
	    printf("%d\n", pmdaCacheStore(indom, x, name, (void *)value));
	}
	else if (sscanf(line, "key %d %s %s %ld", &x, a, b, &value) == 4) {
	    unhex(a, &name);
	    len = unhex(b, &key);
	    printf("%d\n", pmdaCacheStoreKey(indom, x, name, len, key, (void *)value));
	}
	else if (sscanf(line, "id %d", &x) == 1) {
	    sts = pmdaCacheLookup(indom, x, &name, &private);
	    printf("%d", sts);
	    if (sts >= 0) {
		putchar(' ');
		hex(name);
		printf(" %ld", (long)private);
	    }
	    putchar('\n');
	}
	else if (sscanf(line, "name %s", a) == 1) {
	    unhex(a, &name);
	    sts = pmdaCacheLookupName(indom, name, &inst, &private);
	    printf("%d", sts);
	    if (sts >= 0)
		printf(" %d %ld", inst, (long)private);
	    putchar('\n');
	}
	else if (sscanf(line, "bykey %s %s", a, b) == 2) {
	    char *arg;
	    unhex(a, &arg);
	    len = unhex(b, &key);
	    sts = pmdaCacheLookupKey(indom, arg, len, key, &name, &inst, &private);
	    printf("%d", sts);
	    if (sts >= 0) {
		printf(" %d %ld ", inst, (long)private);
		hex(name);
	    }
	    putchar('\n');
	}
	else if (sscanf(line, "op %d", &x) == 1)
	    printf("%d\n", pmdaCacheOp(indom, x));
	else if (sscanf(line, "purge %ld", &value) == 1) {
	    npurged = 0;
	    sts = pmdaCachePurgeCallback(indom, value, note);
	    printf("%d", sts);
	    for (x = 0; x < npurged; x++)
		printf(" %ld", purged[x]);
	    putchar('\n');
	}
	else if (sscanf(line, "resize %d", &x) == 1)
	    printf("%d\n", pmdaCacheResize(indom, x));
	else if (strncmp(line, "walk", 4) == 0) {
	    pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
	    while ((x = pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT)) >= 0)
		printf("%d ", x);
	    putchar('\n');
	}
	else if (sscanf(line, "instance %d %s", &x, a) == 2) {
	    unhex(a, &name);
	    instance(indom, x, name);
	}
	else if (sscanf(line, "fill %d", &x) == 1) {
	    begin = now();
	    for (y = 0; y < x; y++) {
		snprintf(a, sizeof(a), "instance-%d", y);
		pmdaCacheStore(indom, PMDA_CACHE_ADD, a, NULL);
	    }
	    printf("%.1f\n", (now() - begin) * 1e9 / x);
	}
	else if (sscanf(line, "time %65535s %d", a, &x) == 2) {
	    if (strcmp(a, "load") == 0) {
		begin = now();
		if (pmdaCacheOp(indom, PMDA_CACHE_LOAD) != x)
		    exit(1);
		printf("%.1f\n", (now() - begin) * 1e9 / x);
	    }
	    else
		measure(indom, a, x);
	}
	else
	    printf("bad command: %s", line);
    }
    return 0;
}
