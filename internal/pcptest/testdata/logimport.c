/*
 * Calls libpcp_import as its standard input says: a line for each call, fields
 * with tabs between, the name of the call first. Prints what each returns.
 */
#include <pcp/pmapi.h>
#include <pcp/import.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAXARGS 8

static unsigned int num(const char *s) { return (unsigned int)strtoul(s, NULL, 0); }
/* "NULL" stands for a null pointer. */
static const char *text(const char *s) { return strcmp(s, "NULL") == 0 ? NULL : s; }

static pmUnits units(const char *s)
{
    union { unsigned int word; pmUnits units; } u;
    u.word = num(s);
    return u.units;
}

/* A result with one 32-bit value. */
static int putresult(char **a)
{
    pmValueSet set;
    pmResult result;
    memset(&result, 0, sizeof(result));
    result.timestamp.tv_sec = num(a[0]);
    result.timestamp.tv_usec = num(a[1]);
    result.numpmid = 1;
    result.vset[0] = &set;
    set.pmid = num(a[2]);
    set.numval = 1;
    set.valfmt = PM_VAL_INSITU;
    set.vlist[0].inst = num(a[3]);
    set.vlist[0].value.lval = num(a[4]);
    return pmiPutResult(&result);
}

/* The benchmark: values of handles in rounds. Returns the microseconds it took. */
static int fill(int handles, int rounds, int start)
{
    struct timespec from, to;
    char value[32];
    int i, j, sts;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (i = 0; i < rounds; i++) {
	for (j = 1; j <= handles; j++) {
	    sprintf(value, "%d", i * j);
	    if ((sts = pmiPutValueHandle(j, value)) < 0)
		return sts;
	}
	if ((sts = pmiWrite(start + i, 0)) < 0)
	    return sts;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
}

static int call(const char *f, char **a)
{
    if (strcmp(f, "start") == 0) return pmiStart(a[0], num(a[1]));
    if (strcmp(f, "use") == 0) return pmiUseContext(num(a[0]));
    if (strcmp(f, "end") == 0) return pmiEnd();
    if (strcmp(f, "hostname") == 0) return pmiSetHostname(a[0]);
    if (strcmp(f, "timezone") == 0) return pmiSetTimezone(a[0]);
    if (strcmp(f, "version") == 0) return pmiSetVersion(num(a[0]));
    if (strcmp(f, "metric") == 0) return pmiAddMetric(text(a[0]), num(a[1]), num(a[2]), num(a[3]), num(a[4]), units(a[5]));
    if (strcmp(f, "instance") == 0) return pmiAddInstance(num(a[0]), text(a[2]), num(a[1]));
    if (strcmp(f, "put") == 0) return pmiPutValue(a[0], text(a[1]), a[2]);
    if (strcmp(f, "handle") == 0) return pmiGetHandle(a[0], text(a[1]));
    if (strcmp(f, "puthandle") == 0) return pmiPutValueHandle(num(a[0]), a[1]);
    if (strcmp(f, "write") == 0) return pmiWrite(num(a[0]), num(a[1]));
    if (strcmp(f, "result") == 0) return putresult(a);
    if (strcmp(f, "mark") == 0) return pmiPutMark();
    if (strcmp(f, "text") == 0) return pmiPutText(num(a[0]), num(a[1]), num(a[2]), text(a[3]));
    if (strcmp(f, "label") == 0) return pmiPutLabel(num(a[0]), num(a[1]), num(a[2]), text(a[3]), text(a[4]));
    if (strcmp(f, "fill") == 0) return fill(num(a[0]), num(a[1]), num(a[2]));
    fprintf(stderr, "no such call: %s\n", f);
    exit(1);
}

int main(int argc, char **argv)
{
    static char line[1 << 20];
    while (fgets(line, sizeof(line), stdin)) {
	static char none[] = "";
	char *a[MAXARGS], *p = line;
	int n = 0, sts;
	line[strcspn(line, "\n")] = '\0';
	while (n < MAXARGS && p) {
	    a[n++] = p;
	    if ((p = strchr(p, '\t')) != NULL)
		*p++ = '\0';
	}
	while (n < MAXARGS)
	    a[n++] = none;
	if (strcmp(a[0], "error") == 0) {
	    printf("%s\n", pmiErrStr((int)strtol(a[1], NULL, 0)));
	    continue;
	}
	sts = call(a[0], a + 1);
	printf("%d\n", sts);
	fflush(stdout);
    }
    return 0;
}
