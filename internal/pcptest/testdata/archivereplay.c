/*
 * Makes requests of an archive with libpcp, one for each line of standard input, and prints one
 * line for each.
 *
 *   archivereplay ARCHIVE
 *
 * mode M SEC NSEC DSEC DNSEC    pmSetModeHighRes; SEC -1: no origin
 * fetch PMID...                 pmFetchHighRes
 * record                        pmFetchHighResArchive
 * add INDOM INST..., del ...    pmAddProfile, pmDelProfile; 4294967295: all
 * indom I, indomall I           pmGetInDom, pmGetInDomArchive
 * lookup I NAME, lookupall I NAME, name I N, nameall I N
 * desc PMID, text PMID KIND, indomtext INDOM KIND, labels CLASS IDENT
 * id NAME, names PMID, children NAME
 * end, label
 *
 * An answer is a code below 0, or what there is: value sets as PMID:CODE or PMID:NUMVAL{INST=VALUE,...}
 * with instances ascending, and values as hexadecimal digits in network order.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>

static void printText(const char *s)
{
    for (; *s; s++)
	if (isgraph((unsigned char)*s) && *s != '%')
	    putchar(*s);
	else
	    printf("%%%02x", (unsigned char)*s);
}

static void printValue(const pmValueSet *s, const pmValue *v)
{
    if (s->valfmt == PM_VAL_INSITU) {
	printf("%08x", (unsigned)v->value.lval);
	return;
    }
    const pmValueBlock *b = v->value.pval;
    int n = b->vlen - PM_VAL_HDR_SIZE;
    if (b->vtype == PM_TYPE_64 || b->vtype == PM_TYPE_U64 || b->vtype == PM_TYPE_DOUBLE) {
	unsigned long long w;
	memcpy(&w, b->vbuf, 8);
	printf("%016llx", w);
    } else if (b->vtype == PM_TYPE_FLOAT) {
	unsigned w;
	memcpy(&w, b->vbuf, 4);
	printf("%08x", w);
    } else if (b->vtype == PM_TYPE_EVENT || b->vtype == PM_TYPE_HIGHRES_EVENT) {
	printf("events%d", n); /* libpcp keeps parts of them in the order of this computer */
    } else {
	int text = b->vtype != PM_TYPE_AGGREGATE && b->vtype != PM_TYPE_AGGREGATE_STATIC; /* old blocks have no type */
	if (text && n > 0 && b->vbuf[n - 1] == 0)
	    n--;
	for (int i = 0; i < n; i++)
	    printf("%02x", (unsigned char)b->vbuf[i]);
    }
}

static void printResult(int sts, pmHighResResult *r)
{
    if (sts < 0) {
	printf("%d\n", sts);
	return;
    }
    long long sec = r->timestamp.tv_sec;
    long nsec = r->timestamp.tv_nsec;
    if (nsec >= 1000000000) /* libpcp does not always carry */
	sec++, nsec -= 1000000000;
    printf("%lld.%09ld", sec, nsec);
    for (int i = 0; i < r->numpmid; i++) {
	pmValueSet *s = r->vset[i];
	printf(" %u:%d", s->pmid, s->numval);
	if (s->numval <= 0)
	    continue;
	putchar('{');
	for (int j = 0; j < s->numval; j++) {
	    printf("%s%d=", j ? "," : "", s->vlist[j].inst);
	    printValue(s, &s->vlist[j]);
	}
	putchar('}');
    }
    putchar('\n');
    pmFreeHighResResult(r);
}

static void printInstances(int n, int *ids, char **names)
{
    printf("%d", n);
    for (int last = -1, i = 0; i < n; i++) { /* ascending by number */
	int at = -1;
	for (int j = 0; j < n; j++)
	    if (ids[j] > last && (at < 0 || ids[j] < ids[at]))
		at = j;
	if (at < 0)
	    break;
	printf(" %d=", last = ids[at]);
	printText(names[at]);
    }
    putchar('\n');
    if (n > 0) {
	free(ids);
	free(names);
    }
}

static void printString(int sts, char *s)
{
    if (sts < 0) {
	printf("%d\n", sts);
	return;
    }
    printText(s);
    putchar('\n');
    free(s);
}

static void printLabels(int n, pmLabelSet *sets)
{
    printf("%d", n);
    for (int i = 0; i < n; i++) {
	printf(" %d:%d:", sets[i].inst, sets[i].nlabels);
	if (sets[i].nlabels > 0)
	    printText(sets[i].json);
    }
    putchar('\n');
    if (n > 0)
	pmFreeLabelSets(sets, n);
}

static void labels(int class, unsigned ident)
{
    pmLabelSet *sets = NULL;
    int n = PM_ERR_NYI;
    switch (class) {
    case PM_LABEL_CONTEXT: n = pmGetContextLabels(&sets); break;
    case PM_LABEL_DOMAIN: n = pmGetDomainLabels(ident, &sets); break;
    case PM_LABEL_INDOM: n = pmGetInDomLabels(ident, &sets); break;
    case PM_LABEL_CLUSTER: n = pmGetClusterLabels(ident, &sets); break;
    case PM_LABEL_ITEM: n = pmGetItemLabels(ident, &sets); break;
    case PM_LABEL_INSTANCES: n = pmGetInstancesLabels(ident, &sets); break;
    }
    printLabels(n, sets);
}

#define MAXIDS 4096
static unsigned ids[MAXIDS];

static int numbers(char *rest)
{
    int n = 0;
    for (char *p = strtok(rest, " "); p && n < MAXIDS; p = strtok(NULL, " "))
	ids[n++] = strtoul(p, NULL, 10);
    return n;
}

static void metadata(const char *op, char *rest)
{
    int sts, *list = NULL;
    char **names = NULL, *name = NULL, *end;
    unsigned a = strtoul(rest, &end, 10);
    if (*end == ' ')
	end++;
    int b = atoi(end);
    if (strcmp(op, "indom") == 0)
	sts = pmGetInDom(a, &list, &names), printInstances(sts, list, names);
    else if (strcmp(op, "indomall") == 0)
	sts = pmGetInDomArchive(a, &list, &names), printInstances(sts, list, names);
    else if (strcmp(op, "lookup") == 0)
	printf("%d\n", pmLookupInDom(a, end));
    else if (strcmp(op, "lookupall") == 0)
	printf("%d\n", pmLookupInDomArchive(a, end));
    else if (strcmp(op, "name") == 0)
	sts = pmNameInDom(a, b, &name), printString(sts, name);
    else if (strcmp(op, "nameall") == 0)
	sts = pmNameInDomArchive(a, b, &name), printString(sts, name);
    else if (strcmp(op, "text") == 0)
	sts = pmLookupText(a, b, &name), printString(sts, name);
    else if (strcmp(op, "indomtext") == 0)
	sts = pmLookupInDomText(a, b, &name), printString(sts, name);
    else if (strcmp(op, "labels") == 0)
	labels(a, strtoul(end, NULL, 10));
    else if (strcmp(op, "desc") == 0) {
	pmDesc d;
	if ((sts = pmLookupDesc(a, &d)) < 0)
	    printf("%d\n", sts);
	else
	    printf("%u %d %u %d %d,%d,%d,%d,%d,%d\n", d.pmid, d.type, d.indom, d.sem, d.units.dimSpace, d.units.dimTime,
		   d.units.dimCount, d.units.scaleSpace, d.units.scaleTime, d.units.scaleCount);
    } else if (strcmp(op, "id") == 0) {
	const char *one = rest;
	pmID id = PM_ID_NULL;
	sts = pmLookupName(1, &one, &id);
	printf("%d %u\n", sts, id);
    } else if (strcmp(op, "names") == 0) {
	printf("%d", sts = pmNameAll(a, &names));
	for (int i = 0; i < sts; i++)
	    putchar(' '), printText(names[i]);
	putchar('\n');
    } else if (strcmp(op, "children") == 0) {
	int *status = NULL;
	printf("%d", sts = pmGetChildrenStatus(rest, &names, &status));
	for (int i = 0; i < sts; i++)
	    putchar(' '), printText(names[i]), printf(":%d", status[i]);
	putchar('\n');
    } else
	printf("?\n");
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    int sts = argc == 2 ? pmNewContext(PM_CONTEXT_ARCHIVE, argv[1]) : -1;
    printf("%d\n", sts < 0 ? sts : 0);
    while (fgets(line, sizeof line, stdin)) {
	alarm(20); /* some requests make libpcp loop */
	line[strcspn(line, "\n")] = 0;
	char *rest = line + strcspn(line, " ");
	if (*rest)
	    *rest++ = 0;
	pmHighResResult *r = NULL;
	if (sts < 0) {
	    printf("%d\n", sts);
	} else if (strcmp(line, "mode") == 0) {
	    int m;
	    long long s, ns, ds, dns;
	    sscanf(rest, "%d %lld %lld %lld %lld", &m, &s, &ns, &ds, &dns);
	    struct timespec t = { s, ns }, d = { ds, dns };
	    printf("%d\n", pmSetModeHighRes(m, s < 0 ? NULL : &t, &d));
	} else if (strcmp(line, "fetch") == 0) {
	    int n = numbers(rest), s = pmFetchHighRes(n, ids, &r);
	    printResult(s, r);
	} else if (strcmp(line, "record") == 0) {
	    int s = pmFetchHighResArchive(&r);
	    printResult(s, r);
	} else if (strcmp(line, "add") == 0 || strcmp(line, "del") == 0) {
	    int n = numbers(rest) - 1;
	    int *insts = n ? (int *)ids + 1 : NULL;
	    int s = line[0] == 'a' ? pmAddProfile(ids[0], n, insts) : pmDelProfile(ids[0], n, insts);
	    printf("%d\n", s);
	} else if (strcmp(line, "end") == 0) {
	    struct timespec t;
	    int s = pmGetHighResArchiveEnd(&t);
	    if (s < 0)
		printf("%d\n", s);
	    else
		printf("%lld.%09ld\n", (long long)t.tv_sec, t.tv_nsec);
	} else if (strcmp(line, "label") == 0) {
	    pmHighResLogLabel l;
	    int s = pmGetHighResArchiveLabel(&l);
	    if (s < 0)
		printf("%d\n", s);
	    else {
		printf("%d %d %lld.%09ld ", l.magic & 0xff, l.pid, (long long)l.start.tv_sec, l.start.tv_nsec);
		printText(l.hostname);
		putchar(' ');
		printText(l.timezone);
		putchar('\n');
	    }
	} else
	    metadata(line, rest);
	fflush(stdout);
    }
    return 0;
}
